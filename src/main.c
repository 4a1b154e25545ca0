/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The subcommands. A first word that is none of them belongs to `run`: memtap -e '...' and
 * memtap script.bt are short for memtap run ... Options before a subcommand are its own as if they
 * stood after it.
 */
#include <string.h>

#include "base/base.h"
#include "cmd/cmd.h"
#include "cmd/run_options.h"
#include "cmd/say.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "run", cmd_run },         { "check", cmd_check }, { "tools", cmd_tools },
	{ "doctor", cmd_doctor },   { "btf", cmd_btf },     { "cachesize", cmd_cachesize },
	{ "memstat", cmd_memstat }, { "help", cmd_help },   { "serve", cmd_serve },
};

/* memtap -q check x -> memtap check -q x */
static void put_first(char **argv, u32 at)
{
	char *word = argv[at];

	memmove(argv + 2, argv + 1, (at - 1) * sizeof(*argv));
	argv[1] = word;
}

static int run(int argc, char **argv)
{
	u32 at = run_options_word(argc, argv);

	for (u32 i = 0; at && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[at], commands[i].name) != 0)
			continue;
		put_first(argv, at);
		return commands[i].run(argc - 1, argv + 1);
	}
	return cmd_run(argc, argv);
}

int main(int argc, char **argv)
{
	say_begin();
	return say_end(run(argc, argv));
}
