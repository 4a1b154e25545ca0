/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The walk in lanes against a plain one, on types that make its guesses go wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "btf_build.h"
#include "btf/btf_impl.h"

#define TYPES 30000u

static u32 next_random(u64 *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (u32)(*seed >> 33);
}

/* Enumerators that look like records: in the midst of a long enum, guesses find some. */
static void add_long_enum(struct btf_build *w, u32 n)
{
	btf_build_type(w, "", BTF_KIND_ENUM64, n, 8);
	for (u32 i = 0; i < n; i++)
		btf_build_three(w, 0, BTF_KIND_PTR << 24, 1);
}

static void add_random_type(struct btf_build *w, u64 *seed)
{
	u32 r = next_random(seed), n = r / 16 % 8;

	switch (r % 16) {
	case 0:
		btf_build_type(w, "", BTF_KIND_STRUCT, n, 8);
		for (u32 i = 0; i < n; i++)
			btf_build_three(w, 0, 1, 0);
		break;
	case 1:
		btf_build_type(w, "", BTF_KIND_FUNC_PROTO, n, 0);
		for (u32 i = 0; i < n; i++)
			btf_build_two(w, 0, 1);
		break;
	case 2:
		btf_build_type(w, "named", BTF_KIND_FLOAT, 0, 4);
		break;
	default:
		btf_build_type(w, "", BTF_KIND_PTR, 0, 1);
	}
}

/* Offsets of the types, found one by one. */
static u32 plain_walk(const struct btf *b, u32 *offs)
{
	u32 n = 0;

	for (u32 off = 0, len; btf_record_at(b, off, &len); off += len)
		offs[n++] = off;
	return n;
}

static struct btf *must_open(struct btf_build *w)
{
	struct btf_error e;
	size_t n;
	const void *p = btf_build_file(w, &n);
	struct btf *b = btf_open_memory(p, n, &e);

	if (!b)
		fail_msg("%s", e.text);
	return b;
}

static bool count_id(void *ctx, u32 query, u32 id)
{
	(void)query;
	(void)id;
	++*(u32 *)ctx;
	return true;
}

static void compare(struct btf_build *w)
{
	u32 *offs = calloc(TYPES * 2, sizeof(*offs)), n, named = 0, found = 0;
	struct btf_query q = { "named", 0, 0 };
	struct btf *b = must_open(w);
	struct btf_iter it;

	assert_non_null(offs);
	n = plain_walk(b, offs);
	assert_int_equal(btf_count(b), n + 1);
	for (u32 i = 0; i < n; i += 7) {
		u32 off;

		assert_true(btf_offset(b, i + 1, &off));
		assert_int_equal(off, offs[i]);
	}
	for (btf_iter_init(&it, b, 1); btf_next(&it);)
		named += it.t.kind == BTF_KIND_FLOAT;
	btf_find_all(b, &q, 1, 0, count_id, &found);
	assert_int_equal(found, named);
	btf_unref(b);
	free(offs);
}

static void walks_random_types(void **state)
{
	(void)state;
	for (u64 seed = 1; seed < 6; seed++) {
		struct btf_build w = { .swapped = seed & 1 };
		u64 s = seed;

		for (u32 i = 0; i < TYPES; i++)
			add_random_type(&w, &s);
		compare(&w);
		btf_build_free(&w);
	}
}

static void walks_over_long_types(void **state)
{
	static const u32 lengths[] = { 1300, 1366, 1400, 3000, 11000, 23000 };
	struct btf_build w = { 0 };
	u64 seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (u32 j = 0; j < 1000; j++)
			add_random_type(&w, &seed);
		add_long_enum(&w, lengths[i]);
	}
	compare(&w);
	btf_build_free(&w);
}

static void stops_at_damage(void **state)
{
	struct btf_build w = { 0 };
	struct btf_error e;
	struct btf *b;
	u64 seed = 3;
	u32 off;

	(void)state;
	for (u32 i = 0; i < 10000; i++)
		add_random_type(&w, &seed);
	btf_build_type(&w, "cut", BTF_KIND_STRUCT, 0xffffff, 4);
	for (u32 i = 0; i < 1000; i++)
		add_random_type(&w, &seed);
	b = must_open(&w);
	assert_int_equal(btf_count(b), 10001);
	assert_int_equal(btf_find(b, 0, "cut"), 0);
	assert_false(btf_offset(b, 10001, &off));
	assert_true(btf_offset(b, 10000, &off));
	assert_false(btf_check(b, &e));
	assert_memory_equal(e.text, "type 10001 (at byte ", 20);
	btf_unref(b);
	btf_build_free(&w);
}

static void walks_nothing(void **state)
{
	struct btf_build w = { 0 };
	struct btf *b;

	(void)state;
	btf_build_name(&w, "unused");
	b = must_open(&w);
	assert_int_equal(btf_count(b), 1);
	assert_int_equal(btf_find(b, 0, "unused"), 0);
	assert_true(btf_check(b, NULL));
	btf_unref(b);
	btf_build_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_random_types),
		cmocka_unit_test(walks_over_long_types),
		cmocka_unit_test(stops_at_damage),
		cmocka_unit_test(walks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
