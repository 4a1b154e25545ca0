/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs scripts in the test interpreter: for each file named, a line "== FILE" and what the script
 * prints, or "failed: " and why. For tests/diff/run.py.
 */
#include <stdio.h>

#include "base/file.h"
#include "interp/lab.h"

static void run(const char *path)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	const char *out;
	struct lab l;

	printf("== %s\n", path);
	if (!file_read(path, &text, 1 << 20, &e)) {
		printf("failed: %s\n", e.text);
		return;
	}
	lab_init(&l);
	out = lab_begin(&l, buf_text(&text));
	printf(out ? "%s" : "failed: %s\n", out ? out : buf_text(&l.problem));
	printf("errors %llu\n", (unsigned long long)lab_errors(&l, UERROR_DIV_ZERO));
	lab_free(&l);
	buf_free(&text);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	return 0;
}
