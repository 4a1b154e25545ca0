/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The subcommands. A first word that is none of them belongs to `run`: memtap -e '...' and
 * memtap script.bt are short for memtap run ...
 */
#include <string.h>

#include "base/base.h"
#include "cmd/cmd.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "run", cmd_run },         { "check", cmd_check }, { "tools", cmd_tools },
	{ "doctor", cmd_doctor },   { "btf", cmd_btf },     { "cachesize", cmd_cachesize },
	{ "memstat", cmd_memstat },
};

int main(int argc, char **argv)
{
	for (u32 i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return cmd_run(argc, argv);
}
