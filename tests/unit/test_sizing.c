/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is said of a cache's size, and the script that is made to find it out. */
#include "cache/sizing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "view/cachesize.h"

static const char *printed(void (*print)(struct buf *b, double n), double n)
{
	static char text[64];
	struct buf b = { 0 };

	print(&b, n);
	snprintf(text, sizeof(text), "%s", buf_text(&b));
	buf_free(&b);
	return text;
}

static void test_numbers(void **state)
{
	(void)state;
	assert_string_equal(printed(sizing_print_count, 0), "0");
	assert_string_equal(printed(sizing_print_count, 999.6), "1,000");
	assert_string_equal(printed(sizing_print_count, 1234567), "1,234,567");
	assert_string_equal(printed(sizing_print_bytes, 0), "0 B");
	assert_string_equal(printed(sizing_print_bytes, 1023), "1023 B");
	assert_string_equal(printed(sizing_print_bytes, 1023.7), "1.0 KiB");
	assert_string_equal(printed(sizing_print_bytes, 15.4 * 1024 * 1024), "15 MiB");
	assert_string_equal(printed(sizing_print_bytes, 1e30), "867361737988 EiB");
}

static struct sizing *sizing_new(void)
{
	struct sizing *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	return s;
}

static void test_table(void **state)
{
	struct sizing *s = sizing_new();
	struct sizing_memory rows[SIZING_ROWS];

	(void)state;
	for (u32 i = 0; i < 100; i++)
		sizes_add(&s->sizes, i < 98 ? 100 : 200, 1);
	s->o = (struct sizing_options){ .alloc = ALLOC_NONE, .overhead = 50, .entries = 2000000 };
	assert_int_equal(sizing_memory(s, rows), 5);
	assert_int_equal(rows[4].entries, 2000000);
	assert_true(rows[0].mean == 1000 * 152.0 && rows[0].p95 == 150000);
	assert_true(rows[4].p99 == 2000000 * 250.0);
	s->o.entries = 500;
	assert_int_equal(sizing_memory(s, rows), 5);
	assert_int_equal(rows[0].entries, 500);
	s->o.entries = 10000; /* is there anyway */
	assert_int_equal(sizing_memory(s, rows), 4);
	s->o.limit = 15200;
	assert_true(sizing_fits(s).mean == 100 && sizing_fits(s).p95 == 101 &&
	            sizing_fits(s).p99 == 60);
	s->o = (struct sizing_options){ .alloc = ALLOC_GLIBC, .overhead = 50 };
	assert_int_equal(sizing_taken(s, 100), 160);
	assert_true(sizing_taken(s, UINT64_MAX) == UINT64_MAX);
	free(s);
}

/* Nothing was put in; one key; keys that never came again: all is said without dividing by 0. */
static void test_little(void **state)
{
	struct shards_options o = { 0 };
	struct err e = { 0 };
	struct sizing *s = sizing_new();
	struct sizing_point points[SIZING_POINTS];
	struct buf b = { 0 };

	(void)state;
	s->o.limit = 5;
	s->shards = shards_new(&o, &e);
	for (u32 i = 0; i < 4; i++) {
		sizing_text(&b, s);
		sizing_tree(&(struct tree){ .b = &b, .ops = &tree_json }, s);
		sizing_svg(&b, s);
		assert_int_equal(sizing_curve(s, points), 0);
		shards_use(s->shards, hash_mix(i + 1), 10, SHARDS_GET);
		sizes_add(&s->sizes, 0, 1);
	}
	assert_non_null(strstr(buf_text(&b), "0 entries were put in\n"));
	assert_non_null(strstr(buf_text(&b), ": 0 uses of 0 keys\nNo key was used twice"));
	assert_null(strstr(buf_text(&b), "nan"));
	assert_null(strstr(buf_text(&b), "inf"));
	assert_null(strstr(buf_text(&b), "not seen"));
	s->has_hits = true;
	s->unseen = 1318;
	sizing_text(&b, s);
	assert_non_null(
		strstr(buf_text(&b), "1,318 replies not seen: lookups without one are uses"));
	shards_use(s->shards, hash_mix(1), 10, SHARDS_GET);
	assert_true(sizing_curve(s, points) >= 3);
	buf_reset(&b);
	sizing_svg(&b, s);
	assert_null(strstr(buf_text(&b), "nan"));
	buf_free(&b);
	shards_free(s->shards);
	free(s);
}

/* Points go up, and the marked ones are among them. */
static void test_curve(void **state)
{
	struct shards_options o = { 0 };
	struct err e = { 0 };
	struct sizing *s = sizing_new();
	struct sizing_point points[SIZING_POINTS];
	u32 n, marked = 0;

	(void)state;
	s->shards = shards_new(&o, &e);
	for (u64 i = 0; i < 50000; i++) {
		u64 r = hash_mix(i + 1) % 3000;

		shards_use(s->shards, hash_mix(1 + r * r / 3000), 100, SHARDS_GET);
	}
	n = sizing_curve(s, points);
	assert_in_range(n, 8, SIZING_POINTS);
	for (u32 i = 0; i < n; i++) {
		assert_true(!i || points[i].entries >= points[i - 1].entries);
		assert_true(!i || points[i].hits >= points[i - 1].hits);
		/* All entries have one size. */
		assert_true(points[i].bytes < points[i].entries * 100 * 1.02 &&
		            points[i].bytes > (points[i].entries - 2) * 100 * 0.98);
		marked += points[i].mark != NULL;
	}
	assert_int_equal(marked, 3);
	shards_free(s->shards);
	free(s);
}

static bool has(const struct cachesize_options *o, const char *part)
{
	struct buf b = { 0 };
	bool found;

	cachesize_script(&b, o);
	found = strstr(buf_text(&b), part);
	buf_free(&b);
	return found;
}

static void test_script(void **state)
{
	struct cachesize_options o = { .put = "uprobe:./a:f", .size = " value.len" };

	(void)state;
	assert_true(has(&o, "$size = (uint64)(args.value.len);"));
	assert_false(has(&o, "@threshold"));
	o.size = "arg2 + 8";
	o.key = "str(arg0, arg1)";
	assert_true(has(&o, "$size = (uint64)(arg2 + 8);"));
	assert_true(has(&o, "$hash = hash(str(arg0, arg1));"));
	o.key = "name,f(arg0, 2)";
	assert_true(has(&o, "$hash = hash(str(args.name, f(arg0, 2)));"));
	o.size = "sizeof(struct x)";
	o.get = "uprobe:./a:g";
	o.duration = 5;
	assert_true(has(&o, "(uint64)(sizeof(struct x));"));
	assert_true(has(&o, "\nuprobe:./a:g {\n"));
	assert_true(has(&o, "interval:s:5 {"));
}

static void test_bytes(void **state)
{
	static const char *const wrong[] = {
		"", "M", "-1", "1KB", "1.5M", "20000000T", "99999999999999999999", " 1"
	};
	struct err e = { 0 };
	u64 n;

	(void)state;
	assert_true(cachesize_bytes("10M", "limit", &n, &e));
	assert_int_equal(n, 10 << 20);
	assert_true(cachesize_bytes("7", "limit", &n, &e));
	assert_int_equal(n, 7);
	assert_true(cachesize_bytes("2t", "limit", &n, &e));
	assert_int_equal(n, 2ull << 40);
	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(cachesize_bytes(wrong[i], "limit", &n, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_table),
		cmocka_unit_test(test_little),  cmocka_unit_test(test_curve),
		cmocka_unit_test(test_script),  cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
