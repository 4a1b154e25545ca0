/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "out/metrics_native.h"

#include <inttypes.h>
#include <math.h>

/* The first of 2^bits buckets is the widest, by 1 + 2^-bits; those of a schema are so by
 * 2^(2^-schema), which is more up to bits - 1. */
s32 metrics_native_schema(u32 bits)
{
	return bits ? MIN((s32)bits - 1, NATIVE_SCHEMA_MOST) : 0;
}

/* 2^(i / 16) from i = 1 on. */
static const double roots[] = { 1.0442737824274138, 1.0905077326652577, 1.1387886347566916,
	                        1.189207115002721,  1.241857812073484,  1.2968395546510096,
	                        1.3542555469368927, 1.4142135623730951, 1.4768261459394993,
	                        1.5422108254079407, 1.6104903319492543, 1.681792830507429,
	                        1.7562521603732995, 1.8340080864093424, 1.9152065613971474 };

/* The bucket of a number above 0. */
static s32 bucket_of(double value, s32 schema)
{
	u32 step = 1u << (NATIVE_SCHEMA_MOST - schema), i = step;
	int power;
	double rest = 2 * frexp(value, &power); /* from 1 on, below 2 */
	s32 at = (power - 1) * (1 << schema);

	if (rest == 1)
		return at;
	for (; i <= ARRAY_SIZE(roots) && rest > roots[i - 1]; i += step)
		;
	return at + (s32)(i / step);
}

void metrics_native_add(struct native *h, double value, u64 n)
{
	s32 at;

	if (!(value > 0)) {
		h->zero += n;
		return;
	}
	at = bucket_of(value, h->schema);
	h->n[MIN(MAX(at, NATIVE_LOWEST), NATIVE_HIGHEST) - NATIVE_LOWEST] += n;
}

void metrics_native_print(struct buf *b, const struct native *h)
{
	buf_printf(b, "%d %" PRIu64, h->schema, h->zero);
	for (s32 i = NATIVE_LOWEST; i <= NATIVE_HIGHEST; i++)
		if (h->n[i - NATIVE_LOWEST])
			buf_printf(b, " %d:%" PRIu64, i, h->n[i - NATIVE_LOWEST]);
	buf_putc(b, '\n');
}
