/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The distribution of sizes, fine enough that nobody has to choose buckets before: numbers below
 * 256 are exact, those above keep eight binary digits, so that a number is off by less than 0.8 %
 * (as HdrHistogram does it). Rows to look at are chosen afterwards, from what there is. Pure.
 */
#ifndef AGG_SIZES_H
#define AGG_SIZES_H

#include "agg/alloc.h"

#define SIZES_BITS  7u
#define SIZES_CELLS ((64u - SIZES_BITS + 1) << SIZES_BITS)
#define SIZES_ROWS  24u

/* All zero: none. */
struct sizes {
	u64 n, min, max; /* exact; min only when n is not 0 */
	double sum;
	u64 cells[SIZES_CELLS];
};

/* A bucket as shown: low <= size < high. */
struct sizes_row {
	u64 low, high, n;
};

void sizes_add(struct sizes *s, u64 size, u64 n);
/*
 * n sizes of which eight binary digits are known: what the kernel's side counts under. Their sum,
 * `min` and `max` are as exact as the cells; set those that are known better.
 */
void sizes_add_coarse(struct sizes *s, u64 size, u64 n);
double sizes_mean(const struct sizes *s);
/* The size that a share of them (0 to 1) do not exceed, in the middle of its cell; 0 of none. */
u64 sizes_at(const struct sizes *s, double share);
/* Mean of what an allocator takes for `extra` bytes more than each size. */
double sizes_taken(const struct sizes *s, enum alloc a, u64 extra);
/*
 * Cuts the range from the smallest to the largest into at most SIZES_ROWS rows without gap: equal
 * steps of a round number where the range is narrow, else 1, 2 or 4 for each power of two. Steps
 * are never finer than the cells. Returns their number, 0 of none.
 */
u32 sizes_rows(const struct sizes *s, struct sizes_row rows[SIZES_ROWS]);

#endif
