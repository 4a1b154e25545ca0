/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What stands above a table that may turn out to be empty: heading(@m, ...) is held back until @m
 * is printed. A program that asks whether a map holds anything knows less, for events come in
 * between.
 */
#ifndef RUN_ABOVE_H
#define RUN_ABOVE_H

#include "base/buf.h"

/* All zero is empty. */
struct above {
	struct buf *texts; /* by map */
	u32 n;
};

/* Where the text above the next table of a map goes, after what is there. */
struct buf *above_add(struct above *a, u32 map);
/* Adds a map's table, which is the next one: its text and it, or nothing when the table is
 * empty. */
void above_print(struct above *a, u32 map, const struct buf *table, struct buf *to);
void above_free(struct above *a);

#endif
