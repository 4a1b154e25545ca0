// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A histogram of times with a fixed size. */
#include "cache/latency.h"

u64 latency_from(u32 i)
{
	u64 base = 1ull << (LATENCY_FIRST_BIT + i / LATENCY_PER_BIT);

	return base + base / LATENCY_PER_BIT * (i % LATENCY_PER_BIT);
}

void latency_halve(struct latency *l)
{
	for (u32 k = 0; k < LATENCY_BUCKETS; k++)
		l->n[k] /= 2;
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
