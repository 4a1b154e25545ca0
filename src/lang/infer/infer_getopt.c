/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * getopt("name|letter", default, "description"): options of the script itself, given after it. The
 * default says what is expected; the value is a constant. script_options.c has read them off the
 * tree; here they are checked and get their values.
 */
#include "lang/infer/infer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct request_option *given(const struct infer *in, const char *name)
{
	for (u32 i = 0; i < in->script->request.n_options; i++)
		if (strcmp(in->script->request.options[i].name, name) == 0)
			return &in->script->request.options[i];
	return NULL;
}

/* ---- what the script offers ----------------------------------------------------------------- */

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
	if (a->integer.is_unsigned || !a->type->is_signed)
		return arena_printf(in->arena, "%llu", (unsigned long long)a->integer.value);
	return arena_printf(in->arena, "%lld", (long long)a->integer.value);
}

/* The letter of an option is its own. */
static bool check_letter(struct infer *in, const struct node *n, const struct script_option *o)
{
	for (u32 i = 0; o->letter && i < in->script->options.n; i++) {
		const struct script_option *other = &in->script->options.v[i];

		if (strcmp(other->name, o->name) == 0)
			break; /* those after it are reported */
		if (other->letter != o->letter)
			continue;
		infer_error(in, n->loc, "-%c is option '%s' already", o->letter, other->name);
		return false;
	}
	return true;
}

static bool offer(struct infer *in, const struct node *n, struct script_option *o)
{
	struct script_option *old = offered(in, o->name);

	o->typed = true;
	if (!check_letter(in, n, o))
		return false;
	if (!old) {
		vec_add(in->arena, &in->script->options, *o);
		return true;
	}
	if (!o->help)
		o->help = old->help;
	if (!o->letter)
		o->letter = old->letter;
	if (old->typed && (old->kind != o->kind || strcmp(old->standard, o->standard) != 0)) {
		infer_error(in, n->loc, "option '%s' has another default elsewhere: %s", o->name,
		            old->standard);
		return false;
	}
	if (old->letter && old->letter != o->letter) {
		infer_error(in, n->loc, "option '%s' has another letter elsewhere: %c", o->name,
		            old->letter);
		return false;
	}
	*old = *o;
	return true;
}

/* ---- values --------------------------------------------------------------------------------- */

static const struct type *set_bool(struct infer *in, struct node *n, const char *name,
                                   const char *value)
{
	bool yes = !value || !strcasecmp(value, "true") || !strcmp(value, "1");

	if (!yes && strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0) {
		infer_error(in, n->loc, "option --%s is true or false, not '%s'", name, value);
		return infer_cause(in);
	}
	return infer_set_int(n, yes, &type_bool);
}

static const struct type *set_number(struct infer *in, struct node *n, const char *name,
                                     const char *value)
{
	bool minus = value[0] == '-';
	char *end;
	u64 number;

	errno = 0;
	number = minus ? (u64)strtoll(value, &end, 0) : strtoull(value, &end, 0);
	if (!*value || *end || errno) {
		infer_error(in, n->loc, "option --%s needs a number, not '%s'", name, value);
		return infer_cause(in);
	}
	return infer_set_int(n, number, !minus && (s64)number < 0 ? &type_u64 : &type_s64);
}

static const struct type *set_value(struct infer *in, struct node *n, const struct script_option *o,
                                    const struct request_option *w)
{
	const char *value = w ? w->value : o->standard;

	if (o->kind == OPTION_BOOL)
		return set_bool(in, n, o->name, value);
	if (!value) {
		infer_error(in, n->loc, "option --%s needs a value: --%s=%s", o->name, o->name,
		            o->standard);
		return infer_cause(in);
	}
	if (o->kind == OPTION_NUMBER)
		return set_number(in, n, o->name, value);
	return infer_set_string(in, n, value);
}

const struct type *infer_call_getopt(struct infer *in, struct node *n)
{
	struct node *standard = infer_arg(n, 1);
	const char *name = infer_literal(in, n, 0);
	struct script_option o = { 0 };

	if (!name)
		return NULL;
	if (!script_option_name(in->arena, str_of(name), &o))
		return infer_error(in, n->call.args->loc,
		                   "the name of an option is \"name\" or \"name|letter\"");
	o.standard = read_default(in, standard, &o.kind);
	if (n->call.n_args > 2)
		o.help = infer_literal(in, n, 2);
	if (!o.standard || (n->call.n_args > 2 && !o.help))
		return NULL;
	if (!offer(in, n, &o))
		return NULL;
	return set_value(in, n, &o, given(in, o.name));
}
