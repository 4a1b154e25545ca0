/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows kept outside of the kernel: folding raw cells one by one gives what merging them all at once
 * gives, for all kinds of values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agg/held.h"

#define CELLS 5u

static struct arena arena;

static const struct type sum = { .kind = TYPE_SUM, .size = 8, .is_signed = true },
			 low = { .kind = TYPE_MIN, .size = 16 },
			 mean = { .kind = TYPE_AVG, .size = 16 };
static const struct field fields[] = {
	{ .name = "low", .type = &low },
	{ .name = "sum", .type = &sum, .off = 16 },
	{ .name = "mean", .type = &mean, .off = 24 },
};

static const struct type types[] = {
	{ .kind = TYPE_COUNT, .size = 8 },
	{ .kind = TYPE_SUM, .size = 8, .is_signed = true },
	{ .kind = TYPE_MIN, .size = 16 },
	{ .kind = TYPE_MIN, .size = 16, .is_signed = true },
	{ .kind = TYPE_MAX, .size = 16 },
	{ .kind = TYPE_MAX, .size = 16, .is_signed = true },
	{ .kind = TYPE_AVG, .size = 16, .is_signed = true },
	{ .kind = TYPE_STATS, .size = 16 },
	{ .kind = TYPE_HIST },
	{ .kind = TYPE_LHIST, .min = 0, .max = 100, .step = 10 },
	{ .kind = TYPE_TSERIES, .max = 4, .step = 1, .bits = SERIES_LAST },
	{ .kind = TYPE_TSERIES, .max = 4, .step = 1, .bits = SERIES_AVG, .is_signed = true },
	{ .kind = TYPE_TSERIES, .max = 4, .step = 1, .bits = SERIES_MAX, .is_signed = true },
	{ .kind = TYPE_TSERIES, .max = 4, .step = 1, .bits = SERIES_MIN },
	{ .kind = TYPE_TSERIES, .max = 4, .step = 1, .bits = SERIES_SUM },
	{ .kind = TYPE_AGGS, .size = 40, .fields = fields, .n_fields = ARRAY_SIZE(fields) },
};

/* As programs leave them: a slot of a series is of an interval whose number belongs there. */
static void fill_cell(const struct type *t, u64 *cell, u32 seed)
{
	u32 n = type_cell(t) / 8;

	srand(seed);
	for (u32 i = 0; i < n; i++)
		cell[i] = (u64)rand() % 1000;
	if (t->kind == TYPE_MIN || t->kind == TYPE_MAX || t->kind == TYPE_AGGS)
		cell[1] = cell[0] & 1;
	if (seed % 4 == 3)
		memset(cell, 0, (size_t)n * 8);
	for (u32 slot = 0; t->kind == TYPE_TSERIES && slot < 4; slot++) {
		cell[slot * 3] = 1 + slot + 4 * (u64)(rand() % 3);
		cell[slot * 3 + 1] -= t->is_signed ? 500 : 0;
		cell[slot * 3 + 2] %= t->bits == SERIES_LAST ? 1000 : 3;
	}
}

static void assert_same(const struct cell *a, const struct cell *b)
{
	assert_true(a->n == b->n);
	assert_true(a->total == b->total);
	assert_int_equal(a->set, b->set);
	assert_int_equal(a->n_buckets, b->n_buckets);
	if (a->n_buckets)
		assert_memory_equal(a->buckets, b->buckets, (size_t)a->n_buckets * 8);
}

static void assert_same_value(const struct type *t, const struct cell *a, const struct cell *b)
{
	assert_same(a, b);
	for (u32 i = 0; t->kind == TYPE_AGGS && i < t->n_fields; i++)
		assert_same(&a->parts[i], &b->parts[i]);
}

static void check_fold(const struct type *t, u32 seed)
{
	u32 words = type_cell(t) / 8;
	u64 *cells = calloc((size_t)CELLS * words, 8), *one = calloc(words, 8);
	struct cell all, folded;

	for (u32 i = 0; i < CELLS; i++) {
		fill_cell(t, cells + (size_t)i * words, seed * CELLS + i);
		cell_fold(t, one, cells + (size_t)i * words);
	}
	cell_merge(&all, &arena, t, cells, CELLS, words * 8);
	cell_merge(&folded, &arena, t, one, 1, words * 8);
	assert_same_value(t, &all, &folded);
	free(cells);
	free(one);
}

static void test_folding_is_merging(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(types); i++)
		for (u32 seed = 0; seed < 200; seed++)
			check_fold(&types[i], seed);
}

static struct umap count_map(const struct type *key)
{
	return (struct umap){
		.name = "@x", .key = key, .key_size = 8, .value = &types[0], .value_size = 8
	};
}

static u64 held_count(const struct held *h, u64 key)
{
	const u64 *cell = held_find(h, &key);

	return cell ? *cell : UINT64_MAX;
}

/* In any order, with what is added meanwhile; the memory of removed rows comes back. */
static void test_removing(void **state)
{
	struct umap m = count_map(&type_u64);
	bool there[512] = { false };
	u32 n = 0;
	struct held h;

	(void)state;
	held_init(&h, &m);
	srand(1);
	for (u32 i = 0; i < 50000; i++) {
		u64 key = (u64)rand() % ARRAY_SIZE(there);

		if (rand() % 3 && i < 49000) {
			held_add(&h, &key, (u64[]){ 1 }, 1);
			n += !there[key];
			there[key] = true;
			continue;
		}
		assert_int_equal(held_remove(&h, &key), there[key]);
		n -= there[key];
		there[key] = false;
		assert_int_equal(h.n, n);
		assert_in_range(h.unused, 0, h.bytes);
		for (key = 0; i % 100 == 0 && key < ARRAY_SIZE(there); key++)
			assert_int_equal(held_find(&h, &key) != NULL, there[key]);
	}
	for (u64 key = 0; key < ARRAY_SIZE(there); key++)
		held_remove(&h, &key);
	assert_true(held_is_empty(&h));
	assert_int_equal(h.bytes, 0);
	held_free(&h);
}

static void test_rows(void **state)
{
	struct umap m = count_map(&type_u64);
	struct held h, other;

	(void)state;
	held_init(&h, &m);
	held_init(&other, &m);
	assert_true(held_is_empty(&h));
	for (u64 key = 0; key < 1000; key++)
		held_add(&h, &key, (u64[]){ key, 1 }, 2);
	for (u64 key = 500; key < 1500; key++)
		held_add(&other, &key, (u64[]){ 7 }, 1);
	held_add_all(&h, &other);
	assert_int_equal(held_count(&h, 3), 4);
	assert_int_equal(held_count(&h, 999), 1007);
	assert_int_equal(held_count(&h, 1499), 7);
	assert_true(held_count(&h, 1500) == UINT64_MAX);
	held_clear(&h, true);
	assert_int_equal(held_count(&h, 999), 0);
	held_clear(&h, false);
	assert_true(held_is_empty(&h));
	held_free(&other);
}

/* As full as it gets before it grows, whichever keys come: each has a place. */
static void test_nearly_full(void **state)
{
	struct umap m = count_map(&type_u64);

	(void)state;
	for (u64 first = 0; first < 100000; first += 100) {
		struct held h;

		held_init(&h, &m);
		for (u64 key = first; key < first + 48; key++)
			held_add(&h, &key, (u64[]){ key }, 1);
		for (u64 key = first; key < first + 48; key++)
			assert_int_equal(held_count(&h, key), key);
		held_free(&h);
	}
}

/* All rows of a map without key are one. */
static void test_without_key(void **state)
{
	struct umap m = count_map(NULL);
	struct table t;
	struct held h;

	(void)state;
	held_init(&h, &m);
	held_add(&h, (u32[]){ 0 }, (u64[]){ 5 }, 1);
	held_add(&h, (u32[]){ 1 }, (u64[]){ 6 }, 1);
	table_init(&t, &arena, NULL, &m);
	held_rows(&h, &t);
	assert_int_equal(t.rows.n, 1);
	assert_int_equal(t.rows.v[0].value.n, 11);
	held_free(&h);
}

/* A bucket that the histogram does not have is no reason to write after it. */
static void test_wrong_bucket(void **state)
{
	struct umap m = count_map(&type_u64);
	u64 record[] = { 0, 0, 0, 2, 0, 4 }; /* the third from the end: the bucket's number */
	const struct unit_spill *spill = (const void *)record;
	const u64 *cell;
	struct held h;

	(void)state;
	m.value = &types[9];
	m.value_size = type_cell(m.value);
	held_init(&h, &m);
	assert_int_equal(unit_spill_key(m.value), 5 * 8);
	held_spill(&h, spill);
	record[3] = m.value_size / 8;
	held_spill(&h, spill);
	cell = held_find(&h, &record[5]);
	for (u32 i = 0; i < m.value_size / 8; i++)
		assert_int_equal(cell[i], i == 2);
	held_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folding_is_merging), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_removing),           cmocka_unit_test(test_nearly_full),
		cmocka_unit_test(test_without_key),        cmocka_unit_test(test_wrong_bucket),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_free(&arena);
	return failed;
}
