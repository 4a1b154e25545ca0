// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The machine's searches through many bytes, beside the same one byte after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/bytes.h"

#define BLOCKS 40u
#define BEFORE 3u
#define AFTER  70u
#define ROUNDS 50u

static char room[BEFORE + BLOCKS * 64 + AFTER];
static const char *const text = room + BEFORE;

/* Letters that are often those looked for, their neighbours, 0, or beyond ASCII. */
static void fill(void)
{
	static const char letters[] = "\0\0__ab_`o\x7f\x80\xff\xdf";

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = rand() % 8 ? letters[rand() % (int)(sizeof(letters) - 1)] : (char)rand();
}

typedef bool expected_fn(const char *p, const void *ctx);

static void check(const u64 *masks, expected_fn *expected, const void *ctx)
{
	for (u32 i = 0; i < BLOCKS * 64; i++)
		assert_int_equal(masks[i / 64] >> i % 64 & 1, expected(text + i, ctx));
}

static bool is_zero(const char *p, const void *ctx)
{
	(void)ctx;
	return !*p;
}

static void finds_zeros(void **state)
{
	u64 masks[BLOCKS];

	(void)state;
	for (u32 i = 0; i < ROUNDS; i++) {
		fill();
		if (!bytes_zero(text, BLOCKS, masks))
			skip();
		check(masks, is_zero, NULL);
	}
}

static bool comes_after(const char *p, const void *ctx)
{
	const u8(*sets)[2][16] = ctx;
	u8 groups = 0xff;

	for (u32 j = 0; j < 3; j++) {
		u8 c = (u8)p[-1 - (s32)j];

		groups &= c < 0x80 ? sets[j][0][c % 16] & sets[j][1][c / 16] : 0;
	}
	return !*p && groups;
}

static void finds_zeros_after_letters(void **state)
{
	u8 sets[3][2][16];
	u64 masks[BLOCKS];

	(void)state;
	for (u32 i = 0; i < ROUNDS; i++) {
		fill();
		for (size_t k = 0; k < sizeof(sets); k++)
			((u8 *)sets)[k] = (u8)(rand() & rand() >> 8);
		for (u32 j = 0; j < 3; j++)
			memset(sets[j][1] + 8, 0, 8); /* as names in ASCII fill them */
		if (!bytes_zero_after(text, BLOCKS, sets, masks))
			skip();
		check(masks, comes_after, sets);
	}
}

static bool are_three(const char *p, const void *ctx)
{
	const char *c = ctx;

	return (p[0] & p[1] & p[2]) == *c;
}

static void finds_three(void **state)
{
	u64 masks[BLOCKS];

	(void)state;
	for (u32 i = 0; i < ROUNDS; i++) {
		fill();
		if (!bytes_three(text, BLOCKS, '_', masks))
			skip();
		check(masks, are_three, "_");
	}
}

struct pair {
	char first, last;
	u32 distance;
};

static bool is_pair(const char *p, const void *ctx)
{
	const struct pair *of = ctx;

	return p[0] == of->first && p[of->distance] == of->last;
}

static void finds_pairs(void **state)
{
	u64 masks[BLOCKS];

	(void)state;
	for (u32 i = 0; i < ROUNDS; i++) {
		struct pair of = { '_', i % 2 ? 'a' : '_', i };

		fill();
		if (!bytes_pair(text, BLOCKS, of.first, of.last, of.distance, masks))
			skip();
		check(masks, is_pair, &of);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_zeros),
		cmocka_unit_test(finds_zeros_after_letters),
		cmocka_unit_test(finds_three),
		cmocka_unit_test(finds_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
