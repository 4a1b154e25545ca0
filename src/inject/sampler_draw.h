/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The numbers of sampling: how far it is to the next sample, and what one stands for. In integers:
 * in other processes no other registers may be touched.
 */
#ifndef INJECT_SAMPLER_DRAW_H
#define INJECT_SAMPLER_DRAW_H

#include <stdbool.h>

#include "inject/sampler.h"

#define INLINE      inline __attribute__((always_inline, unused))
#define SAMPLER_LN2 2977044472u /* 32 bits of fraction */

/* As many as let one block in 512 that is freed lie near a sampled one: the more, the less of the
 * filter gets into the caches, and takes the place of what is the program's own there. */
static INLINE u32 sampler_near(u64 every)
{
	u32 log2 = every ? 63 - (u32)__builtin_clzll(every) : 0;

	return log2 < 13 ? 4 : log2 > 21 ? 12 : log2 - 9;
}

/* Between two of a curve's points. */
static INLINE u64 sampler_between(const volatile u32 *curve, u64 step, u64 part, u32 bits)
{
	u64 low = curve[step], high = curve[step + 1];

	return low + (((high - low) * part) >> bits);
}

static INLINE u64 sampler_draw(struct sampler_cpu *c)
{
	u64 x = c->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	c->random = x;
	return x * 2685821657736338717u;
}

/* Bytes to the next sample: -ln(u) * every, of u in (0, 1]. */
static INLINE u64 sampler_gap(const volatile struct sampler_params *p, struct sampler_cpu *c)
{
	u64 u = sampler_draw(c) | 1;
	u32 zeros = (u32)__builtin_clzll(u);
	u64 rest = u << zeros << 1; /* after the first one */
	u64 log2 = sampler_between(p->log2, rest >> 56, rest >> 32 & 0xffffff, 24);
	u64 less = ((u64)(zeros + 1) << 24) - log2;

	return ((p->every << c->longer) * ((less * SAMPLER_LN2) >> 32)) >> 24;
}

/* What a block of that many bytes stands for when it was sampled, with such gaps. */
static INLINE u64 sampler_weight(const volatile struct sampler_params *p, u64 every, u64 size)
{
	if (size >= 16 * every)
		return size;
	size = (size << 20) / every; /* 4 bits of steps, 16 between them */
	return (every * sampler_between(p->weight, size >> 16, size & 0xffff, 16) + (1 << 23)) >>
	       24;
}

/*
 * Where more samples come than are wanted, some are left out again: what remains is as with gaps
 * that are *longer times doubled, and whether that block is one of it. So that not too many come
 * in vain, the next gap (sampler_gap()) is longer from the start, but for a few doublings, which
 * are for a process that allocates less from now on. How many follows from what came before alone,
 * so that all is right on average as with such gaps from the start.
 */
static INLINE bool sampler_spares(const volatile struct sampler_params *p, struct sampler_cpu *c,
                                  u64 now, u64 size, u64 *longer)
{
	u64 apart = p->apart, full = SAMPLER_SAVED * apart, saved = full, had = c->longer;
	u64 every;

	*longer = had;
	if (!apart)
		return false;
	if (now - c->last < full)
		saved = c->saved + (now - c->last);
	if (saved > full)
		saved = full;
	*longer = (full - saved) / (full / SAMPLER_SPARES + 1);
	c->last = now;
	c->saved = saved;
	c->longer = *longer > SAMPLER_VAIN ? *longer - SAMPLER_VAIN : 0;
	if (*longer < had)
		*longer = had;
	every = p->every << *longer;
	if (size < 16 * every && (sampler_draw(c) >> 40) * sampler_weight(p, every, size) >=
	                                 sampler_weight(p, p->every << had, size) << 24)
		return true;
	c->saved = saved > apart ? saved - apart : 0;
	return false;
}

#endif
