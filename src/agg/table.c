/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rows of one map in the order they are printed.
 *
 * The one idea: rows that are equal by value fall back to their key, and two rows of a map never
 * have the same key, so the order is total and the same run prints the same text twice.
 * Merging is cell.c; reading the map is not done here.
 */
#include "agg/table.h"

#include <stdlib.h>
#include <string.h>

void table_init(struct table *t, struct arena *a, const struct unit *u, const struct umap *m)
{
	memset(t, 0, sizeof(*t));
	t->unit = u;
	t->map = m;
	t->arena = a;
}

void table_reserve(struct table *t, u32 n)
{
	struct row *rows;

	if (n <= t->rows.cap)
		return;
	rows = arena_array(t->arena, struct row, n);
	if (t->rows.n)
		memcpy(rows, t->rows.v, t->rows.n * sizeof(*rows));
	t->rows.v = rows;
	t->rows.cap = n;
}

static bool any_set(const u8 *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return true;
	return false;
}

void table_add(struct table *t, const void *key, const void *cells, u32 n_cells)
{
	u32 stride = ROUND_UP(t->map->value_size, 8u);
	struct row row = { 0 };

	if (t->map->key) {
		u8 *copy = arena_alloc(t->arena, t->map->key_size);

		memcpy(copy, key, t->map->key_size);
		row.key = copy;
	} else {
		t->is_set |= any_set(cells, (size_t)n_cells * stride);
	}
	cell_merge(&row.value, t->arena, t->map->value, cells, n_cells, stride);
	vec_add(t->arena, &t->rows, row);
}

static int compare_words(const u8 *a, const u8 *b, u32 n, bool is_signed)
{
	for (u32 i = 0; i < n; i++) {
		s64 x, y;

		memcpy(&x, a + (size_t)i * 8, sizeof(x));
		memcpy(&y, b + (size_t)i * 8, sizeof(y));
		if (x == y)
			continue;
		if (is_signed)
			return x < y ? -1 : 1;
		return (u64)x < (u64)y ? -1 : 1;
	}
	return 0;
}

static s64 element(const struct type *t, const u8 *p)
{
	u32 unused = t->size && t->size < 8 ? 64 - t->size * 8 : 0;
	u64 word = 0;

	memcpy(&word, p, MIN(t->size, 8u));
	return t->is_signed ? (s64)(word << unused) >> unused : (s64)word;
}

static int compare_arrays(const struct type *t, const u8 *a, const u8 *b)
{
	const struct type *e = t->elem;

	if (!type_is_scalar(e))
		return memcmp(a, b, type_slot(t));
	for (u32 i = 0; i < t->count; i++) {
		s64 x = element(e, a + (size_t)i * e->size),
		    y = element(e, b + (size_t)i * e->size);

		if (x != y && e->is_signed)
			return x < y ? -1 : 1;
		if (x != y)
			return (u64)x < (u64)y ? -1 : 1;
	}
	return 0;
}

/* Orders two keys (or parts of keys) of one type at rest. */
static int compare_keys(const struct type *t, const u8 *a, const u8 *b)
{
	int c = 0;

	switch (t->kind) {
	case TYPE_TUPLE:
		for (u32 i = 0; i < t->n_fields && !c; i++)
			c = compare_keys(t->fields[i].type, a + t->fields[i].off,
			                 b + t->fields[i].off);
		return c;
	case TYPE_STR:
		return strncmp((const char *)a, (const char *)b, t->size);
	case TYPE_BUF:
		/* By content, then by length: the length comes first in memory. */
		c = memcmp(a + 8, b + 8, type_slot(t) - 8);
		return c ? c : compare_words(a, b, 1, false);
	case TYPE_ARRAY:
		return compare_arrays(t, a, b);
	case TYPE_STRUCT:
	case TYPE_INET:
	case TYPE_MAC:
		return memcmp(a, b, type_slot(t));
	default:
		return compare_words(a, b, type_slot(t) / 8, t->is_signed);
	}
}

static int compare_rows(const void *x, const void *y, void *ctx)
{
	const struct umap *m = ((const struct table *)ctx)->map;
	const struct row *a = x, *b = y;
	int c = cell_compare(&a->value, &b->value, m->value);

	if (c || !m->key)
		return c;
	return compare_keys(m->key, a->key, b->key);
}

/* The series of a map all end with the interval of its newest value. What is older than they reach
 * back is dropped. */
static void share_end(struct table *t)
{
	s64 end = 0;

	for (u32 i = 0; i < t->rows.n; i++)
		end = MAX(end, t->rows.v[i].value.n + t->rows.v[i].value.n_buckets);
	for (u32 i = 0; i < t->rows.n; i++) {
		struct cell *c = &t->rows.v[i].value;
		u64 n = c->n_buckets, late = MIN((u64)(end - c->n) - n, n);
		u64 *buckets = arena_array(t->arena, u64, n * 2);

		memcpy(buckets, c->buckets + late * 2, (n - late) * 2 * sizeof(*buckets));
		c->buckets = buckets;
		c->n = end - (s64)n;
	}
}

void table_sort(struct table *t)
{
	if (t->map->value->kind == TYPE_TSERIES)
		share_end(t);
	if (t->rows.n > 1)
		qsort_r(t->rows.v, t->rows.n, sizeof(*t->rows.v), compare_rows, t);
}

static int compare_values(const void *x, const void *y, void *ctx)
{
	const struct umap *m = ((const struct table *)ctx)->map;
	const struct row *a = x, *b = y;
	int c;

	if (type_is_agg(m->value))
		return compare_rows(x, y, ctx);
	c = compare_keys(m->value, a->value.bytes, b->value.bytes);
	return c || !m->key ? c : compare_keys(m->key, a->key, b->key);
}

void table_sort_by_value(struct table *t)
{
	if (t->rows.n > 1)
		qsort_r(t->rows.v, t->rows.n, sizeof(*t->rows.v), compare_values, t);
}

u32 table_first(const struct table *t, u32 top)
{
	return top && top < t->rows.n ? t->rows.n - top : 0;
}
