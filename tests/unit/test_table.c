/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Merging of per-CPU cells and the order of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "agg/table.h"
#include "unit/bucket.h"

#define SIGN_BIT (1ull << 63)

static struct arena arena;

static struct cell merge(const struct type *t, const u64 *words, u32 n_cells)
{
	struct cell c;

	cell_merge(&c, &arena, t, words, n_cells, type_cell(t));
	return c;
}

static void test_count_and_sum(void **state)
{
	struct type sum = { .kind = TYPE_SUM, .size = 8, .is_signed = true };
	struct type count = { .kind = TYPE_COUNT, .size = 8 };
	const u64 words[] = { 3, (u64)-5, 10 };

	(void)state;
	assert_int_equal(merge(&sum, words, 3).n, 8);
	assert_int_equal(merge(&count, (u64[]){ 250000, 0, 750000 }, 3).n, 1000000);
	assert_int_equal(merge(&count, NULL, 0).n, 0);
}

static void test_extremes(void **state)
{
	struct type max = { .kind = TYPE_MAX, .size = 16 }, min = { .kind = TYPE_MIN, .size = 16 };
	struct cell c;

	(void)state;
	c = merge(&max, (u64[]){ 5, 1, 9, 1, 100, 0 }, 3);
	assert_true(c.set);
	assert_int_equal(c.n, 9);
	c = merge(&min, (u64[]){ ~5ull, 1, ~9ull, 1, 0, 0 }, 3);
	assert_int_equal(c.n, 5);
	max.is_signed = min.is_signed = true;
	c = merge(&max, (u64[]){ (u64)-7 ^ SIGN_BIT, 1, (u64)-3 ^ SIGN_BIT, 1 }, 2);
	assert_int_equal(c.n, -3);
	c = merge(&min, (u64[]){ ~((u64)-7 ^ SIGN_BIT), 1, ~(3 ^ SIGN_BIT), 1 }, 2);
	assert_int_equal(c.n, -7);
	c = merge(&min, (u64[]){ 0, 0 }, 1);
	assert_false(c.set);
	assert_int_equal(c.n, 0);
}

static void test_average(void **state)
{
	struct type avg = { .kind = TYPE_AVG, .size = 16, .is_signed = true };
	struct cell c = merge(&avg, (u64[]){ 1, (u64)-4, 1, (u64)-3 }, 2);

	(void)state;
	assert_int_equal(c.n, 2);
	assert_int_equal(c.total, -7);
	assert_int_equal(cell_average(&c, &avg), -3);
	avg.is_signed = false;
	c = merge(&avg, (u64[]){ 2, UINT64_MAX }, 1);
	assert_true((u64)cell_average(&c, &avg) == UINT64_MAX / 2);
	c = merge(&avg, (u64[]){ 0, 0 }, 1);
	assert_int_equal(cell_average(&c, &avg), 0);
}

static void test_buckets(void **state)
{
	struct type lhist = { .kind = TYPE_LHIST, .min = 0, .max = 20, .step = 10 };
	struct cell c = merge(&lhist, (u64[]){ 1, 2, 3, 4, 10, 20, 30, 40 }, 2);

	(void)state;
	assert_int_equal(c.n_buckets, 4);
	assert_int_equal(c.buckets[0], 11);
	assert_int_equal(c.buckets[3], 44);
}

/* Fills a table with 64-bit keys and plain one-word values. */
static void fill(struct table *t, const struct umap *m, const u64 (*rows)[2], u32 n)
{
	table_init(t, &arena, NULL, m);
	for (u32 i = 0; i < n; i++)
		table_add(t, &rows[i][0], &rows[i][1], 1);
	table_sort(t);
}

static u64 key_of(const struct table *t, u32 i)
{
	u64 k;

	memcpy(&k, t->rows.v[i].key, sizeof(k));
	return k;
}

static void test_order_by_value(void **state)
{
	struct umap m = {
		.name = "@x", .key = &type_u64, .value = &type_s64, .key_size = 8, .value_size = 8
	};
	static const u64 rows[][2] = { { 4, 7 }, { 3, 7 }, { 2, (u64)-5 }, { 1, 100 } };
	struct table t;

	(void)state;
	fill(&t, &m, rows, 4);
	assert_int_equal(key_of(&t, 0), 2);
	assert_int_equal(key_of(&t, 1), 3);
	assert_int_equal(key_of(&t, 2), 4);
	assert_int_equal(key_of(&t, 3), 1);
	m.value = &type_u64;
	fill(&t, &m, rows, 4);
	assert_int_equal(key_of(&t, 3), 2);
	assert_int_equal(table_first(&t, 0), 0);
	assert_int_equal(table_first(&t, 3), 1);
	assert_int_equal(table_first(&t, 9), 0);
}

static void test_order_by_key(void **state)
{
	const struct type *str = type_str(&arena, 8, true);
	const struct type *key = type_tuple(&arena, (const struct type *[]){ &type_s8, str }, 2);
	struct umap m = { .name = "@x", .key = key, .value = str, .key_size = 16, .value_size = 8 };
	static const struct {
		s64 n;
		char text[8];
	} keys[] = { { 7, "b" }, { -5, "z" }, { 7, "a" } };
	struct table t;

	(void)state;
	table_init(&t, &arena, NULL, &m);
	for (u32 i = 0; i < 3; i++)
		table_add(&t, &keys[i], "value\0\0", 1);
	table_sort(&t);
	assert_int_equal((s64)key_of(&t, 0), -5);
	assert_string_equal((const char *)t.rows.v[1].key + 8, "a");
	assert_string_equal((const char *)t.rows.v[2].key + 8, "b");
	assert_string_equal((const char *)t.rows.v[0].value.bytes, "value");
}

/* Two keys of 24 bytes with equal values, whichever comes first. */
static void in_order(const struct type *key, const void *first, const void *second)
{
	struct umap m = {
		.name = "@x", .key = key, .value = &type_s64, .key_size = 24, .value_size = 8
	};
	struct table t;

	for (u32 i = 0; i < 2; i++) {
		table_init(&t, &arena, NULL, &m);
		table_add(&t, i ? first : second, &(u64){ 1 }, 1);
		table_add(&t, i ? second : first, &(u64){ 1 }, 1);
		table_sort(&t);
		assert_memory_equal(t.rows.v[0].key, first, 24);
		assert_memory_equal(t.rows.v[1].key, second, 24);
	}
}

struct bytes_key {
	u64 n;
	char bytes[16];
};

static void test_order_of_kinds(void **state)
{
	const struct type *buf = type_buf(&arena, 16);
	const struct type *inet = type_plain(&arena, TYPE_INET);

	(void)state;
	in_order(buf, &(struct bytes_key){ 9, "a" }, &(struct bytes_key){ 1, "b" });
	in_order(buf, &(struct bytes_key){ 1, "a" }, &(struct bytes_key){ 2, "a" });
	in_order(inet, &(struct bytes_key){ 2, "a" }, &(struct bytes_key){ 2, "b" });
	in_order(type_array(&arena, &type_s8, 24), (char[24]){ "\1\xff" }, (char[24]){ "\1\1" });
	in_order(type_array(&arena, &type_u8, 24), (char[24]){ "\1\1" }, (char[24]){ "\1\xff" });
	in_order(type_array(&arena, &type_s32, 6), (s32[6]){ 5, 1, -1 }, (s32[6]){ 5, 1, 1 });
	in_order(type_array(&arena, type_array(&arena, &type_s8, 3), 8), (char[24]){ "\1\1" },
	         (char[24]){ "\1\xff" });
	in_order(type_str(&arena, 24, false), (char[24]){ "ab" }, (char[24]){ "b" });
	in_order(type_stack(&arena, TYPE_STACK, STACK_BPFTRACE, 9), (u64[3]){ 1, 2, 3 },
	         (u64[3]){ 1, 2, 4 });
}

/* Raw cells of one kind into each other, as what was taken out of a map is kept. */
static void test_fold(void **state)
{
	struct type hist = { .kind = TYPE_HIST }, max = { .kind = TYPE_MAX, .size = 16 };
	struct type avg = { .kind = TYPE_AVG, .size = 16 };
	struct type last = { .kind = TYPE_TSERIES, .max = 2, .bits = SERIES_LAST };
	struct type least = { .kind = TYPE_TSERIES, .max = 1, .bits = SERIES_MIN };
	u64 *many = arena_array(&arena, u64, type_cell(&hist) / 8);
	u32 n = type_cell(&hist) / 8;
	u64 to[6] = { 1, 5 };

	(void)state;
	cell_fold(&avg, to, (u64[]){ 2, 7 });
	assert_memory_equal(to, ((u64[]){ 3, 12 }), 16);
	cell_fold(&max, to, (u64[]){ 9, 0 });
	cell_fold(&max, to, (u64[]){ 4, 1 });
	cell_fold(&max, to, (u64[]){ 2, 1 });
	assert_memory_equal(to, ((u64[]){ 4, 1 }), 16);
	many[0] = 1;
	many[n - 1] = 2;
	cell_fold(&hist, many, many);
	assert_int_equal(many[0] + many[n - 1], 6);
	cell_fold(&type_s64, to, (u64[]){ 8 });
	assert_int_equal(to[0], 8);
	/* {1 + number of the interval, value, time}: the newer interval, in it what came later */
	memcpy(to, (u64[]){ 5, 10, 100, 4, 11, 90 }, sizeof(to));
	cell_fold(&last, to, (u64[]){ 5, 20, 99, 6, 21, 10 });
	assert_memory_equal(to, ((u64[]){ 5, 10, 100, 6, 21, 10 }), 48);
	cell_fold(&last, to, (u64[]){ 5, 20, 101, 4, 22, 200 });
	assert_memory_equal(to, ((u64[]){ 5, 20, 101, 6, 21, 10 }), 48);
	cell_fold(&least, to, (u64[]){ 5, 7, 2, 9 });
	assert_memory_equal(to, ((u64[]){ 5, 7, 103, 6 }), 32);
	cell_fold(&least, to, (u64[]){ 5, 9, 0, 9 });
	assert_memory_equal(to, ((u64[]){ 5, 7, 103, 6 }), 32);
}

/* The interval of two CPUs: {1 + its number, value, how many}. */
static void test_series(void **state)
{
	struct type t = { .kind = TYPE_TSERIES, .max = 1, .bits = SERIES_SUM };
	struct cell c = merge(&t, (u64[]){ 4, 5, 1, 4, 7, 2 }, 2);

	(void)state;
	assert_int_equal(c.n, 3);
	assert_int_equal(c.n_buckets, 1);
	assert_memory_equal(c.buckets, ((u64[]){ 3, 12 }), 16);
	t.bits = SERIES_AVG;
	assert_int_equal(merge(&t, (u64[]){ 4, 5, 1, 4, 7, 2 }, 2).buckets[1], 4);
	t.bits = SERIES_MAX;
	assert_int_equal(merge(&t, (u64[]){ 4, 5, 1, 4, 7, 2 }, 2).buckets[1], 7);
	t.bits = SERIES_MIN;
	assert_int_equal(merge(&t, (u64[]){ 4, 5, 1, 4, 7, 2 }, 2).buckets[1], 5);
	/* A value of 0 is one, too: both ways around, of three CPUs, the last of which has none. */
	t.is_signed = true;
	assert_int_equal(merge(&t, (u64[]){ 4, 0, 1, 4, 5, 1, 4, 0, 0 }, 3).buckets[1], 0);
	t.bits = SERIES_MAX;
	assert_int_equal(merge(&t, (u64[]){ 4, 0, 1, 4, (u64)-5, 1, 4, 9, 0 }, 3).buckets[1], 0);
	t.is_signed = false;
	t.bits = SERIES_LAST;
	assert_int_equal(merge(&t, (u64[]){ 4, 5, 9, 4, 7, 2 }, 2).buckets[1], 5);
	c = merge(&t, (u64[]){ 3, 5, 9, 4, 7, 2 }, 2); /* the older one is over */
	assert_memory_equal(c.buckets, ((u64[]){ 1, 7 }), 16);
}

/* Room for more rows leaves those that there are. */
static void test_reserve(void **state)
{
	struct table t = { .arena = &arena };
	struct row row = { .key = (const u8 *)"key" };

	(void)state;
	vec_add(&arena, &t.rows, row);
	table_reserve(&t, 1);
	table_reserve(&t, 1000);
	assert_int_equal(t.rows.n, 1);
	assert_string_equal((const char *)t.rows.v[0].key, "key");
	assert_true(t.rows.cap >= 1000);
}

static void test_compare(void **state)
{
	struct type sum = { .kind = TYPE_SUM, .size = 8, .is_signed = true };
	struct type count = { .kind = TYPE_COUNT, .size = 8, .is_signed = true };
	struct type avg = { .kind = TYPE_AVG, .size = 16 };
	struct type series = { .kind = TYPE_TSERIES, .max = 1 };
	struct cell a, b;

	(void)state;
	a = merge(&sum, (u64[]){ (u64)-1 }, 1);
	b = merge(&sum, (u64[]){ 1 }, 1);
	assert_true(cell_compare(&a, &b, &sum) < 0);
	assert_true(cell_compare(&b, &a, &sum) > 0);
	assert_true(cell_compare(&a, &b, &count) > 0);
	assert_int_equal(cell_compare(&a, &a, &sum), 0);
	a = merge(&avg, (u64[]){ 10, 30 }, 1);
	b = merge(&avg, (u64[]){ 1, 4 }, 1);
	assert_true(cell_compare(&a, &b, &avg) < 0);
	a = merge(&series, (u64[]){ 1, 2, 3 }, 1);
	assert_int_equal(cell_compare(&a, &a, &series), 0);
}

static void test_scalar(void **state)
{
	struct type count = { .kind = TYPE_COUNT, .size = 8 };
	struct umap m = { .name = "@x", .value = &count, .value_size = 8 };
	struct table t;

	(void)state;
	table_init(&t, &arena, NULL, &m);
	table_add(&t, "\0\0\0", (u64[]){ 1, 2 }, 2);
	table_sort(&t);
	assert_null(t.rows.v[0].key);
	assert_int_equal(t.rows.v[0].value.n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count_and_sum),  cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_average),        cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_order_by_value), cmocka_unit_test(test_order_by_key),
		cmocka_unit_test(test_order_of_kinds), cmocka_unit_test(test_fold),
		cmocka_unit_test(test_series),         cmocka_unit_test(test_compare),
		cmocka_unit_test(test_scalar),         cmocka_unit_test(test_reserve),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_free(&arena);
	return failed;
}
