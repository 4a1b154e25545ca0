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
	u->source = "abc\n\nde";
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 line, column;

		unit_line(u, rows[i].off, &line, &column);
		assert_int_equal(line, rows[i].line);
		assert_int_equal(column, rows[i].column);
	}
	unit_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_free),
		cmocka_unit_test(test_map_by_role),
		cmocka_unit_test(test_kind_names),
		cmocka_unit_test(test_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
