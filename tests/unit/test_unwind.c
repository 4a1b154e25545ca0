/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory for unwind tables, and what tables are read from files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/unwind_memory.h"
#include "sym/unwind_table.h"

static void test_memory(void **state)
{
	struct unwind_memory m = { 0 };
	struct unwind_extent a, b, c;

	(void)state;
	unwind_memory_add(&m, 3, 2);
	assert_int_equal(m.free_units, 2 * UNWIND_CHUNK_UNITS);
	assert_true(unwind_memory_whole(&m, 100, &a));
	assert_int_equal(a.shelf, 3);
	assert_int_equal(a.chunk, 0);
	assert_int_equal(a.first, 0);
	assert_true(unwind_memory_whole(&m, UNWIND_CHUNK_UNITS, &b));
	assert_int_equal(b.chunk, 1);
	assert_false(unwind_memory_whole(&m, UNWIND_CHUNK_UNITS, &c));
	assert_true(unwind_memory_some(&m, UNWIND_CHUNK_UNITS, &c));
	assert_int_equal(c.first, 100);
	assert_int_equal(c.n, UNWIND_CHUNK_UNITS - 100);
	assert_int_equal(m.free_units, 0);
	assert_false(unwind_memory_some(&m, 1, &c));
	unwind_memory_free(&m);
}

/* Whatever the order they come back in, neighbours are one again. */
static void test_joined(void **state)
{
	static const u8 orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 0, 2, 1 }, { 1, 2, 0 } };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(orders); i++) {
		struct unwind_memory m = { 0 };
		struct unwind_extent e[3], all;

		unwind_memory_add(&m, 0, 1);
		assert_true(unwind_memory_whole(&m, 1, &e[0]));
		assert_true(unwind_memory_whole(&m, 1000, &e[1]));
		assert_true(unwind_memory_some(&m, UNWIND_CHUNK_UNITS, &e[2]));
		for (u32 j = 0; j < 3; j++)
			unwind_memory_give(&m, e[orders[i][j]]);
		assert_int_equal(m.n, 1);
		assert_true(unwind_memory_whole(&m, UNWIND_CHUNK_UNITS, &all));
		unwind_memory_free(&m);
	}
}

/* This program's own table covers this very function. */
static void test_own_table(void **state)
{
	struct unwind_table t;
	struct err e;
	u64 vaddr;

	(void)state;
	assert_true(unwind_table_read("/proc/self/exe", &t, &e));
	assert_true(t.rows.n > 10);
	assert_int_equal(t.rows.v[0].pc, 0);
	assert_true(t.n_codes >= 2);
	for (u32 i = 0; i < t.n_codes; i++) {
		assert_true(unwind_table_vaddr(&t, t.code[i].offset & ~4095ull, &vaddr));
		assert_int_equal(vaddr & 4095, 0);
	}
	assert_false(unwind_table_vaddr(&t, 1ull << 40, &vaddr));
	unwind_table_free(&t);
	assert_false(unwind_table_read("/nonexistent", &t, &e));
}

static void test_vdso(void **state)
{
	struct unwind_table t;
	struct err e;

	(void)state;
	if (!unwind_table_vdso(&t, &e))
		skip();
	assert_true(t.rows.n > 2);
	assert_int_equal(unwind_kind(t.rows.v[t.rows.n - 1].rule), UNWIND_GAP);
	unwind_table_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_own_table),
		cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
