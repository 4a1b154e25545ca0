/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Dumps: one row a word of -d. Nothing runs and nothing is loaded.
 */
#include "cmd/cmd_dump.h"

#include <string.h>

#include "cmd/say.h"

static void print_ast(struct buf *b, const struct job *j)
{
	ast_print(b, &j->script, false);
}

static void print_types(struct buf *b, const struct job *j)
{
	ast_print(b, &j->script, true);
}

static void print_unit(struct buf *b, const struct job *j)
{
	unit_print(b, j->unit);
}

static void print_bpf(struct buf *b, const struct job *j)
{
	for (u32 i = 0; i < j->unit->progs.n; i++)
		unit_print_prog(b, j->unit, &j->unit->progs.v[i]);
}

static const struct dump {
	const char *what;
	enum stage stage;
	void (*print)(struct buf *b, const struct job *j);
} dumps[] = {
	{ "ast", STAGE_TREE, print_ast },
	{ "types", STAGE_TYPES, print_types },
	{ "unit", STAGE_UNIT, print_unit },
	{ "bpf", STAGE_UNIT, print_bpf },
};

static const struct dump *find(const char *what)
{
	u32 i = 0;

	while (i + 1 < ARRAY_SIZE(dumps) && strcmp(dumps[i].what, what) != 0)
		i++;
	return &dumps[i];
}

enum stage dump_stage(const char *what)
{
	return find(what)->stage;
}

void dump_print(const struct job *j, const char *what)
{
	struct buf b = { 0 };

	find(what)->print(&b, j);
	say_output(&b);
	buf_free(&b);
}
