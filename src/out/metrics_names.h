/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The labels of the keys of a map, kept from page to page: they take longer to write than all the
 * rest, and are the same each time. Only of keys whose text is in their bytes.
 */
#ifndef OUT_METRICS_NAMES_H
#define OUT_METRICS_NAMES_H

#include "agg/table.h"
#include "base/arena.h"

struct metrics_name {
	const char *labels; /* NULL: it is new, and who asked sets both */
	u64 hash;           /* of the labels */
	const u8 *key;
	u32 key_hash;
	struct metrics_name *next; /* the one that was asked for after it; NULL none yet */
};

/* All zero: none yet. */
struct metrics_names {
	struct arena arena;
	struct metrics_name **places; /* by the key's hash; NULL free */
	u32 mask, n;
	struct metrics_name *first, *last; /* that were asked for, of this page or the last one */
};

/* Is the text of such a key the same as long as its bytes are? */
bool metrics_names_fit(const struct type *key);
/* Before a page of `rows` rows: what keys that are gone have left does not add up. */
void metrics_names_begin(struct metrics_names *s, u32 rows);
/* The one of a key; what it points to lives until the next page begins, or longer. */
struct metrics_name *metrics_names_find(struct metrics_names *s, const u8 *key, u32 size);
void metrics_names_free(struct metrics_names *s);

#endif
