/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * getopt("name", default, "description"): options of the script itself, given behind it as
 * --name=value. The default says what is expected; the value is a constant. The calls of
 * a script together are its usage.
 */
#include "lang/infer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct world_option *given(const struct infer *in, const char *name)
{
	for (u32 i = 0; i < in->world->n_options; i++)
		if (strcmp(in->world->options[i].name, name) == 0)
			return &in->world->options[i];
	return NULL;
}

/* ---- what the script offers ------------------------------------------------------------------- */

static struct script_option *offered(struct infer *in, const char *name)
{
	for (u32 i = 0; i < in->script->options.n; i++)
		if (strcmp(in->script->options.v[i].name, name) == 0)
			return &in->script->options.v[i];
	return NULL;
}

/* The default as it is shown; NULL after an error. */
static const char *read_default(struct infer *in, struct node *a, enum option_kind *kind)
{
	*kind = OPTION_BOOL;
	if (!a)
		return "false";
	if (!infer_value(in, a))
		return NULL;
	if (a->kind == NODE_STRING) {
		*kind = OPTION_TEXT;
		return infer_text(in, a->string);
	}
	if (a->kind != NODE_INT) {
		infer_error(in, a->loc, "the default of getopt() must be a constant");
		return NULL;
	}
	if (a->type->kind == TYPE_BOOL)
		return a->integer.value ? "true" : "false";
	*kind = OPTION_NUMBER;
	return arena_printf(in->arena, "%lld", (long long)a->integer.value);
}

static bool offer(struct infer *in, const struct node *n, const struct script_option *o)
{
	struct script_option *old = offered(in, o->name);

	if (!old) {
		vec_add(in->arena, &in->script->options, *o);
		return true;
	}
	if (!old->help)
		old->help = o->help;
	if (old->kind == o->kind && strcmp(old->standard, o->standard) == 0)
		return true;
	infer_error(in, n->loc, "option '%s' has another default elsewhere: %s", o->name,
	            old->standard);
	return false;
}

/* ---- values ----------------------------------------------------------------------------------- */

static const struct type *set_bool(struct infer *in, struct node *n, const char *name,
                                   const char *value)
{
	bool yes = !value || !strcmp(value, "true") || !strcmp(value, "1");

	if (!yes && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
		return infer_error(in, n->loc, "option --%s is true or false, not '%s'", name,
		                   value);
	return infer_set_int(n, yes, &type_bool);
}

static const struct type *set_number(struct infer *in, struct node *n, const char *name,
                                     const char *value)
{
	char *end;
	s64 number;

	errno = 0;
	number = strtoll(value, &end, 0);
	if (!*value || *end || errno)
		return infer_error(in, n->loc, "option --%s needs a number, not '%s'", name, value);
	return infer_set_int(n, (u64)number, &type_s64);
}

static const struct type *set_value(struct infer *in, struct node *n, const struct script_option *o,
                                    const struct world_option *w)
{
	const char *value = w ? w->value : o->standard;

	if (o->kind == OPTION_BOOL)
		return set_bool(in, n, o->name, value);
	if (!value)
		return infer_error(in, n->loc, "option --%s needs a value: --%s=%s", o->name,
		                   o->name, o->standard);
	if (o->kind == OPTION_NUMBER)
		return set_number(in, n, o->name, value);
	return infer_set_string(in, n, value);
}

const struct type *infer_call_getopt(struct infer *in, struct node *n)
{
	struct node *standard = infer_arg(n, 1);
	struct script_option o = { .name = infer_literal(in, n, 0) };

	o.standard = read_default(in, standard, &o.kind);
	if (n->call.n_args > 2)
		o.help = infer_literal(in, n, 2);
	if (!o.name || !o.standard || (n->call.n_args > 2 && !o.help))
		return NULL;
	if (!offer(in, n, &o))
		return NULL;
	return set_value(in, n, &o, given(in, o.name));
}

/* ---- all of them ------------------------------------------------------------------------------ */

void infer_options_check(struct infer *in)
{
	for (u32 i = 0; i < in->world->n_options; i++) {
		const char *name = in->world->options[i].name;
		struct near near;

		if (offered(in, name) || in->world->wants_help)
			continue;
		near_init(&near, name);
		for (u32 k = 0; k < in->script->options.n; k++)
			near_offer(&near, in->script->options.v[k].name);
		infer_error_now(in, (struct loc){ 0, 0 }, "the script has no option --%s", name);
		infer_hint_near(in, &near);
	}
}

void script_usage(struct buf *b, const struct script *s)
{
	static const char *const forms[] = {
		[OPTION_BOOL] = "",
		[OPTION_NUMBER] = "=NUMBER",
		[OPTION_TEXT] = "=TEXT",
	};

	if (!s->options.n) {
		buf_puts(b, "This script has no options of its own.\n");
		return;
	}
	buf_puts(b, "Options of this script, behind '--':\n");
	for (u32 i = 0; i < s->options.n; i++) {
		const struct script_option *o = &s->options.v[i];
		size_t start = b->n;

		buf_printf(b, "  --%s%s", o->name, forms[o->kind]);
		buf_fill(b, ' ', b->n - start < 24 ? 24 - (u32)(b->n - start) : 2);
		buf_printf(b, "%s%s(%s%s%s)\n", o->help ? o->help : "", o->help ? " " : "",
		           o->kind == OPTION_TEXT ? "\"" : "", o->standard,
		           o->kind == OPTION_TEXT ? "\"" : "");
	}
}
