/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Index and bounds of hist() buckets agree, for every number of sub-buckets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/bucket.h"

/* xorshift64 (Marsaglia): the same values in every run. */
static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* v lies in the bucket it is counted in: at or above its bound, below the next one. */
static void check_value(u64 v, u32 bits)
{
	u32 i = bucket_hist_index((s64)v, false, bits);
	u64 high = bucket_hist_low(i + 1, bits);

	assert_in_range(i, 1, bucket_hist_count(bits) - 1);
	assert_true(bucket_hist_low(i, bits) <= v);
	/* The bound above the last bucket is 2^64 and shows as 0. */
	assert_true(v < high || (high == 0 && i == bucket_hist_count(bits) - 1));
}

static void test_random(void **state)
{
	u64 seed = 0x9e3779b97f4a7c15ull;

	(void)state;
	for (u32 bits = 0; bits <= BUCKET_HIST_BITS_MAX; bits++)
		for (u32 n = 0; n < 20000; n++)
			/* Shifted, so that all magnitudes come up. */
			check_value(next_random(&seed) >> (n % 64), bits);
}

static void test_edges(void **state)
{
	(void)state;
	for (u32 bits = 0; bits <= BUCKET_HIST_BITS_MAX; bits++) {
		check_value(0, bits);
		check_value(UINT64_MAX, bits);
		for (u32 l = 0; l < 64; l++) {
			check_value(1ull << l, bits);
			check_value((1ull << l) - 1, bits);
			check_value((1ull << l) + 1, bits);
		}
		for (u32 i = 1; i < bucket_hist_count(bits); i++)
			assert_int_equal(
				bucket_hist_index((s64)bucket_hist_low(i, bits), false, bits), i);
	}
}

static void test_sign(void **state)
{
	(void)state;
	assert_int_equal(bucket_hist_index(-1, true, 0), 0);
	assert_int_equal(bucket_hist_index(INT64_MIN, true, 5), 0);
	assert_int_equal(bucket_hist_index(-1, false, 0), bucket_hist_count(0) - 1);
	assert_int_equal(bucket_hist_index(0, true, 0), 1);
	assert_int_equal(bucket_hist_index(5, true, 0), 4);
}

static void test_linear(void **state)
{
	(void)state;
	assert_int_equal(bucket_lhist_count(0, 100, 10), 12);
	assert_int_equal(bucket_lhist_count(0, 25, 10), 5);
	assert_int_equal(bucket_lhist_count(-10, 10, 5), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_sign),
		cmocka_unit_test(test_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
