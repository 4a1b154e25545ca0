/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap help [WORD]`: the words of the language, from the rows that the compiler itself is made
 * of, with the sections of docs/language.md about them, and those of docs/troubleshooting.md about
 * a message.
 */
#include "cmd/cmd.h"

#include "base/opt.h"
#include "cmd/help_page.h"
#include "cmd/say.h"
#include "lang/parse/builtin.h"
#include "lang/parse/func.h"
#include "lang/parse/lang.h"
#include "lang/parse/op.h"
#include "lang/parse/stdlib.h"

struct options {
	bool help, rows;
};

static const struct opt rows[] = {
	{ 0, "rows", NULL, OPT_FLAG, offsetof(struct options, rows),
	  "kind, name, usage and help of all words, between tabs" },
	{ 'h', "help", NULL, OPT_FLAG, offsetof(struct options, help), "print this" },
};

static const char usage_head[] = "Lists the words of scripts, or explains words and messages.\n"
				 "\n"
				 "  memtap help\n"
				 "  memtap help WORD...\n"
				 "  memtap help MESSAGE\n"
				 "\n"
				 "Options:\n";

static const char usage_tail[] = "\n"
				 "Examples:\n"
				 "  memtap help lhist         a function\n"
				 "  memtap help comm          a variable\n"
				 "  memtap help uprobe        a kind of probe\n"
				 "  memtap help max_strlen    a setting\n"
				 "  memtap help '<<'          an operator\n"
				 "  memtap help map is full   a message, by some words of it\n"
				 "\n"
				 "memtap(1) and docs/language.md describe the language.\n";

/* ---- the rows of the compiler's tables ------------------------------------------------------- */

static bool function_row(u32 i, struct help_row *r)
{
	const struct func *f = func_at(i);

	if (f)
		*r = (struct help_row){ f->name, f->usage, f->agg ? NULL : f->help };
	return f;
}

static bool aggregation_row(u32 i, struct help_row *r)
{
	const struct func *f = func_at(i);

	if (f)
		*r = (struct help_row){ f->name, f->usage, f->agg ? f->help : NULL };
	return f;
}

static bool variable_row(u32 i, struct help_row *r)
{
	const struct builtin *v = builtin_at(i);

	if (v)
		*r = (struct help_row){ v->name, "", v->help };
	return v;
}

static bool operator_row(u32 i, struct help_row *r)
{
	if (OP_ADD + i > OP_POSTDEC)
		return false;
	*r = (struct help_row){ op_text(OP_ADD + i), "", "" };
	return true;
}

static const struct table {
	const char *kind, *title;
	bool (*row)(u32 i, struct help_row *r);
} tables[] = {
	{ "function", "Functions", function_row },
	{ "library", NULL, stdlib_row },
	{ "aggregation", "Aggregations, @map[key] = ...", aggregation_row },
	{ "variable", "Variables", variable_row },
	{ "probe", "Probes", probe_row },
	{ "setting", "Settings, config = { NAME = VALUE }", config_row },
	{ "operator", NULL, operator_row },
};

/* Names that begin with '_' are the library's own. */
static bool is_shown(const struct help_row *r)
{
	return r->help && r->name[0] != '_';
}

static void list_rows(struct buf *b)
{
	struct help_row r;

	for (u32 t = 0; t < ARRAY_SIZE(tables); t++)
		for (u32 i = 0; tables[t].row(i, &r); i++)
			if (is_shown(&r))
				buf_printf(b, "%s\t%s\t%s\t%s\n", tables[t].kind, r.name, r.usage,
				           r.help);
}

static void list_all(struct buf *b)
{
	struct help_row r;

	for (u32 t = 0; t < ARRAY_SIZE(tables); t++) {
		if (tables[t].title)
			buf_printf(b, "%s%s\n", b->n ? "\n" : "", tables[t].title);
		for (u32 i = 0; tables[t].row(i, &r); i++)
			if (is_shown(&r) && *r.help)
				buf_printf(b, "  %-20s %s\n", r.name, r.help);
	}
	buf_puts(b, "\n`memtap help WORD` has an example, `memtap help MESSAGE` what to do.\n");
}

/* ---- a word, a message ----------------------------------------------------------------------- */

static int fail_unknown(struct str what)
{
	struct err e = { 0 };
	struct near near;
	struct help_row r;

	err_set(&e, "nothing is known of '%.*s'", STR_ARG(what));
	near_init(&near, what.p);
	for (u32 t = 0; t < ARRAY_SIZE(tables); t++)
		for (u32 i = 0; tables[t].row(i, &r); i++)
			if (is_shown(&r))
				near_offer(&near, r.name);
	if (near_best(&near))
		err_hint(&e, "did you mean '%s'?", near.best);
	say_error(&e);
	return 1;
}

/* "arg7" is in the section of arg0. */
static struct str known_as(struct str word)
{
	const struct builtin *v = builtin_find(word);

	return v && v->id == BUILTIN_ARG ? str_of(v->name) : word;
}

/* Words each for itself; when one of them is none, all are a message. Else `unknown` is one. */
static bool explain(struct buf *b, struct arena *a, const struct opt_rest *rest,
                    const char **unknown)
{
	struct str page = help_page(a, PAGE_LANGUAGE);
	struct buf message = { 0 };
	bool known = true;

	for (u32 i = 0; i < rest->n && known; i++) {
		*unknown = rest->v[i];
		known = help_page_word(b, page, known_as(str_of(rest->v[i])));
	}
	if (known)
		return true;
	b->n = 0;
	for (u32 i = 0; i < rest->n; i++)
		buf_printf(&message, "%s%s", i ? " " : "", rest->v[i]);
	known = help_page_message(b, help_page(a, PAGE_TROUBLE),
	                          (struct str){ message.p, (u32)message.n });
	buf_free(&message);
	return known;
}

static int run(const struct options *o, struct arena *a, const struct opt_rest *rest)
{
	struct buf b = { 0 };
	const char *unknown = NULL;
	int code = 0;

	if (o->help)
		return say_usage(usage_head, rows, ARRAY_SIZE(rows), usage_tail);
	if (o->rows)
		list_rows(&b);
	else if (!rest->n)
		list_all(&b);
	else if (!explain(&b, a, rest, &unknown))
		code = fail_unknown(str_of(unknown));
	if (!code)
		say_output(&b);
	buf_free(&b);
	return code;
}

int cmd_help(int argc, char **argv)
{
	struct options o = { 0 };
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int code = 1;

	if (opt_parse(rows, ARRAY_SIZE(rows), &o, &arena, argc, argv, &rest, &e))
		code = run(&o, &arena, &rest);
	else
		say_error(&e);
	arena_free(&arena);
	return code;
}
