/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tables of scripts and what they print, for tests of the compiler. Included after cmocka.h.
 */
#ifndef TESTS_GEN_ROWS_H
#define TESTS_GEN_ROWS_H

#include <string.h>

#include "interp/lab.h"

struct script_row {
	const char *script; /* or an expression */
	const char *want;
};

/* Runs the script; reports what differs and counts it. */
static u32 wrong_in(void (*init)(struct lab *l), const char *script, const char *want)
{
	struct lab l;
	const char *got;
	u32 n = 0;

	init(&l);
	got = lab_begin(&l, script);
	if (!got || strcmp(got, want) != 0) {
		print_error("script: %s\nwanted: %s\n%s%s\n", script, want,
		            got ? "got:    " : "failed: ", got ? got : buf_text(&l.problem));
		n = 1;
	}
	lab_free(&l);
	return n;
}

static void run_rows(void (*init)(struct lab *l), const struct script_row *rows, size_t n)
{
	u32 bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += wrong_in(init, rows[i].script, rows[i].want);
	if (bad)
		fail_msg("%u of %zu scripts are wrong", bad, n);
}

#define RUN_ROWS(name)                                                                             \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		run_rows(lab_init, name, ARRAY_SIZE(name));                                        \
	}

#endif
