/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Native histograms of Prometheus: bucket i of schema s holds what is above 2^((i - 1) / 2^s) and
 * at most 2^(i / 2^s), and only buckets that counted are there
 * (https://prometheus.io/docs/specs/native_histograms/).
 */
#ifndef OUT_METRICS_NATIVE_H
#define OUT_METRICS_NATIVE_H

#include "base/buf.h"

#define NATIVE_SCHEMA_MOST 4
#define NATIVE_LOWEST      (-31 * (1 << NATIVE_SCHEMA_MOST)) /* a nanosecond, in seconds */
#define NATIVE_HIGHEST     (64 * (1 << NATIVE_SCHEMA_MOST))  /* the largest number */

struct native {
	s32 schema;
	u64 zero;                                  /* what is 0 or less */
	u64 n[NATIVE_HIGHEST - NATIVE_LOWEST + 1]; /* from bucket NATIVE_LOWEST on */
};

/* The schema for 2^bits equal buckets in each power of two: its buckets are not narrower than the
 * widest of these. */
s32 metrics_native_schema(u32 bits);
void metrics_native_add(struct native *h, double value, u64 n);
/* "schema zero bucket:count bucket:count ..." and the line's end, which metrics_proto() reads. */
void metrics_native_print(struct buf *b, const struct native *h);

#endif
