/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Types: their sizes at rest, equality, and names as the user would write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/bucket.h"
#include "unit/type.h"

static struct arena arena;

static void test_slots(void **state)
{
	const struct type *parts[] = { &type_u8, type_str(&arena, 5, true),
		                       type_plain(&arena, TYPE_USYM) };
	const struct type *tuple = type_tuple(&arena, parts, 3);

	(void)state;
	assert_int_equal(type_slot(&type_u8), 8);
	assert_int_equal(type_slot(&type_bool), 8);
	assert_int_equal(type_slot(&type_none), 8);
	assert_int_equal(type_slot(type_str(&arena, 1024, false)), 1024);
	assert_int_equal(type_slot(type_buf(&arena, 5)), 16);
	assert_int_equal(type_slot(type_array(&arena, &type_u16, 5)), 16);
	assert_int_equal(type_slot(tuple), 8 + 8 + 16);
	assert_int_equal(tuple->fields[2].off, 16);
	assert_int_equal(type_slot(type_stack(&arena, TYPE_USTACK, STACK_RAW, 3)), 16);
	assert_int_equal(type_slot(type_plain(&arena, TYPE_INET)), 24);
}

static void test_cells(void **state)
{
	struct type hist = { .kind = TYPE_HIST, .bits = 2 };
	struct type lhist = { .kind = TYPE_LHIST, .min = 0, .max = 100, .step = 10 };

	(void)state;
	assert_int_equal(type_cell(&type_s64), 8);
	assert_int_equal(type_cell(type_plain(&arena, TYPE_COUNT)), 8);
	assert_int_equal(type_cell(type_plain(&arena, TYPE_MIN)), 16);
	assert_int_equal(type_cell(type_plain(&arena, TYPE_AVG)), 16);
	assert_int_equal(type_cell(&hist), bucket_hist_count(2) * 8);
	assert_int_equal(type_cell(&lhist), 12 * 8);
}

static void test_names(void **state)
{
	struct type file = { .kind = TYPE_STRUCT, .name = "struct file", .size = 16 };
	const struct type *p = type_ptr(&arena, &file, SPACE_KERNEL);
	const struct type *parts[] = { &type_s64, type_str(&arena, 16, true) };
	const struct {
		const struct type *type;
		const char *name;
	} rows[] = {
		{ &type_u64, "uint64" },
		{ &type_s8, "int8" },
		{ &type_bool, "bool" },
		{ p, "struct file *" },
		{ type_ptr(&arena, p, SPACE_NONE), "struct file **" },
		{ type_ptr(&arena, &type_none, SPACE_NONE), "void *" },
		{ type_str(&arena, 2, true), "string[2]" },
		{ type_buf(&arena, 6), "buffer[6]" },
		{ type_array(&arena, &type_s32, 4), "int32[4]" },
		{ type_tuple(&arena, parts, 2), "(int64,string[16])" },
		{ type_plain(&arena, TYPE_COUNT), "count_t" },
		{ type_plain(&arena, TYPE_KSYM), "ksym_t" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(type_name(&arena, rows[i].type), rows[i].name);
}

static void test_equality(void **state)
{
	const struct type *one[] = { &type_u64, type_str(&arena, 5, true) };
	const struct type *two[] = { &type_u64, type_str(&arena, 5, false) };
	const struct type *three[] = { &type_s64, type_str(&arena, 5, false) };
	struct type a = { .kind = TYPE_LHIST, .max = 10, .step = 1 }, b = a;

	(void)state;
	assert_true(type_eq(type_tuple(&arena, one, 2), type_tuple(&arena, two, 2)));
	assert_false(type_eq(type_tuple(&arena, one, 2), type_tuple(&arena, three, 2)));
	assert_false(type_eq(&type_u32, &type_u64));
	assert_true(type_eq(type_int(4, true), &type_s32));
	assert_true(type_eq(&a, &b));
	b.step = 2;
	assert_false(type_eq(&a, &b));
	assert_false(type_eq(type_stack(&arena, TYPE_KSTACK, STACK_RAW, 3),
	                     type_stack(&arena, TYPE_KSTACK, STACK_PERF, 3)));
	assert_false(type_eq(type_ptr(&arena, &type_u8, SPACE_NONE), &type_u64));
}

static void test_classes(void **state)
{
	(void)state;
	assert_true(type_is_scalar(&type_bool));
	assert_true(type_is_scalar(type_ptr(&arena, &type_none, SPACE_USER)));
	assert_false(type_is_scalar(type_plain(&arena, TYPE_KSYM)));
	assert_true(type_is_agg(type_plain(&arena, TYPE_COUNT)));
	assert_false(type_is_agg(type_plain(&arena, TYPE_MAC)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),   cmocka_unit_test(test_cells),
		cmocka_unit_test(test_names),   cmocka_unit_test(test_equality),
		cmocka_unit_test(test_classes),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_free(&arena);
	return failed;
}
