/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How many different things there were, from their hashes, in 16 KiB: HyperLogLog (Flajolet,
 * Fusy, Gandouet and Meunier, 2007) with the estimator of Ertl ("New cardinality estimation
 * algorithms for HyperLogLog sketches", 2017), which needs no corrections for small numbers.
 */
#ifndef AGG_DISTINCT_H
#define AGG_DISTINCT_H

#include "base/base.h"

#define DISTINCT_BITS  14u
#define DISTINCT_CELLS (1u << DISTINCT_BITS)
/* One standard deviation, as a share of the number: 1.04 / sqrt(DISTINCT_CELLS). */
#define DISTINCT_ERROR 0.0081

/* All zero: nothing was seen. */
struct distinct {
	u8 cells[DISTINCT_CELLS];
};

/* `hash`: 64 bits, all of them evenly spread. */
void distinct_add(struct distinct *d, u64 hash);
double distinct_count(const struct distinct *d);

#endif
