/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the words of a map's value mean once the cells of all CPUs are taken together.
 *
 * The one idea: every aggregation merges by adding words, except MIN and MAX, whose programs keep
 * the value encoded so that one unsigned maximum serves all four cases:
 *
 *   MAX unsigned  x            MAX signed  x with its sign bit flipped (keeps the order)
 *   MIN           the complement of the encoding for MAX (turns the order round)
 *
 * and a second word that is 1 once a value was recorded. Does not know rows or keys.
 */
#include "agg/table.h"

#include <string.h>

#include "unit/bucket.h"

#define SIGN_BIT (1ull << 63)

static u64 word_at(const void *cell, u32 i)
{
	u64 w;

	memcpy(&w, (const u8 *)cell + (size_t)i * 8, sizeof(w));
	return w;
}

static u64 decode_extreme(u64 enc, const struct type *t)
{
	if (t->kind == TYPE_MIN)
		enc = ~enc;
	return t->is_signed ? enc ^ SIGN_BIT : enc;
}

/* The cells of all CPUs, `stride` bytes apart, that become one. */
struct cells {
	const u8 *p;
	u32 n, stride;
};

static const u8 *cell_of(const struct cells *all, u32 i)
{
	return all->p + (size_t)i * all->stride;
}

static void merge_extreme(struct cell *c, struct arena *a, const struct type *t,
                          const struct cells *all)
{
	u64 best = 0;

	(void)a;
	for (u32 i = 0; i < all->n; i++) {
		const u8 *cell = cell_of(all, i);

		if (!word_at(cell, 1))
			continue;
		best = MAX(best, word_at(cell, 0));
		c->set = true;
	}
	c->n = c->set ? (s64)decode_extreme(best, t) : 0;
}

static void merge_buckets(struct cell *c, struct arena *a, const struct type *t,
                          const struct cells *all)
{
	u32 n = type_cell(t) / 8;
	u64 *sum = arena_array(a, u64, n);

	for (u32 i = 0; i < all->n; i++)
		for (u32 k = 0; k < n; k++)
			sum[k] += word_at(cell_of(all, i), k);
	c->buckets = sum;
	c->n_buckets = n;
}

/* One interval of one CPU into the merged value at `to`: {values, value}. */
static void merge_slot(u64 *to, u64 *newest, const struct type *t, const u8 *slot)
{
	s64 value = (s64)word_at(slot, 1), had = (s64)to[1];
	u64 n = word_at(slot, 2);
	bool first = !to[0], larger = t->is_signed ? value > had : (u64)value > (u64)had;

	if (!n)
		return;
	if (t->bits == SERIES_LAST) {
		to[1] = n >= *newest ? (u64)value : to[1];
		*newest = MAX(*newest, n);
		to[0] = 1;
		return;
	}
	if (t->bits == SERIES_AVG || t->bits == SERIES_SUM)
		to[1] += (u64)value;
	else if (first || larger == (t->bits == SERIES_MAX))
		to[1] = (u64)value;
	to[0] += n;
}

static u64 newest_interval(const struct type *t, const struct cells *all)
{
	u64 newest = 0;

	for (u32 i = 0; i < all->n; i++)
		for (u32 k = 0; k < (u32)t->max; k++)
			newest = MAX(newest, word_at(cell_of(all, i), k * 3));
	return newest;
}

/* The last intervals in their order: buckets {values, value}, n the number of the first one. */
static void merge_series(struct cell *c, struct arena *a, const struct type *t,
                         const struct cells *all)
{
	u64 *out = arena_array(a, u64, (u32)t->max * 2);
	u64 last = newest_interval(t, all), n = (u64)t->max;

	c->buckets = out;
	c->n_buckets = (u32)t->max;
	c->n = (s64)(last - n); /* slots hold 1 + the number */
	for (u64 k = 0; last && k < n; k++) {
		u64 number = (u64)c->n + k, newest = 0;

		for (u32 i = 0; i < all->n; i++) {
			const u8 *slot = cell_of(all, i) + number % n * 24;

			if (word_at(slot, 0) == number + 1)
				merge_slot(out + k * 2, &newest, t, slot);
		}
		if (t->bits == SERIES_AVG && out[k * 2])
			out[k * 2 + 1] = t->is_signed ? (u64)((s64)out[k * 2 + 1] / (s64)out[k * 2])
			                              : out[k * 2 + 1] / out[k * 2];
	}
}

static void merge_word(struct cell *c, struct arena *a, const struct type *t,
                       const struct cells *all)
{
	u64 n = 0;

	(void)a;
	(void)t;
	for (u32 i = 0; i < all->n; i++)
		n += word_at(cell_of(all, i), 0);
	c->n = (s64)n;
}

static void merge_average(struct cell *c, struct arena *a, const struct type *t,
                          const struct cells *all)
{
	u64 total = 0;

	merge_word(c, a, t, all);
	for (u32 i = 0; i < all->n; i++)
		total += word_at(cell_of(all, i), 1);
	c->total = (s64)total;
}

static void copy_plain(struct cell *c, struct arena *a, const struct type *t,
                       const struct cells *all)
{
	u8 *copy = arena_alloc(a, type_slot(t));

	if (all->n)
		memcpy(copy, all->p, type_slot(t));
	c->bytes = copy;
}

static void merge_parts(struct cell *c, struct arena *a, const struct type *t,
                        const struct cells *all)
{
	struct cell *parts = arena_array(a, struct cell, t->n_fields);

	for (u32 i = 0; i < t->n_fields; i++)
		cell_merge(&parts[i], a, t->fields[i].type,
		           all->n ? all->p + t->fields[i].off : NULL, all->n, all->stride);
	c->parts = parts;
}

/* ---- raw cells ---- */

static void add_some(void *to, const void *from, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		u64 sum = word_at(to, i) + word_at(from, i);

		memcpy((u8 *)to + (size_t)i * 8, &sum, sizeof(sum));
	}
}

static void add_words(const struct type *t, u8 *to, const u8 *from)
{
	add_some(to, from, type_cell(t) / 8);
}

static void keep_extreme(const struct type *t, u8 *to, const u8 *from)
{
	(void)t;
	if (word_at(from, 1) && (!word_at(to, 1) || word_at(from, 0) > word_at(to, 0)))
		memcpy(to, from, 16);
}

/* Of one interval: {1 + its number, value, how many, of SERIES_LAST when}. */
static void fold_slot(const struct type *t, u8 *to, const u8 *from)
{
	s64 value = (s64)word_at(from, 1), had = (s64)word_at(to, 1);
	bool larger = t->is_signed ? value > had : (u64)value > (u64)had;

	if (word_at(from, 0) < word_at(to, 0))
		return;
	if (word_at(from, 0) > word_at(to, 0) || !word_at(to, 2)) {
		memcpy(to, from, 24);
	} else if (!word_at(from, 2)) {
		return;
	} else if (t->bits == SERIES_LAST) {
		if (word_at(from, 2) >= word_at(to, 2))
			memcpy(to, from, 24);
	} else if (t->bits == SERIES_AVG || t->bits == SERIES_SUM) {
		add_some(to + 8, from + 8, 2);
	} else {
		if (value != had && larger == (t->bits == SERIES_MAX))
			memcpy(to + 8, &value, sizeof(value));
		add_some(to + 16, from + 16, 1);
	}
}

static void fold_series(const struct type *t, u8 *to, const u8 *from)
{
	for (u32 k = 0; k < (u32)t->max; k++)
		fold_slot(t, to + (size_t)k * 24, from + (size_t)k * 24);
}

static void fold_parts(const struct type *t, u8 *to, const u8 *from)
{
	for (u32 i = 0; i < t->n_fields; i++)
		cell_fold(t->fields[i].type, to + t->fields[i].off, from + t->fields[i].off);
}

static void take_plain(const struct type *t, u8 *to, const u8 *from)
{
	memcpy(to, from, type_slot(t));
}

/* ---- order ---- */

s64 cell_average(const struct cell *c, const struct type *t)
{
	if (!c->n)
		return 0;
	/* C division truncates toward zero. n is a count: never negative. */
	if (t->is_signed)
		return c->total / c->n;
	return (s64)((u64)c->total / (u64)c->n);
}

static u64 bucket_total(const struct cell *c)
{
	u64 n = 0;

	for (u32 i = 0; i < c->n_buckets; i++)
		n += c->buckets[i];
	return n;
}

static int word_compare(u64 a, u64 b, bool is_signed)
{
	if (is_signed) {
		a ^= SIGN_BIT;
		b ^= SIGN_BIT;
	}
	return (a > b) - (a < b);
}

static int compare_numbers(const struct cell *a, const struct cell *b, const struct type *t)
{
	return word_compare((u64)a->n, (u64)b->n, t->is_signed && t->kind != TYPE_COUNT);
}

static int compare_averages(const struct cell *a, const struct cell *b, const struct type *t)
{
	return word_compare((u64)cell_average(a, t), (u64)cell_average(b, t), t->is_signed);
}

static int compare_totals(const struct cell *a, const struct cell *b, const struct type *t)
{
	(void)t;
	return word_compare(bucket_total(a), bucket_total(b), false);
}

static int compare_parts(const struct cell *a, const struct cell *b, const struct type *t)
{
	int c = 0;

	for (u32 i = 0; i < t->n_fields && !c; i++)
		c = cell_compare(&a->parts[i], &b->parts[i], t->fields[i].type);
	return c;
}

static int compare_plain(const struct cell *a, const struct cell *b, const struct type *t)
{
	return t->kind == TYPE_INT
	               ? word_compare(word_at(a->bytes, 0), word_at(b->bytes, 0), t->is_signed)
	               : 0;
}

/* ---- kinds ---------------------------------------------------------------------------------- */

struct cell_kind {
	void (*merge)(struct cell *c, struct arena *a, const struct type *t,
	              const struct cells *all);
	/* One raw cell into another. */
	void (*fold)(const struct type *t, u8 *to, const u8 *from);
	/* NULL: all are alike. */
	int (*compare)(const struct cell *a, const struct cell *b, const struct type *t);
};

/* What is not here is no aggregation. */
static const struct cell_kind kinds[] = {
	[TYPE_COUNT] = { merge_word, add_words, compare_numbers },
	[TYPE_SUM] = { merge_word, add_words, compare_numbers },
	[TYPE_MIN] = { merge_extreme, keep_extreme, compare_numbers },
	[TYPE_MAX] = { merge_extreme, keep_extreme, compare_numbers },
	[TYPE_AVG] = { merge_average, add_words, compare_averages },
	[TYPE_STATS] = { merge_average, add_words, compare_averages },
	[TYPE_HIST] = { merge_buckets, add_words, compare_totals },
	[TYPE_LHIST] = { merge_buckets, add_words, compare_totals },
	[TYPE_TSERIES] = { merge_series, fold_series, NULL },
	[TYPE_AGGS] = { merge_parts, fold_parts, compare_parts },
};

static const struct cell_kind plain = { copy_plain, take_plain, compare_plain };

static const struct cell_kind *kind_of(const struct type *t)
{
	return type_is_agg(t) ? &kinds[t->kind] : &plain;
}

void cell_merge(struct cell *c, struct arena *a, const struct type *t, const void *cells,
                u32 n_cells, u32 stride)
{
	const struct cells all = { cells, n_cells, stride };

	memset(c, 0, sizeof(*c));
	kind_of(t)->merge(c, a, t, &all);
}

void cell_fold(const struct type *t, void *to, const void *from)
{
	kind_of(t)->fold(t, to, from);
}

int cell_compare(const struct cell *a, const struct cell *b, const struct type *t)
{
	const struct cell_kind *k = kind_of(t);

	return k->compare ? k->compare(a, b, t) : 0;
}
