/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions that ask about the script itself while it is compiled: is_ptr(x) and its kin, fail(),
 * and `comptime`. Their answers are constants, and a branch that such a constant rules
 * out is not looked at, so it may hold what would be wrong.
 */
#include "lang/infer/infer.h"

#include "unit/format.h"

const struct type *infer_set_answer(struct node *n, bool value)
{
	infer_set_int(n, value, &type_bool);
	n->integer.is_answer = true;
	return n->type;
}

/* ---- is_...() ------------------------------------------------------------------------------- */

static bool is_of_kind(enum func_id id, const struct type *t)
{
	switch (id) {
	case FUNC_IS_STR:
		return t->kind == TYPE_STR;
	case FUNC_IS_PTR:
		return t->kind == TYPE_PTR;
	case FUNC_IS_ARRAY:
		return t->kind == TYPE_ARRAY;
	case FUNC_IS_UNSIGNED_INTEGER:
		return t->kind == TYPE_INT && !t->is_signed;
	default:
		return t->kind == TYPE_INT;
	}
}

const struct type *infer_call_is_kind(struct infer *in, struct node *n)
{
	const struct type *t = infer_value(in, n->call.args);

	return t ? infer_set_answer(n, is_of_kind(n->call.f->id, t)) : NULL;
}

const struct type *infer_call_is_literal(struct infer *in, struct node *n)
{
	enum node_kind kind = n->call.args->kind;

	(void)in;
	return infer_set_answer(n, kind == NODE_INT || kind == NODE_STRING);
}

const struct type *infer_call_is_scalar(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;
	struct map_info *m = infer_map_whole(in, a);

	if (!m)
		return infer_error(in, a->loc, "is_scalar() needs a map without a key");
	if (!m->keyed && !m->bare && !in->final)
		return NULL; /* not known yet */
	return infer_set_answer(n, !m->keyed);
}

/* Scripts can not call functions of the kernel, so none is allowed. */
const struct type *infer_call_kfunc(struct infer *in, struct node *n)
{
	const char *name = infer_literal(in, n, 0);
	struct err e = { 0 };
	struct btf *b = in->world->ops->btf(in->world, &e);

	if (!name)
		return NULL;
	return infer_set_answer(n, n->call.f->id == FUNC_KFUNC_EXIST && b &&
	                                   btf_find(b, BTF_KIND_FUNC, name));
}

/* has_probe("tracepoint:a:b"): could a probe be attached to it here? Ours, not bpftrace's. */
const struct type *infer_call_has_probe(struct infer *in, struct node *n)
{
	const char *text = infer_literal(in, n, 0), *problem = NULL;
	bool has;

	if (!text)
		return NULL;
	has = targets_has(in->script, in->config, in->world, text, &problem);
	if (problem)
		return infer_error(in, infer_arg(n, 0)->loc, "has_probe() needs a probe: %s",
		                   problem);
	return infer_set_answer(n, has);
}

/* ---- comptime ------------------------------------------------------------------------------- */

const struct type *infer_comptime(struct infer *in, struct node *n)
{
	struct node *e = n->unary.e, *next = n->next;
	const struct type *t = infer_value(in, e);

	if (!t)
		return NULL;
	if (e->kind != NODE_INT && e->kind != NODE_STRING)
		return infer_error(in, n->loc,
		                   "comptime needs a value that is known before the "
		                   "script runs");
	*n = *e;
	n->next = next;
	if (n->kind == NODE_INT)
		n->integer.is_answer = true;
	return t;
}

bool infer_is_comptime(const struct node *cond)
{
	if (cond->kind == NODE_INT)
		return cond->integer.is_answer;
	return cond->kind == NODE_UNARY && cond->unary.op == OP_COMPTIME;
}

/* ---- fail() --------------------------------------------------------------------------------- */

static void show(struct buf *b, const struct format_part *part, const struct node *a)
{
	if (a->kind == NODE_STRING)
		buf_add(b, a->string.p, a->string.n);
	else if (part->conv == 'x' || part->conv == 'p')
		buf_printf(b, "0x%llx", (unsigned long long)a->integer.value);
	else if (part->conv == 'c')
		buf_putc(b, (char)a->integer.value);
	else
		buf_printf(b, "%lld", (long long)a->integer.value);
}

static void fail_with(struct infer *in, const struct node *n, const char *format)
{
	const struct node *a = n->call.args->next;
	struct format_part part;
	const char *problem;
	struct buf b = { 0 };

	while (format_next(&format, &part, &problem)) {
		buf_add(&b, part.literal.p, part.literal.n);
		if (part.has_directive && a) {
			show(&b, &part, a);
			a = a->next;
		}
	}
	infer_error(in, n->loc, "%s", buf_text(&b));
	infer_cause(in);
	buf_free(&b);
}

/* An error unless the branch it stands in is ruled out. */
const struct type *infer_call_fail(struct infer *in, struct node *n)
{
	const char *format;

	infer_call_format(in, n);
	format = infer_literal(in, n, 0);
	for (const struct node *a = n->call.args->next; a; a = a->next)
		if (a->kind != NODE_INT && a->kind != NODE_STRING)
			return infer_error(in, a->loc, "fail() shows constants only");
	/* Without its command line what a script refuses of that is not known; nor is what it
	 * refuses of the machine where it is only checked. */
	if (in->script->request.no_args && in->script->options.n &&
	    (in->asking || in->script->request.only_checks))
		return infer_set_int(n, 0, &type_s64);
	if (format && !in->dead)
		fail_with(in, n, format);
	return &type_none;
}
