/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hash map against a plain array, and keys of odd shapes. */
#include "base/hmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define N 5000

static void test_many(void **state)
{
	static char keys[N][16];
	struct hmap m = { 0 };

	(void)state;
	assert_null(hmap_find(&m, "x", 1));
	for (uintptr_t i = 0; i < N; i++) {
		snprintf(keys[i], sizeof(keys[i]), "key%zu", (size_t)i);
		hmap_put(&m, keys[i], strlen(keys[i]), (void *)(i + 1));
		assert_int_equal(m.n, i + 1);
	}
	for (uintptr_t i = 0; i < N; i++) {
		void **v = hmap_find(&m, keys[i], strlen(keys[i]));

		assert_non_null(v);
		assert_int_equal((uintptr_t)*v, i + 1);
	}
	assert_null(hmap_find(&m, "key5000", 7));
	assert_null(hmap_find(&m, "key", 3));
	hmap_free(&m);
	assert_null(hmap_find(&m, "key1", 4));
}

static void test_replace(void **state)
{
	struct hmap m = { 0 };
	int a, b;

	(void)state;
	hmap_put(&m, "k", 1, &a);
	hmap_put(&m, "k", 1, &b);
	assert_int_equal(m.n, 1);
	assert_ptr_equal(*hmap_find(&m, "k", 1), &b);
	*hmap_find(&m, "k", 1) = &a;
	assert_ptr_equal(*hmap_find(&m, "k", 1), &a);
	hmap_free(&m);
}

/* An empty key, keys with NULs, one key the beginning of another, a NULL value. */
static void test_odd_keys(void **state)
{
	struct hmap m = { 0 };
	int a, b, c;

	(void)state;
	hmap_put(&m, "", 0, &a);
	hmap_put(&m, "\0\0", 2, &b);
	hmap_put(&m, "\0\0", 1, &c);
	hmap_put(&m, "null", 4, NULL);
	assert_ptr_equal(*hmap_find(&m, "", 0), &a);
	assert_ptr_equal(*hmap_find(&m, "\0\0", 2), &b);
	assert_ptr_equal(*hmap_find(&m, "\0", 1), &c);
	assert_non_null(hmap_find(&m, "null", 4));
	assert_null(*hmap_find(&m, "null", 4));
	hmap_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_odd_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
