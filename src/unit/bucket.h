/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounds of histogram buckets, written once so that the emitted code, the
 * merge and the printer can not disagree.
 *
 * hist(n, bits): bucket 0 is (..., 0). Values below 2^bits have a bucket each,
 * at 1 + n. Above, each power of two [2^l, 2^(l+1)) has 2^bits equal buckets:
 * 1 + ((l - bits + 1) << bits) + (n >> (l - bits)) - 2^bits, l = floor(log2 n).
 *
 * lhist(n, min, max, step): bucket 0 is below min, 1 .. k cover [min, max) in
 * steps, k + 1 is max and above; k = ceil((max - min) / step).
 */
#ifndef UNIT_BUCKET_H
#define UNIT_BUCKET_H

#include "base/base.h"

#define BUCKET_HIST_BITS_MAX 5u
#define BUCKET_LHIST_MAX     1000u

static inline u32 bucket_hist_count(u32 bits)
{
	return 1 + ((64 - bits) << bits) + (1u << bits);
}

static inline u32 bucket_hist_index(s64 n, bool is_signed, u32 bits)
{
	u64 v = (u64)n;
	u32 l;

	if (is_signed && n < 0)
		return 0;
	if (v < (1ull << bits))
		return 1 + (u32)v;
	l = 63 - (u32)__builtin_clzll(v);
	return 1 + ((l - bits + 1) << bits) + (u32)(v >> (l - bits)) - (1u << bits);
}

/* The smallest value of bucket i >= 1; for i == bucket_hist_count() it would be 2^64, gives 0. */
static inline u64 bucket_hist_low(u32 i, u32 bits)
{
	u32 k = i - 1, group = k >> bits, in = k & ((1u << bits) - 1);

	if (group == 0)
		return k;
	if (group + bits - 1 >= 64)
		return 0;
	return ((u64)in + (1ull << bits)) << (group - 1);
}

static inline u32 bucket_lhist_count(s64 min, s64 max, s64 step)
{
	return (u32)((max - min + step - 1) / step) + 2;
}

#endif
