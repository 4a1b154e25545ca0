/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any text as folded stacks: what is read, written and read again is the same; it compares with
 * itself. */
#include <stdlib.h>
#include <string.h>

#include "out/flame.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool unfold(struct flame *f, const char *text, size_t n)
{
	struct err e;

	return flame_unfold(f, text, n, &e);
}

static void round_trip(struct flame *f)
{
	struct flame again = { 0 };
	struct buf one = { 0 }, two = { 0 };

	flame_sort(f);
	flame_fold(&one, f);
	if (!unfold(&again, buf_text(&one), one.n))
		abort();
	flame_compare(&again, f);
	flame_fold(&two, &again);
	if (one.n != two.n || (one.n && memcmp(one.p, two.p, one.n) != 0) || again.gone ||
	    again.root.before != again.root.value)
		abort();
	buf_free(&one);
	buf_free(&two);
	flame_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct flame f = { 0 };

	if (unfold(&f, (const char *)p, n))
		round_trip(&f);
	flame_free(&f);
	return 0;
}
