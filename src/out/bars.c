/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Drawing of hist() and lhist():
 *
 *   [16, 32)               2 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
 *   [32, 64)               4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
 *
 * Bounds come from unit/bucket.h, which the compiler uses too. Labels of hist() count in powers
 * of 1024 by the bucket's power of two, so that with sub-buckets 1024 is "1024" and 4096 "4K";
 * labels of lhist() do so only when the step is a multiple of 1024.
 */
#include "out/bars.h"

#include <inttypes.h>
#include <stdio.h>

#include "unit/bucket.h"

#define BAR_WIDTH 52
#define KILO      1024l

bool bars_range(const struct cell *c, u32 *first, u32 *last)
{
	u32 low = 0, high = c->n_buckets;

	while (low < high && !c->buckets[low])
		low++;
	while (high > low && !c->buckets[high - 1])
		high--;
	*first = low;
	*last = high - 1;
	return low < high;
}

static s64 lhist_bound(const struct type *t, u32 i)
{
	/* In 128 bits, because min + i * step may pass the largest 64-bit number. */
	__int128 bound = (__int128)t->min + (__int128)i * t->step;

	return bound < t->max ? (s64)bound : t->max;
}

struct bar bars_get(const struct type *t, const struct cell *c, u32 i, u32 div)
{
	struct bar bar = { .count = c->buckets[i] / MAX(div, 1u), .open_low = i == 0 };

	if (t->kind == TYPE_HIST) {
		bar.low = i ? (s64)bucket_hist_low(i, t->bits) : 0;
		bar.high = (s64)bucket_hist_low(i + 1, t->bits);
		return bar;
	}
	bar.open_high = i + 1 == c->n_buckets;
	bar.low = i ? lhist_bound(t, i - 1) : 0;
	bar.high = lhist_bound(t, i);
	return bar;
}

/* The lower bound of bucket i of a hist(). */
static void hist_label(struct buf *b, u32 i, u32 bits)
{
	u32 group = (i - 1) >> bits, in = (i - 1) & ((1u << bits) - 1), power;

	if (group == 0) {
		buf_printf(b, "%u", in);
		return;
	}
	power = group - 1;
	buf_printf(b, "%" PRIu64, (u64)((1u << bits) + in) << power % 10);
	if (power >= 10)
		buf_putc(b, "KMGTPE"[power / 10 - 1]);
}

static void lhist_label(struct buf *b, s64 bound, s64 step)
{
	if (step % KILO == 0 && bound && bound % (KILO * KILO) == 0)
		buf_printf(b, "%" PRId64 "M", bound / (KILO * KILO));
	else if (step % KILO == 0 && bound && bound % KILO == 0)
		buf_printf(b, "%" PRId64 "K", bound / KILO);
	else
		buf_printf(b, "%" PRId64, bound);
}

static void low_label(struct buf *b, const struct type *t, const struct bar *bar, u32 i)
{
	if (t->kind == TYPE_HIST)
		hist_label(b, i, t->bits);
	else
		lhist_label(b, bar->low, t->step);
}

static void high_label(struct buf *b, const struct type *t, const struct bar *bar, u32 i)
{
	if (t->kind == TYPE_HIST)
		hist_label(b, i + 1, t->bits);
	else
		lhist_label(b, bar->high, t->step);
}

/* "(..., 0)", "[1]", "[2, 4)", "[100, ...)" */
static void bar_label(struct buf *b, const struct type *t, const struct bar *bar, u32 i)
{
	bool single = !bar->open_low && !bar->open_high && (u64)bar->high - (u64)bar->low == 1;

	buf_puts(b, bar->open_low ? "(..." : "[");
	if (!bar->open_low)
		low_label(b, t, bar, i);
	if (single) {
		buf_putc(b, ']');
		return;
	}
	buf_puts(b, ", ");
	if (bar->open_high)
		buf_puts(b, "...");
	else
		high_label(b, t, bar, i);
	buf_putc(b, ')');
}

/* `share` of `max`: what the bar's length is of BAR_WIDTH. */
static void bar_print(struct buf *b, const struct type *t, const struct bar *bar, u32 i, u64 share,
                      u64 max)
{
	/* Single precision, as bpftrace computes it: bars of equal data have equal length. */
	u32 width = max ? (u32)((float)share / (float)max * BAR_WIDTH) : 0;
	size_t start = b->n;

	bar_label(b, t, bar, i);
	if (b->n - start < 16)
		buf_fill(b, ' ', 16 - (b->n - start));
	buf_printf(b, "%8" PRIu64 " |", bar->count);
	buf_fill(b, '@', width);
	buf_fill(b, ' ', BAR_WIDTH - width);
	buf_puts(b, "|\n");
}

void bars_print(struct buf *b, const struct type *t, const struct cell *c, u32 div)
{
	u32 first, last;
	u64 max = 0;

	if (!bars_range(c, &first, &last))
		return;
	/* Only the figures are divided: a bar is there where the figure is 0. */
	for (u32 i = first; i <= last; i++)
		max = MAX(max, c->buckets[i]);
	for (u32 i = first; i <= last; i++) {
		struct bar bar = bars_get(t, c, i, div);

		bar_print(b, t, &bar, i, c->buckets[i], max);
	}
}
