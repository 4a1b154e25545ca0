/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two curves, made without the library of mathematics. */
#include "inject/heap.h"
#include "inject/sampler_draw.h"

#define FRACTION 24u
#define ONE      ((unsigned __int128)1 << 62)

/* Bit by bit: of x in [1, 2) the first bit of the logarithm says whether x * x is 2 or more. */
static u32 log2_of(u32 step)
{
	unsigned __int128 x = ONE + ONE / SAMPLER_STEPS * step;
	u32 bits = 0;

	if (step == SAMPLER_STEPS)
		return 1u << FRACTION;
	for (u32 i = 0; i < FRACTION; i++) {
		x = (x >> 31) * (x >> 31);
		bits <<= 1;
		if (x >= 2 * ONE) {
			x >>= 1;
			bits |= 1;
		}
	}
	return bits;
}

void sampler_fill(struct sampler_params *p, u64 every)
{
	const double less = 0.9394130628134757861; /* exp(-1/16) */
	double power = 1;

	p->every = every;
	p->near = sampler_near(every);
	for (u32 i = 0; i <= SAMPLER_STEPS; i++) {
		double x = i / 16.0, y = i ? x / (1 - power) : 1;

		p->log2[i] = log2_of(i);
		p->weight[i] = (u32)(y * (1 << FRACTION) + 0.5);
		power *= less;
	}
}
