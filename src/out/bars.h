/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Histograms as bars: which buckets are shown, what range each covers and how its bounds are
 * labelled. Text draws them, JSON lists them.
 */
#ifndef OUT_BARS_H
#define OUT_BARS_H

#include "agg/table.h"
#include "base/buf.h"

struct bar {
	u64 count;
	bool open_low, open_high; /* no lower or upper bound */
	s64 low, high; /* [low, high); for HIST as u64, where the highest bound 2^64 shows as 0 */
};

/* The first and last bucket that counted something; false when all are empty. */
bool bars_range(const struct cell *c, u32 *first, u32 *last);
struct bar bars_get(const struct type *t, const struct cell *c, u32 i, u32 div);
/* The whole drawing, a line for each bucket; nothing when all are empty. */
void bars_print(struct buf *b, const struct type *t, const struct cell *c, u32 div);

#endif
