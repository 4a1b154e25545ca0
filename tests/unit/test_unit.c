/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A unit's life, finding maps by role, and lines of byte offsets. */
#include "unit/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_new_free(void **state)
{
	struct unit *u = unit_new();

	(void)state;
	assert_string_equal(u->source, "");
	for (u32 i = 0; i < 100; i++)
		assert_non_null(arena_alloc(&u->arena, 1000));
	unit_free(u);
	unit_free(NULL);
}

static void test_map_by_role(void **state)
{
	struct unit *u = unit_new();
	struct umap user = { .name = "@x", .role = UMAP_USER };
	struct umap ring = { .name = "ring", .role = UMAP_RING };

	(void)state;
	assert_int_equal(unit_map(u, UMAP_RING), -1);
	vec_add(&u->arena, &u->maps, user);
	vec_add(&u->arena, &u->maps, ring);
	assert_int_equal(unit_map(u, UMAP_RING), 1);
	assert_int_equal(unit_map(u, UMAP_USER), 0);
	assert_int_equal(unit_map(u, UMAP_DATA), -1);
	unit_free(u);
}

static void test_kind_names(void **state)
{
	(void)state;
	for (u32 k = ATTACH_BEGIN; k <= ATTACH_TEST; k++)
		assert_string_not_equal(attach_kind_name(k), "unknown");
	assert_string_equal(attach_kind_name(ATTACH_PROFILE), "profile");
	assert_string_equal(attach_kind_name(ATTACH_TEST + 1), "unknown");
}

static void test_line(void **state)
{
	static const struct {
		u32 off, line, column;
	} rows[] = {
		{ 0, 1, 1 }, { 2, 1, 3 }, { 3, 1, 4 }, { 4, 2, 1 }, { 5, 3, 1 }, { 99, 3, 3 }
	};
	struct unit *u = unit_new();

	(void)state;
	unit_set_source(u, "stdin", "abc\n\nde");
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 line, column;

		unit_line(u, rows[i].off, &line, &column);
		assert_int_equal(line, rows[i].line);
		assert_int_equal(column, rows[i].column);
	}
	unit_free(u);
}

/* The script's own text comes first, then each import's, whose lines are counted from 1 again. */
static void test_imports(void **state)
{
	static const struct {
		u32 off;
		const char *file;
		u32 line, column;
	} rows[] = {
		{ 0, "s.bt", 1, 1 },  { 3, "s.bt", 2, 1 },  { 5, "s.bt", 2, 3 },
		{ 6, "a.bt", 1, 1 },  { 8, "a.bt", 2, 1 },  { 9, "a.bt", 2, 2 },
		{ 10, "b.bt", 1, 1 }, { 11, "b.bt", 1, 2 },
	};
	static const struct usource imports[] = { { .off = 6, .name = "a.bt" },
		                                  { .off = 10, .name = "b.bt" } };
	struct unit *u = unit_new();

	(void)state;
	unit_set_source(u, "s.bt",
	                "ab\ncd\n"
	                "x\ny\n"
	                "zz");
	for (u32 i = 0; i < ARRAY_SIZE(imports); i++)
		vec_add(&u->arena, &u->imports, imports[i]);
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 line, column;

		unit_line(u, rows[i].off, &line, &column);
		assert_string_equal(unit_file(u, rows[i].off), rows[i].file);
		assert_int_equal(line, rows[i].line);
		assert_int_equal(column, rows[i].column);
	}
	unit_free(u);
}

/* A value without key has a word that says whether it was ever set, unless that shows in it. */
static void test_set_word(void **state)
{
	struct unit *u = unit_new();
	const struct type *count = type_plain(&u->arena, TYPE_COUNT);
	const struct type *sum = type_plain(&u->arena, TYPE_SUM);
	struct field parts[2] = { { .type = sum }, { .type = sum } };
	struct type aggs = { .kind = TYPE_AGGS, .fields = parts, .n_fields = 2 };

	(void)state;
	assert_true(unit_has_set(NULL, &type_s64) && unit_has_set(NULL, sum));
	assert_false(unit_has_set(NULL, count));
	assert_false(unit_has_set(&type_s64, &type_s64) || unit_has_set(&type_s64, sum));
	assert_int_equal(unit_element(NULL, &type_s64), 16);
	assert_int_equal(unit_element(&type_s64, &type_s64), 8);
	assert_int_equal(unit_element(NULL, count), 8);
	assert_true(unit_has_set(NULL, &aggs));
	parts[0].type = count;
	assert_false(unit_has_set(NULL, &aggs));
	parts[0].type = sum;
	parts[1].type = count;
	assert_false(unit_has_set(NULL, &aggs));
	unit_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_free),   cmocka_unit_test(test_map_by_role),
		cmocka_unit_test(test_kind_names), cmocka_unit_test(test_line),
		cmocka_unit_test(test_imports),    cmocka_unit_test(test_set_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
