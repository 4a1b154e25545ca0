/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Dumps: one row a word of -d. Nothing is attached and nothing runs; one word loads the programs
 * to show what the verifier logs about them.
 */
#include "cmd/cmd_dump.h"

#include <string.h>

#include "base/clock.h"
#include "cmd/say.h"
#include "kern/live.h"
#include "world/world_linux.h"

/* What loading said and took. */
struct loaded {
	struct buf verifier;
	u64 ns;
};

struct dump {
	const char *word;
	enum stage stage;
	bool loads;
	void (*print)(struct buf *b, const struct job *j, const struct loaded *l);
};

static void print_ast(struct buf *b, const struct job *j, const struct loaded *l)
{
	(void)l;
	ast_print(b, &j->script, false);
}

static void print_types(struct buf *b, const struct job *j, const struct loaded *l)
{
	(void)l;
	ast_print(b, &j->script, true);
}

static void print_unit(struct buf *b, const struct job *j, const struct loaded *l)
{
	(void)l;
	unit_print(b, j->unit);
}

static void print_bpf(struct buf *b, const struct job *j, const struct loaded *l)
{
	(void)l;
	for (u32 i = 0; i < j->unit->progs.n; i++)
		unit_print_prog(b, j->unit, &j->unit->progs.v[i]);
}

static void print_time_row(struct buf *b, const char *what, u64 ns)
{
	buf_printf(b, "%-8s %9.3f ms\n", what, (double)ns / 1e6);
}

static void print_time(struct buf *b, const struct job *j, const struct loaded *l)
{
	u64 sum = 0;
	u32 insns = 0;

	for (u32 i = 0; i < N_STAGES; i++) {
		print_time_row(b, job_stage_name(i), j->ns[i]);
		sum += j->ns[i];
	}
	print_time_row(b, "compile", sum);
	if (l->ns)
		print_time_row(b, "load", l->ns);
	for (u32 i = 0; i < j->unit->progs.n; i++)
		insns += j->unit->progs.v[i].n_insns;
	buf_printf(b, "%u programs, %u instructions\n", j->unit->progs.n, insns);
}

static void print_verifier(struct buf *b, const struct job *j, const struct loaded *l)
{
	(void)j;
	buf_puts(b, buf_text(&l->verifier));
}

static const struct dump dumps[] = {
	{ "ast", STAGE_TREE, false, print_ast },
	{ "types", STAGE_TYPES, false, print_types },
	{ "unit", STAGE_UNIT, false, print_unit },
	{ "bpf", STAGE_UNIT, false, print_bpf },
	{ "verifier", STAGE_UNIT, true, print_verifier },
	{ "time", STAGE_UNIT, false, print_time },
};

/* bpftrace's words for stages it has and we have under another name. */
static const struct {
	const char *word, *ours;
} aliases[] = {
	{ "parse", "ast" }, { "codegen", "bpf" },     { "codegen-opt", "bpf" },
	{ "dis", "bpf" },   { "libbpf", "verifier" },
};

static bool take_word(struct dump_request *r, struct str word)
{
	bool found = false;

	for (u32 i = 0; i < ARRAY_SIZE(aliases); i++)
		if (str_is(word, aliases[i].word))
			word = str_of(aliases[i].ours);
	for (u32 i = 0; i < ARRAY_SIZE(dumps); i++) {
		if (!str_is(word, dumps[i].word) && !str_is(word, "all"))
			continue;
		found = true;
		r->rows |= 1u << i;
		r->last = MAX(r->last, dumps[i].stage);
		r->tree |= dumps[i].stage == STAGE_TREE;
		r->loads |= dumps[i].loads;
	}
	return found;
}

bool cmd_dump_parse(struct dump_request *r, const char *words, struct err *e)
{
	struct str rest = str_of(words);

	*r = (struct dump_request){ .last = STAGE_TREE };
	while (rest.p) {
		struct str word = str_cut(rest, ',', &rest);

		if (!take_word(r, word))
			return err_set(e, "-d takes some of %s, with ',' between them; not '%.*s'",
			               DUMP_WORDS, STR_ARG(word));
	}
	return true;
}

static bool load(const struct job *j, struct loaded *l, struct err *e)
{
	struct live_options o = {
		.features = world_linux_features(j->world),
		.log = &l->verifier,
		.whole_log = true,
	};
	u64 start = clock_ns(CLOCK_MONOTONIC);
	struct live *live = live_load(j->unit, &o, e);

	l->ns = clock_ns(CLOCK_MONOTONIC) - start;
	live_free(live);
	return live != NULL;
}

int cmd_dump_print(const struct job *j, const struct dump_request *r)
{
	struct loaded l = { 0 };
	struct buf b = { 0 };
	struct err e = { 0 };
	bool ok = !r->loads || load(j, &l, &e);

	for (u32 i = 0; i < ARRAY_SIZE(dumps); i++)
		if (r->rows & (1u << i))
			dumps[i].print(&b, j, &l);
	say_output(&b);
	buf_free(&b);
	buf_free(&l.verifier);
	if (!ok)
		say_failure(&j->source, &e);
	return ok ? 0 : 1;
}
