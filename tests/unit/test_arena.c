/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arena memory: zeroed, aligned, distinct, and vectors that grow in it. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_alloc(void **state)
{
	struct arena a = { 0 };
	char *last = NULL;

	(void)state;
	for (size_t size = 0; size < 3000; size += 7) {
		char *p = arena_alloc(&a, size);

		assert_int_equal((uintptr_t)p % 16, 0);
		assert_ptr_not_equal(p, last);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
		last = p;
	}
	arena_free(&a);
	assert_null(a.head);
	assert_non_null(arena_alloc(&a, 5)); /* usable again */
	arena_free(&a);
}

static void test_big(void **state)
{
	struct arena a = { 0 };
	char *small = arena_alloc(&a, 8), *big = arena_alloc(&a, 5u << 20);

	(void)state;
	memset(small, 1, 8);
	memset(big, 2, 5u << 20);
	assert_int_equal(small[7], 1);
	arena_free(&a);
}

static void test_strings(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(arena_strdup(&a, "abc"), "abc");
	assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
	assert_string_equal(arena_strndup(&a, NULL, 0), "");
	assert_string_equal(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
	arena_free(&a);
}

static void test_vec(void **state)
{
	struct arena a = { 0 };
	VEC(u32) v = { 0 };

	(void)state;
	for (u32 i = 0; i < 1000; i++)
		vec_add(&a, &v, i * 3);
	assert_int_equal(v.n, 1000);
	for (u32 i = 0; i < 1000; i++)
		assert_int_equal(v.v[i], i * 3);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_vec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
