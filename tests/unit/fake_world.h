/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A machine that is always the same: a handful of tracepoints, kernel functions and types, and
 * the test's own executable as the only program. For tests of the compiler.
 */
#ifndef TESTS_FAKE_WORLD_H
#define TESTS_FAKE_WORLD_H

#include "lang/parse/world.h"

struct fake_world {
	struct world world; /* first: the compiler gets a pointer to it */
	struct arena arena;
	struct features features;
	bool no_btf;
	struct btf *btf;
	struct btf *module; /* "mine"; NULL until it is asked for */
	struct elf *self;
};

/* What a script can name there is listed in fake_world.c. */
void fake_world_init(struct fake_world *f);
void fake_world_free(struct fake_world *f);

#endif
