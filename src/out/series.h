/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Time series: tseries().
 */
#ifndef OUT_SERIES_H
#define OUT_SERIES_H

#include "out/out.h"

/* No interval has a value. */
bool series_is_empty(const struct cell *c);
/* The whole drawing; nothing when no interval has a value. */
void series_print(struct buf *b, const struct out *o, const struct type *t, const struct cell *c,
                  u32 div);
/* Nanoseconds since 1970 at which interval i of the cell starts. */
u64 series_time(const struct out *o, const struct type *t, const struct cell *c, u32 i);

#endif
