/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs scripts in the test interpreter: for each file named, a line "== FILE" and what the script
 * prints, or "failed: " and why: without bpf_loop and with it. For tests/diff/run.py.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "interp/lab.h"

/* Prints what the script printed, or why it could not be run: then NULL is returned. */
static const char *output_of(struct lab *l, const char *text)
{
	const char *out = lab_begin(l, text);

	printf(out ? "%s" : "failed: %s\n", out ? out : buf_text(&l->problem));
	if (out)
		printf("errors %llu\n", (unsigned long long)lab_errors(l, UERROR_DIV_ZERO));
	return out;
}

static void run(const char *path)
{
	struct buf text = { 0 };
	struct err e = { 0 };
	struct lab l, loop;
	const char *out;

	printf("== %s\n", path);
	if (!file_read(path, &text, 1 << 20, &e)) {
		printf("failed: %s\n", e.text);
		return;
	}
	lab_init(&l);
	lab_init_loop(&loop);
	out = output_of(&l, buf_text(&text));
	if (out && (!lab_begin(&loop, buf_text(&text)) || strcmp(out, buf_text(&loop.output)) != 0))
		printf("failed: with bpf_loop: %s%s\n", buf_text(&loop.problem),
		       buf_text(&loop.output));
	lab_free(&l);
	lab_free(&loop);
	buf_free(&text);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	return 0;
}
