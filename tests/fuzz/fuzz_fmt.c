/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as a script to format. What is printed must be accepted again, mean the same tree and
 * be formatted already: formatting it once more changes nothing.
 */
#include <stdlib.h>

#include "lang/parse/fmt.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Formats the text into *out and, where `tree` is there, prints its tree. */
static bool format(struct arena *a, struct str text, struct buf *out, struct buf *tree)
{
	struct source source;
	struct err e;

	if (!source_set(&source, a, "stdin", text, &e))
		return false;

	struct diags d = { .arena = a, .source = &source };
	struct script s = { .arena = a, .source = &source };

	if (!fmt_script(out, &s, &d))
		return false;
	ast_print(tree, &s, false);
	return true;
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->n == b->n && (!a->n || memcmp(a->p, b->p, a->n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct arena arena = { 0 };
	struct buf once = { 0 }, twice = { 0 }, tree = { 0 }, tree_again = { 0 };

	if (format(&arena, (struct str){ (const char *)p, (u32)n }, &once, &tree)) {
		if (!format(&arena, (struct str){ once.p, (u32)once.n }, &twice, &tree_again))
			abort();
		if (!same(&once, &twice) || !same(&tree, &tree_again))
			abort();
	}
	buf_free(&once);
	buf_free(&twice);
	buf_free(&tree);
	buf_free(&tree_again);
	arena_free(&arena);
	return 0;
}
