/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hashes that take a secret. */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct hash_secret counting = { { 0x0706050403020100, 0x0f0e0d0c0b0a0908 } };

/* The vectors of SipHash's authors: secret 00 01 .. 0f, text 00 01 .. 0e. */
static void test_strong(void **state)
{
	char text[15];

	(void)state;
	for (u32 i = 0; i < sizeof(text); i++)
		text[i] = (char)i;
	assert_true(hash_strong(&counting, text, 15) == 0xa129ca6149be45e5);
	assert_true(hash_strong(&counting, "", 0) == 0x726fdb47dd0e0e31);
}

/* The same on each machine. Those of up to 64 bytes were computed apart, with whole numbers of any
 * size; that of 65 is SipHash-1-3. */
static void test_quick(void **state)
{
	static const struct {
		u32 n;
		u64 hash;
	} table[] = {
		{ 0, 0xc65b6d37ad04a94f },  { 3, 0xb76bfbfbfef93c5 },   { 7, 0x6948e2541d4f91d9 },
		{ 16, 0x32f56d088f6ab8ec }, { 64, 0x3dee4949bf814121 }, { 65, 0x5e1e6109660f720e },
	};
	char text[65];

	(void)state;
	for (u32 i = 0; i < sizeof(text); i++)
		text[i] = (char)i;
	for (u32 i = 0; i < ARRAY_SIZE(table); i++)
		assert_true(hash_quick(&counting, text, table[i].n) == table[i].hash);
}

static int by_value(const void *pa, const void *pb)
{
	const u64 *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

/* All of them differ. */
static void check_distinct(u64 *v, u32 n)
{
	qsort(v, n, sizeof(*v), by_value);
	for (u32 i = 1; i < n; i++)
		assert_true(v[i - 1] != v[i]);
}

/* Bytes that are 0 at the end, or the same ones again, do not go under: lengths count; nor does a
 * single bit, anywhere. */
static void test_lengths_and_bits(void **state)
{
	static u64 v[2 * 81 + 80 * 81 / 2 * 8];
	char text[80];
	u32 n = 0;

	(void)state;
	for (u32 size = 0; size <= sizeof(text); size++) {
		memset(text, 0, sizeof(text));
		v[n++] = hash_quick(&counting, text, size);
		for (u32 bit = 0; bit < size * 8; bit++) {
			text[bit / 8] = (char)(1 << bit % 8);
			v[n++] = hash_quick(&counting, text, size);
			text[bit / 8] = 0;
		}
		memset(text, 'a', sizeof(text));
		if (size)
			v[n++] = hash_quick(&counting, text, size);
	}
	check_distinct(v, n);
}

/* Each word of the secret is used, a secret of zeros is one too, and nothing after the input. */
static void test_secrets(void **state)
{
	u64 v[ARRAY_SIZE(counting.k) + 1];
	char text[64];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (u32 i = 0; i < ARRAY_SIZE(v); i++) {
		struct hash_secret s = { { 0 } };

		if (i)
			s.k[i - 1] = 1;
		v[i] = hash_quick(&s, text, sizeof(text));
		assert_true(hash_quick(&s, "key:7", 5) != hash_quick(&s, "key:8", 5));
		assert_true(hash_quick(&s, "key:7", 5) == hash_quick(&s, "key:75", 5));
	}
	check_distinct(v, ARRAY_SIZE(v));
}

/* Keys that are counted up fill the places of a table evenly, whichever eight bits choose one:
 * with 256 of them, the sum of squares is 255 on average, and nearly always within 255 +- 113. */
static void check_even(const struct hash_secret *s, const char *before, int digits,
                       const char *after)
{
	static u32 places[57][256];
	u32 n = 1u << 16;
	char key[80];

	memset(places, 0, sizeof(places));
	for (u32 i = 0; i < n; i++) {
		int size = snprintf(key, sizeof(key), "%s%0*u%s", before, digits, i, after);
		u64 hash = hash_quick(s, key, (size_t)size);

		for (u32 shift = 0; shift <= 56; shift++)
			places[shift][hash >> shift & 0xff]++;
	}
	for (u32 shift = 0; shift <= 56; shift++) {
		double squares = 0, each = n / 256.0;

		for (u32 i = 0; i < 256; i++)
			squares += (places[shift][i] - each) * (places[shift][i] - each) / each;
		assert_true(squares > 142 && squares < 368);
	}
}

static void test_even(void **state)
{
	struct hash_secret s = counting;

	(void)state;
	for (u32 i = 0; i < 8; i++) {
		s.k[2 + i % 2] = i * 0x9e3779b97f4a7c15;
		check_even(&s, "", 1, "");
		check_even(&s, "key:", 1, "");
		check_even(&s, "key:", 12, "");
		check_even(&s, "", 8, ":of:a:longer:name");
		check_even(&s, "session:0123456789abcdef0123456789abcdef:of:user:", 8, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strong),
		cmocka_unit_test(test_quick),
		cmocka_unit_test(test_lengths_and_bits),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_even),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
