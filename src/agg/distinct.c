/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * HyperLogLog; see distinct.h. The upper bits of a hash choose a cell, which keeps the longest run
 * of zeros that the other bits began with. That run is about log2 of how many hashes fell
 * into the cell; the mean over all cells is what estimates well.
 *
 * Of Ertl's formula the part for cells that have overflown is left out: with 64 bits that takes
 * more things than can be counted.
 */
#include "agg/distinct.h"

#define LONGEST (64 - DISTINCT_BITS + 1) /* the largest value of a cell */

void distinct_add(struct distinct *d, u64 hash)
{
	u8 *cell = &d->cells[hash >> (64 - DISTINCT_BITS)];
	u64 rest = hash << DISTINCT_BITS;
	u8 run = rest ? (u8)(__builtin_clzll(rest) + 1) : LONGEST;

	if (run > *cell)
		*cell = run;
}

/* x + x^2 * 1 + x^4 * 2 + x^8 * 4 + ...: what the empty cells, a share of x, stand for. x < 1. */
static double empty_share(double x)
{
	double sum = x, before, weight = 1;

	do {
		x *= x;
		before = sum;
		sum += x * weight;
		weight += weight;
	} while (sum != before);
	return sum;
}

double distinct_count(const struct distinct *d)
{
	u32 n[LONGEST + 1] = { 0 };
	double z = 0;

	for (u32 i = 0; i < DISTINCT_CELLS; i++)
		n[d->cells[i]]++;
	if (n[0] == DISTINCT_CELLS)
		return 0;
	for (u32 i = LONGEST; i >= 1; i--)
		z = 0.5 * (z + n[i]);
	z += DISTINCT_CELLS * empty_share((double)n[0] / DISTINCT_CELLS);
	return 0.7213475204444817 * DISTINCT_CELLS * DISTINCT_CELLS / z; /* 1 / (2 ln 2) */
}
