// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A histogram of times with a fixed size. */
#include "cache/latency.h"

#define FIRST_BIT 10u /* 1024 ns */
#define PER_BIT   4u

/* Buckets are of even width within a power of two. */
static u32 bucket_of(u64 ns)
{
	u32 bit, i;

	if (ns < 1u << FIRST_BIT)
		return 0;
	bit = 63 - (u32)__builtin_clzll(ns);
	i = (bit - FIRST_BIT) * PER_BIT + (u32)(ns >> (bit - 2) & (PER_BIT - 1));
	return MIN(i, LATENCY_BUCKETS - 1);
}

u64 latency_from(u32 i)
{
	u64 base = 1ull << (FIRST_BIT + i / PER_BIT);

	return base + base / PER_BIT * (i % PER_BIT);
}

void latency_add(struct latency *l, u64 ns)
{
	u32 i = bucket_of(ns);

	if (l->n[i] == UINT32_MAX)
		for (u32 k = 0; k < LATENCY_BUCKETS; k++)
			l->n[k] /= 2;
	l->n[i]++;
}

u64 latency_total(const struct latency *l)
{
	u64 n = 0;

	for (u32 i = 0; i < LATENCY_BUCKETS; i++)
		n += l->n[i];
	return n;
}

u64 latency_quantile(const struct latency *l, double q)
{
	double wanted = q * (double)latency_total(l), below = 0;
	u32 i = 0;

	if (!(wanted > 0))
		return 0;
	while (i < LATENCY_BUCKETS - 1 && below + l->n[i] < wanted)
		below += l->n[i++];
	if (!l->n[i])
		return latency_from(i);
	/* Evenly spread within the bucket. */
	return latency_from(i) +
	       (u64)((double)(latency_from(i + 1) - latency_from(i)) * (wanted - below) / l->n[i]);
}
