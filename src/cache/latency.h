/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long things took: four buckets to each power of two, from a microsecond to four seconds, so a
 * quantile is off by less than a tenth. What is shorter or longer goes to the first or last bucket.
 */
#ifndef CACHE_LATENCY_H
#define CACHE_LATENCY_H

#include "base/base.h"

#define LATENCY_BUCKETS 88u

/* All zero is empty. */
struct latency {
	u32 n[LATENCY_BUCKETS]; /* halved, all of them, before one overflows */
};

void latency_add(struct latency *l, u64 ns);
/* Nanoseconds that the share q (0 to 1) stays below; 0 when it is empty. */
u64 latency_quantile(const struct latency *l, double q);
/* The shortest of bucket i, in nanoseconds. */
u64 latency_from(u32 i);
u64 latency_total(const struct latency *l);

#endif
