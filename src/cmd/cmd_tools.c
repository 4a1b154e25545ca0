/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `memtap tools`: the list of the tools, the script of one, or its manual page.
 */
#include "cmd/cmd.h"

#include <string.h>

#include "base/opt.h"
#include "cmd/job.h"
#include "cmd/say.h"
#include "cmd/tool_head.h"
#include "cmd/tools.h"

struct options {
	bool man, help;
};

#define TO(member) offsetof(struct options, member)

static const struct opt rows[] = {
	{ 0, "man", NULL, OPT_FLAG, TO(man), "print the tool's manual page instead, for man -l" },
	{ 'h', "help", NULL, OPT_FLAG, TO(help), "print this" },
};

static const char usage_head[] =
	"Lists the tools, or prints the script of one, or of what tools import, to be changed and\n"
	"run as a file.\n"
	"\n"
	"  memtap tools\n"
	"  memtap tools [options] NAME\n"
	"  memtap tools lib/FILE.bt\n"
	"\n"
	"Options:\n";

static void print(struct buf *b)
{
	say_output(b);
	buf_free(b);
}

static bool list_tool(void *ctx, const char *name, struct str text)
{
	struct arena a = { 0 };
	struct tool_head h = { 0 };
	struct buf *b = ctx;
	size_t start = b->n;

	buf_puts(b, name);
	if (tool_head_parse(&h, &a, text)) {
		buf_fill(b, ' ', b->n - start < 14 ? 14 - (b->n - start) : 1);
		buf_printf(b, "%.*s", STR_ARG(h.summary));
	}
	buf_putc(b, '\n');
	arena_free(&a);
	return true;
}

static int list_all(void)
{
	struct buf b = { 0 };

	tools_each(list_tool, &b);
	print(&b);
	return 0;
}

/* A tool that is there parses and has a head: both are tested. */
static int print_man(const char *name)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	struct tool_head h = { 0 };
	struct job j;
	bool ok;

	job_init(&j, NULL);
	ok = job_packed(&j, name, tools_text(&j.arena, name), &e) &&
	     job_compile(&j, STAGE_TREE, false) &&
	     tool_head_parse(&h, &j.arena, (struct str){ j.source.text, j.source.n });
	say_diags(&j.diags, true);
	if (ok)
		tool_head_man(&b, &h, &j.script);
	print(&b);
	job_free(&j);
	return ok ? 0 : 1;
}

static int print_script(const char *name)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct str text = tools_text(&a, name);

	buf_add(&b, text.p, text.n);
	print(&b);
	arena_free(&a);
	return 0;
}

static int run(const struct options *o, const struct opt_rest *rest)
{
	struct near near;
	struct err e = { 0 };

	if (o->help)
		return say_usage(usage_head, rows, ARRAY_SIZE(rows), NULL);
	if (!rest->n && !o->man)
		return list_all();
	if (rest->n == 1 && tools_has(rest->v[0]))
		return o->man ? print_man(rest->v[0]) : print_script(rest->v[0]);
	if (rest->n == 1 && !o->man && tools_has_file(rest->v[0]))
		return print_script(rest->v[0]);
	if (rest->n != 1) {
		err_set(&e, "memtap tools takes the name of one tool");
	} else {
		err_set(&e, "there is no tool '%s'", rest->v[0]);
		near_init(&near, rest->v[0]);
		tools_offer(&near);
		if (near_best(&near))
			err_hint(&e, "did you mean '%s'?", near.best);
	}
	say_error(&e);
	return 1;
}

int cmd_tools(int argc, char **argv)
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
