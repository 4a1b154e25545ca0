/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pieces of a stream that came before those that belong in front of them. */
#ifndef CACHE_ORDER_H
#define CACHE_ORDER_H

#include "cache/wire.h"

#define ORDER_PIECES 64u     /* from so many on there are too many, */
#define ORDER_BYTES  262144u /* ... and from so many bytes */

/* All zero at first. */
struct order {
	struct order_piece *first; /* by place */
	struct order_piece *taken; /* the last one that was */
	u32 n;
	size_t bytes;
};

/* Keeps a copy; false when there are too many now. */
bool order_keep(struct order *o, const struct wire_event *e);
/* Takes out the first that begins at `at` or before it; with `any` the first of all. NULL for none;
 * good until the next call. */
const struct wire_event *order_take(struct order *o, u32 at, bool any);
void order_free(struct order *o);

/* Cuts off what is before `at` in the stream; false when nothing is left. */
bool order_cut(struct wire_event *e, u32 at);

#endif
