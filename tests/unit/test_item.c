/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What servers take for an entry, against what they said themselves. */
#include "cache/item.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The chunk sizes that memcached 1.6.18 -vv prints. */
static void test_memcached_classes(void **state)
{
	static const u32 classes[] = { 96,     120,    152,    192,    240,    304,    384,
		                       480,    600,    752,    944,    1184,   1480,   1856,
		                       2320,   2904,   3632,   4544,   5680,   7104,   8880,
		                       11104,  13880,  17352,  21696,  27120,  33904,  42384,
		                       52984,  66232,  82792,  103496, 129376, 161720, 202152,
		                       252696, 315872, 394840, 524288 };
	const struct item_kind *k = item_find("memcached");
	u64 value = 0;

	(void)state;
	assert_non_null(k);
	for (u32 i = 0; i < ARRAY_SIZE(classes); i++) {
		assert_int_equal(k->bytes(10, value), classes[i]);
		/* 59 bytes more than key and value; the last value that fits. */
		value = classes[i] - 59 - 10;
		assert_int_equal(k->bytes(10, value), classes[i]);
		value++;
	}
	/* STAT items:39:mem_requested 600068: a chunk of class 39 and one of 31. */
	assert_int_equal(k->bytes(9, 600000), 524288 + 82792);
}

/* MEMORY USAGE of Redis 7.0.15, which leaves out what rounds the table's entry and its slot. */
static void test_redis(void **state)
{
	static const u32 rows[][3] = { { 5, 3, 64 },         { 5, 44, 96 },
		                       { 5, 45, 112 },       { 5, 100, 160 },
		                       { 31, 100, 200 },     { 32, 100, 200 },
		                       { 40, 300, 408 },     { 40, 2000, 2136 },
		                       { 40, 20000, 20568 }, { 40, 70000, 82008 } };
	const struct item_kind *k = item_find("redis");

	(void)state;
	assert_non_null(k);
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(k->bytes(rows[i][0], rows[i][1]), rows[i][2] + 8 + 11);
}

static void test_names(void **state)
{
	(void)state;
	assert_null(item_find("uprobe:./server:put"));
	assert_ptr_equal(item_of("valkey-server"), item_find("redis"));
	assert_ptr_equal(item_of("memcached"), item_find("memcached"));
	assert_null(item_of("redis"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memcached_classes),
		cmocka_unit_test(test_redis),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
