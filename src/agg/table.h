/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows of a map: key and value with the per-CPU cells merged, sorted as they are printed.
 * Pure: bytes in, rows out. Text, JSON and every view are fed from this one table.
 */
#ifndef AGG_TABLE_H
#define AGG_TABLE_H

#include "base/arena.h"
#include "unit/unit.h"

/* A merged value. For plain types `bytes` is the value at rest. */
struct cell {
	const u8 *bytes;    /* value_size bytes (plain types), else NULL */
	s64 n;              /* COUNT: count; SUM: sum; MIN, MAX: the value; AVG, STATS: count */
	s64 total;          /* AVG, STATS: sum of the values */
	bool set;           /* MIN, MAX: anything was recorded */
	const u64 *buckets; /* HIST, LHIST: merged counts */
	u32 n_buckets;
	const struct cell *parts; /* AGGS: by field */
};

struct row {
	const u8 *key; /* key_size bytes, NULL for a map without key */
	struct cell value;
};

struct table {
	const struct unit *unit;
	const struct umap *map;
	struct arena *arena;
	VEC(struct row) rows;
	bool is_set; /* of a map without key: something was put into it */
};

void table_init(struct table *t, struct arena *a, const struct unit *u, const struct umap *m);
/* Makes room for so many rows at once; a table that grows takes more. */
void table_reserve(struct table *t, u32 n);
/* Merges `n_cells` cells of ROUND_UP(value_size, 8) bytes each and adds the row (copies). */
void table_add(struct table *t, const void *key, const void *cells, u32 n_cells);
/*
 * Order of bpftrace: count, sum, integers ascending by value; min, max by value; avg, stats by
 * average; hist, lhist by total count; several aggregations by the first, then by the next;
 * everything else by key, tuple parts from left to right.
 * Equal values stay in the order they were added, by key.
 */
void table_sort(struct table *t);
/* By value also where table_sort() goes by key alone: tuples part by part, strings, structs. */
void table_sort_by_value(struct table *t);
/* Index of the first row that print(@m, top) shows; top 0 means all. */
u32 table_first(const struct table *t, u32 top);
/*
 * Merges `n_cells` cells of type t, `stride` bytes apart, into *c. Counts, sums and buckets add
 * up, the larger maximum wins; of a plain type the first cell is taken. Without cells the result
 * is a value of all zeros. Everything is copied into the arena.
 */
void cell_merge(struct cell *c, struct arena *a, const struct type *t, const void *cells,
                u32 n_cells, u32 stride);
/* Merges one raw cell of type t into another: zeros are a cell in which nothing was counted. Of a
 * plain type the second is taken. */
void cell_fold(const struct type *t, void *to, const void *from);
/* Below, at or above 0 as a sorts before, with or after b, by value (see table_sort); 0 for types
 * that are not sorted by value. */
int cell_compare(const struct cell *a, const struct cell *b, const struct type *t);
/* Average of AVG and STATS, 0 without values; signed by the type. */
s64 cell_average(const struct cell *c, const struct type *t);

#endif
