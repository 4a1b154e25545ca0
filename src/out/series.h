/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Time series: tseries().
 */
#ifndef OUT_SERIES_H
#define OUT_SERIES_H

#include "out/out.h"

/* No interval has a value. */
bool series_is_empty(const struct cell *c);
/* The whole drawing, or "<no data>". */
void series_print(struct buf *b, const struct out *o, const struct type *t, const struct cell *c,
                  u32 div);
/* The value of interval i, divided by `div` above 1. */
u64 series_value(const struct type *t, const struct cell *c, u32 i, u32 div);
/* Nanoseconds since 1970 at which interval i of the cell starts. */
u64 series_time(const struct out *o, const struct type *t, const struct cell *c, u32 i);

#endif
