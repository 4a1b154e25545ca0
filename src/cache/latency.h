/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long things took: four buckets to each power of two, from a microsecond to four seconds, so a
 * quantile is off by less than a tenth. What is shorter or longer goes to the first or last bucket.
 */
#ifndef CACHE_LATENCY_H
#define CACHE_LATENCY_H

#include "base/base.h"

#define LATENCY_BUCKETS   88u
#define LATENCY_FIRST_BIT 10u /* 1024 ns */
#define LATENCY_PER_BIT   4u  /* buckets of even width */

/* All zero is empty. */
struct latency {
	u32 n[LATENCY_BUCKETS]; /* halved, all of them, before one overflows */
};

/* The bucket that ns goes to. */
static inline u32 latency_bucket(u64 ns)
{
	u32 bit, i;

	if (ns < 1u << LATENCY_FIRST_BIT)
		return 0;
	bit = 63 - (u32)__builtin_clzll(ns);
	i = (bit - LATENCY_FIRST_BIT) * LATENCY_PER_BIT +
	    (u32)(ns >> (bit - 2) & (LATENCY_PER_BIT - 1));
	return MIN(i, LATENCY_BUCKETS - 1);
}
/* Before one of them overflows. */
void latency_halve(struct latency *l);
static inline void latency_count(struct latency *l, u32 i)
{
	if (l->n[i] == UINT32_MAX)
		latency_halve(l);
	l->n[i]++;
}
/* Nanoseconds that the share q (0 to 1) stays below; 0 when it is empty. */
u64 latency_quantile(const struct latency *l, double q);
/* The shortest of bucket i, in nanoseconds. */
u64 latency_from(u32 i);
u64 latency_total(const struct latency *l);

#endif
