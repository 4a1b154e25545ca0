/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows in an arena, which goes as a whole when they do, and a table of their addresses: open
 * addressing, by the key after each row's cell. There may be hundreds of thousands, so the table
 * holds nothing else. A map without key has one row, under the key of no bytes.
 */
#include "agg/held.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_ROWS 64u

void held_init(struct held *h, const struct umap *m)
{
	*h = (struct held){ .map = m };
}

void held_free(struct held *h)
{
	free(h->rows);
	arena_free(&h->arena);
	*h = (struct held){ .map = h->map };
}

bool held_is_empty(const struct held *h)
{
	return !h->n;
}

static u32 key_bytes(const struct held *h)
{
	return h->map->key ? h->map->key_size : 0;
}

static u32 cell_bytes(const struct held *h)
{
	return ROUND_UP(h->map->value_size, 8u);
}

/* Where the key's row is, or belongs: the table has a free place. */
static u8 **place(const struct held *h, const void *key)
{
	static const struct hash_secret secret = { { 0x9ae16a3b2f90404f, 0x9fb21c651e98df25 } };
	u32 n = key_bytes(h), i = (u32)hash_quick(&secret, key, n) & (h->cap - 1);

	while (h->rows[i] && memcmp(h->rows[i] + cell_bytes(h), key, n) != 0)
		i = (i + 1) & (h->cap - 1);
	return &h->rows[i];
}

static void grow(struct held *h)
{
	u8 **old = h->rows;
	u32 n = h->cap;

	h->cap = n ? n * 2 : FIRST_ROWS;
	h->rows = calloc(h->cap, sizeof(*h->rows));
	if (!h->rows)
		base_no_memory();
	for (u32 i = 0; i < n; i++)
		if (old[i])
			*place(h, old[i] + cell_bytes(h)) = old[i];
	free(old);
}

static u64 row_bytes(const struct held *h)
{
	return cell_bytes(h) + key_bytes(h) + 2 * sizeof(*h->rows);
}

/* The key's cell, made of zeros when there is none. */
static void *reach(struct held *h, const void *key)
{
	u32 n = key_bytes(h);
	u8 **at;

	if (h->n >= h->cap / 4 * 3)
		grow(h);
	at = place(h, key);
	if (!*at) {
		*at = arena_alloc(&h->arena, (size_t)cell_bytes(h) + n);
		memcpy(*at + cell_bytes(h), key, n);
		h->n++;
		h->bytes += row_bytes(h);
	}
	return *at;
}

static void fold(const struct held *h, u8 *to, const u8 *from)
{
	u32 end = type_cell(h->map->value);

	cell_fold(h->map->value, to, from);
	for (u32 i = end; i < cell_bytes(h); i++) /* the word that says it was set */
		to[i] |= from[i];
}

void held_add(struct held *h, const void *key, const void *cells, u32 n_cells)
{
	u8 *to = reach(h, key);

	for (u32 i = 0; i < n_cells; i++)
		fold(h, to, (const u8 *)cells + (size_t)i * cell_bytes(h));
}

static void spill_cell(const struct type *t, u8 *to, const u64 cell[2])
{
	if (t->kind != TYPE_HIST && t->kind != TYPE_LHIST)
		cell_fold(t, to, cell);
	else if (cell[0] < type_cell(t) / 8)
		++*(u64 *)(void *)(to + cell[0] * 8);
}

void held_spill(struct held *h, const struct unit_spill *spill)
{
	const struct type *t = h->map->value;
	u8 *to = reach(h, (const u8 *)spill + unit_spill_key(t));

	if (t->kind != TYPE_AGGS)
		spill_cell(t, to, spill->cell[0]);
	for (u32 i = 0; t->kind == TYPE_AGGS && i < t->n_fields; i++)
		spill_cell(t->fields[i].type, to + t->fields[i].off, spill->cell[i]);
}

void held_each(const struct held *h, void (*cb)(void *ctx, const void *key, void *cell), void *ctx)
{
	for (u32 i = 0; i < h->cap; i++)
		if (h->rows[i])
			cb(ctx, h->rows[i] + cell_bytes(h), h->rows[i]);
}

static void add_one(void *ctx, const void *key, void *cell)
{
	held_add(ctx, key, cell, 1);
}

void held_add_all(struct held *h, const struct held *from)
{
	held_each(from, add_one, h);
}

const void *held_find(const struct held *h, const void *key)
{
	return h->n ? *place(h, key) : NULL;
}

/* What comes after a free place is found from where it belongs, which may be before it. */
static void close_gap(struct held *h, u8 **gap)
{
	u32 i = (u32)(gap - h->rows), mask = h->cap - 1;

	for (i = (i + 1) & mask; h->rows[i]; i = (i + 1) & mask) {
		u8 *row = h->rows[i];

		h->rows[i] = NULL;
		*place(h, row + cell_bytes(h)) = row;
	}
}

/* The rows that are left, in memory of their own. */
static void shrink(struct held *h)
{
	struct held all;

	held_init(&all, h->map);
	held_add_all(&all, h);
	held_free(h);
	*h = all;
}

bool held_remove(struct held *h, const void *key)
{
	u8 **at = h->n ? place(h, key) : NULL;

	if (!at || !*at)
		return false;
	*at = NULL;
	close_gap(h, at);
	h->n--;
	h->bytes -= row_bytes(h);
	h->unused += row_bytes(h);
	if (h->unused > h->bytes)
		shrink(h);
	return true;
}

static void add_row(void *ctx, const void *key, void *cell)
{
	table_add(ctx, key, cell, 1);
}

void held_rows(const struct held *h, struct table *t)
{
	table_reserve(t, h->n);
	held_each(h, add_row, t);
}

static void zero(void *ctx, const void *key, void *cell)
{
	(void)key;
	memset(cell, 0, cell_bytes(ctx));
}

void held_clear(struct held *h, bool keeps_keys)
{
	if (keeps_keys)
		held_each(h, zero, h);
	else
		held_free(h);
}
