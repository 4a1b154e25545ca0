/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arguments and results of a program's functions, by name and type.
 *
 * The one idea: targets.c has found out, from debug information, where each argument is; here
 * names are looked up in that list and the reason is reported where there is none.
 */
#include "lang/infer/infer.h"

#include <string.h>

const struct type *infer_uargs_missing(struct infer *in, struct loc loc)
{
	const struct variant *v = in->variant;

	const char *text = arena_printf(
		in->arena, "the arguments of this function are not known: %s",
		v->uargs_why ? v->uargs_why : "there is no debug information");

	/* Each use has the same reason: it is reported once. */
	for (u32 i = 0; i < in->diags->list.n; i++)
		if (strcmp(in->diags->list.v[i].text, text) == 0)
			return NULL;
	infer_error(in, loc, "%s", text);
	if (v->uargs_hint && v->uargs_hint[0])
		infer_hint(in, "%s", v->uargs_hint);
	return NULL;
}

const struct type *infer_uarg(struct infer *in, struct node *n)
{
	const struct uargs *all = in->variant->uargs;
	const char *name = infer_text(in, n->field.name);
	struct near near;

	near_init(&near, name);
	for (u32 i = 0; i < all->n; i++) {
		const struct uarg *u = &all->v[i];

		if (u->name[0])
			near_offer(&near, u->name);
		if (strcmp(u->name, name) != 0)
			continue;
		if (u->at.form == CALLS_NOWHERE)
			return infer_error(in, n->loc, "argument '%s' can not be read: %s", name,
			                   u->at.why);
		n->field.arg = i;
		n->field.own = u->at.form == CALLS_REGISTERS;
		n->field.f = (struct field){ .name = u->name, .type = u->type };
		return u->type;
	}
	infer_error(in, n->loc, "'%s' has no argument named '%s'", all->function, name);
	infer_hint_near(in, &near);
	return NULL;
}

void infer_result_use(struct infer *in, struct node *n)
{
	if (n->kind == NODE_BUILTIN && n->builtin.b && n->builtin.b->id == BUILTIN_RETVAL &&
	    infer_is_user(in) && attach_kind_has(in->variant->kind, KIND_RETURN))
		n->builtin.n = 1;
}

const struct type *infer_result(struct infer *in, struct node *n)
{
	const struct uarg *r = in->variant->result;

	if (!in->variant->uargs)
		return infer_uargs_missing(in, n->loc);
	if (!r)
		return infer_error(in, n->loc, "'%s' returns nothing that has a type",
		                   in->variant->uargs->function);
	if (r->at.form == CALLS_NOWHERE)
		return infer_error(in, n->loc, "the result can not be read: %s", r->at.why);
	if (r->at.form == CALLS_POINTED)
		return type_ptr(in->arena, r->type, SPACE_USER);
	return r->type;
}

struct dwarf_file *infer_dwarf(struct infer *in)
{
	const struct variant *v = in->variant;
	struct err e = { 0 };

	if (!v || !infer_is_user(in) || !v->sites.n || !v->sites.v[0].path)
		return NULL;
	return in->world->ops->dwarf(in->world, v->sites.v[0].path, &e);
}
