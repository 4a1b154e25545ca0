/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap help [NAME]`: the functions and variables of the language, from the rows that the
 * compiler itself is made of.
 */
#include "cmd/cmd.h"

#include "base/opt.h"
#include "cmd/say.h"
#include "lang/parse/builtin.h"
#include "lang/parse/func.h"
#include "lang/parse/stdlib.h"

struct options {
	bool help;
};

static const struct opt rows[] = {
	{ 'h', "help", NULL, OPT_FLAG, offsetof(struct options, help), "print this" },
};

static const char usage_head[] =
	"Lists the functions and variables of scripts, or says what one of them is.\n"
	"\n"
	"  memtap help\n"
	"  memtap help NAME\n"
	"\n"
	"Options:\n";

static const char usage_tail[] = "\n"
				 "Examples:\n"
				 "  memtap help lhist\n"
				 "  memtap help comm\n"
				 "\n"
				 "memtap(1) describes the language.\n";

/* Names that begin with '_' are the library's own. */
static bool is_hidden(const char *name)
{
	return name[0] == '_';
}

static void add_row(struct buf *b, const char *name, const char *help)
{
	if (!is_hidden(name))
		buf_printf(b, "  %-20s %s\n", name, help);
}

static void add_functions(struct buf *b, bool agg)
{
	const struct func *f;

	buf_puts(b, agg ? "\nAggregations, @map[key] = ...\n" : "Functions\n");
	for (u32 i = 0; (f = func_at(i)); i++)
		if (f->agg == agg)
			add_row(b, f->name, f->help);
}

static void list_all(struct buf *b)
{
	const struct builtin *v;

	add_functions(b, false);
	add_functions(b, true);
	buf_puts(b, "\nVariables\n");
	for (u32 i = 0; (v = builtin_at(i)); i++)
		add_row(b, v->name, v->help);
}

/* What is a function and a variable, as nsecs, is shown as both. */
static bool add_named(struct buf *b, struct str name)
{
	const struct func *f = func_find(name);
	const struct builtin *v = builtin_find(name);
	const char *text = stdlib_find(name);

	if (f)
		buf_printf(b, "%s%s(%s)%s\n    %s\n", f->agg ? "@map[key] = " : "", f->name,
		           f->usage, f->unsafe ? "    with --unsafe only" : "", f->help);
	if (v)
		buf_printf(b, "%.*s\n    %s\n", STR_ARG(name), v->help);
	if (text)
		buf_printf(b, "%s\n", text);
	return f || v || text;
}

static int fail_unknown(const char *name)
{
	struct err e = { 0 };
	struct near near;

	err_set(&e, "there is no function or variable '%s'", name);
	near_init(&near, name);
	func_offer(&near);
	builtin_offer(&near);
	if (near_best(&near))
		err_hint(&e, "did you mean '%s'?", near.best);
	say_error(&e);
	return 1;
}

static int run(const struct options *o, const struct opt_rest *rest)
{
	struct buf b = { 0 };

	if (o->help)
		return say_usage(usage_head, rows, ARRAY_SIZE(rows), usage_tail);
	if (!rest->n)
		list_all(&b);
	for (u32 i = 0; i < rest->n; i++)
		if (!add_named(&b, str_of(rest->v[i])))
			return fail_unknown(rest->v[i]);
	say_output(&b);
	buf_free(&b);
	return 0;
}

int cmd_help(int argc, char **argv)
{
	struct options o = { 0 };
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int code = 1;

	if (opt_parse(rows, ARRAY_SIZE(rows), &o, &arena, argc, argv, &rest, &e))
		code = run(&o, &rest);
	else
		say_error(&e);
	arena_free(&arena);
	return code;
}
