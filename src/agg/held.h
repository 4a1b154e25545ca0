/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows of a map that are not in the kernel any more, or never were: by key, the cells of all CPUs
 * in one. What is added to a key that is there is merged with it as one more CPU's cell would be.
 */
#ifndef AGG_HELD_H
#define AGG_HELD_H

#include "agg/table.h"

struct held {
	const struct umap *map;
	struct arena arena;
	u8 **rows;  /* each a cell, raw, and its key after; NULL: free */
	u32 n, cap; /* cap is 0 or a power of two */
	u64 bytes;  /* about what all of it takes */
	u64 unused; /* ... and what removed rows still take */
};

/* Starts empty. */
void held_init(struct held *h, const struct umap *m);
void held_free(struct held *h);
bool held_is_empty(const struct held *h);
/* `n_cells` cells of ROUND_UP(value_size, 8) bytes each; copied. Of values that are no aggregations
 * the newer one stays. */
void held_add(struct held *h, const void *key, const void *cells, u32 n_cells);
/* What one event that found no room in the map adds. */
void held_spill(struct held *h, const struct unit_spill *spill);
/* All that is held elsewhere, too. */
void held_add_all(struct held *h, const struct held *from);
/* The one cell of a key, NULL when it is not there. */
const void *held_find(const struct held *h, const void *key);
/* Removes a row; false when it is not there. */
bool held_remove(struct held *h, const void *key);
/* Adds the rows to a table. */
void held_rows(const struct held *h, struct table *t);
/* Calls cb with each key and its cell. */
void held_each(const struct held *h, void (*cb)(void *ctx, const void *key, void *cell), void *ctx);
/* Forgets all rows, or with keeps_keys all values. */
void held_clear(struct held *h, bool keeps_keys);

#endif
