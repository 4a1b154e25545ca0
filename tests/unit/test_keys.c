/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The heaviest keys: exact while they fit, within the promised bound when they do not; the number
 * of different ones; rates; patterns and hashes of keys. */
#include "agg/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "agg/distinct.h"
#include "agg/rate.h"
#include "base/huge.h"

static struct keys *table(u64 limit, u32 payload, u32 key_max)
{
	struct keys_options o = { .limit = limit, .payload = payload, .key_max = key_max };
	struct err e = { 0 };
	struct keys *k = keys_new(&o, &e);

	if (!k)
		fail_msg("%s", e.text);
	return k;
}

/* Bytes of this process' memory from p on that are in huge pages; of a mapping with all of it. */
static u64 huge_bytes(const void *p)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from, to, kib;
	bool in = false;
	char line[256];
	u64 bytes = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2) /* NOLINT(cert-err34-c) */
			in = from <= (uintptr_t)p && (uintptr_t)p < to;
		else if (in && sscanf(line, "AnonHugePages: %lu", &kib) == 1) /* NOLINT */
			bytes = (u64)kib << 10;
	}
	fclose(f);
	return bytes;
}

/* Can this kernel make a huge page out of small ones? */
static bool makes_huge_pages(void)
{
	size_t size = 2 * HUGE_PAGE - 1;
	u8 *p = malloc(size), *at = p + (-(uintptr_t)p & (HUGE_PAGE - 1));
	bool made;

	memset(p, 1, size);
	made = madvise(at, HUGE_PAGE, 25 /* MADV_COLLAPSE */) == 0;
	free(p);
	return made;
}

static struct str number(char buf[16], u32 n)
{
	return (struct str){ buf, (u32)sprintf(buf, "key%u", n) };
}

static u32 number_of(struct str key)
{
	char buf[16] = { 0 };

	assert_true(key.n > 3 && key.n < sizeof(buf));
	memcpy(buf, key.p + 3, key.n - 3);
	return (u32)strtoul(buf, NULL, 10);
}

static u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* How often each key came, from the payload. */
struct mine {
	u64 hits;
	u8 odd[3];
};

static void test_exact_while_they_fit(void **state)
{
	struct keys *k = table(1 << 20, sizeof(struct mine), 0);
	struct keys_stats s;
	struct key_row row, top[200];
	char buf[16];
	u64 sum = 0;

	(void)state;
	/* Key i comes i times, in turns. */
	for (u32 turn = 1; turn <= 200; turn++)
		for (u32 i = turn; i <= 200; i++) {
			struct str key = number(buf, i);
			u64 expected = turn % 2 ? keys_expect(k, key) : 0;
			struct mine *m = keys_hit_expected(k, key, 0, expected);

			assert_non_null(m);
			assert_int_equal(m->hits, turn - 1);
			m->hits++;
		}
	keys_stats(k, &s);
	assert_true(s.exact);
	assert_int_equal(s.hits, 200 * 201 / 2);
	assert_int_equal(s.used, 200);
	assert_true(s.distinct == 200 && s.distinct_error == 0);
	assert_true(s.bytes <= 1 << 20);
	assert_int_equal(keys_top(k, top, 200, NULL, NULL), 200);
	for (u32 i = 0; i < 200; i++)
		sum += ((struct mine *)top[i].payload)->hits;
	assert_int_equal(sum, s.hits);
	assert_int_equal(keys_top(k, top, 10, NULL, NULL), 10);
	for (u32 i = 0; i < 10; i++) {
		assert_int_equal(number_of(top[i].key), 200 - i);
		assert_int_equal(top[i].count, 200 - i);
		assert_int_equal(top[i].error, 0);
	}
	assert_true(keys_find(k, STR("key7"), 0, &row));
	assert_int_equal(row.count, 7);
	assert_false(keys_find(k, STR("key201"), 0, &row));
	keys_clear(k);
	assert_int_equal(keys_top(k, top, 10, NULL, NULL), 0);
	assert_false(keys_find(k, STR("key7"), 0, &row));
	assert_int_equal(((struct mine *)keys_hit(k, STR("key7"), 0))->hits, 0);
	keys_free(k);
}

static void test_takes_over(void **state)
{
	struct keys *k = table(24 << 10, sizeof(struct mine), 16);
	struct keys_stats s;
	u64 hits[3000] = { 0 }, random = 7;
	struct key_row top[3000];
	char buf[16];
	u32 n, seen = 0;

	(void)state;
	for (u32 i = 0; i < 200000; i++) {
		/* The smaller of three: key 0 is the most frequent one. */
		u32 a = random_next(&random) % 3000, b = random_next(&random) % 3000,
		    c = random_next(&random) % 3000, key = MIN(MIN(a, b), c);
		struct mine *m = keys_hit(k, number(buf, key), 0);

		seen += !hits[key]++;
		if (m) {
			m->hits++;
			assert_true(m->hits <= hits[key]);
			m->odd[2] = (u8)key;
		}
	}
	keys_stats(k, &s);
	assert_false(s.exact);
	assert_true(s.slots < 1000 && s.takeovers && s.unslotted);
	assert_int_equal(s.used, s.slots);
	assert_true(s.distinct > seen * 0.97 && s.distinct < seen * 1.03);
	n = keys_top(k, top, 3000, NULL, NULL);
	assert_int_equal(n, s.slots);
	for (u32 i = 0; i < n; i++) {
		u32 key = number_of(top[i].key);
		struct mine *m = top[i].payload;

		assert_true(!i || top[i].count <= top[i - 1].count);
		assert_true(hits[key] <= top[i].count);
		assert_true(hits[key] >= top[i].count - top[i].error);
		assert_true(top[i].error <= s.hits / s.slots);
		/* The payload is the key's own, of the time since it has had the slot. */
		assert_int_equal(m->hits, top[i].count - top[i].error);
		assert_int_equal(m->odd[2], (u8)key);
		hits[key] = 0;
	}
	for (u32 key = 0; key < 3000; key++)
		assert_true(hits[key] <= s.hits / s.slots);
	keys_free(k);
}

/* The i-th most frequent key comes TOP / i times, at least once: Zipf with exponent 1. */
#define TOP 100000u

/* Its hits, in random order or with those of rare keys first, which is the worst that can be. */
static u32 *zipf(u32 keys, bool shuffle, u32 *n)
{
	u32 *events, at = 0;
	u64 random = 12345;

	*n = 0;
	for (u32 i = 1; i <= keys; i++)
		*n += MAX(TOP / i, 1);
	events = malloc(*n * sizeof(*events));
	assert_non_null(events);
	for (u32 i = keys; i >= 1; i--)
		for (u32 j = MAX(TOP / i, 1); j; j--)
			events[at++] = i;
	for (u32 i = *n; shuffle && i > 1; i--) {
		u32 with = (u32)((random_next(&random) >> 32) * i >> 32), moved = events[i - 1];

		events[i - 1] = events[with];
		events[with] = moved;
	}
	return events;
}

/* 64 MiB, a payload as large as mctop's may be, keys of any length that memcached has. Of the
 * first `listed` rows all must be right within their bounds, and the hundred most frequent keys
 * among them. */
static void check_zipf(u32 keys, bool shuffle, u32 listed)
{
	static struct key_row top[200];
	struct keys *k = table(0, 512, 0);
	u32 n, *events = zipf(keys, shuffle, &n), found = 0;
	struct keys_stats s;

	for (u32 i = 0; i < n; i++)
		keys_hit(k, (struct str){ (char *)&events[i], sizeof(events[i]) }, 4);
	free(events);
	keys_stats(k, &s);
	assert_true(s.bytes <= KEYS_LIMIT);
	assert_true(s.distinct > keys * 0.97 && s.distinct < keys * 1.03);
	assert_int_equal(keys_top(k, top, listed, NULL, NULL), listed);
	for (u32 i = 0; i < listed; i++) {
		u32 key, hits;

		memcpy(&key, top[i].key.p, sizeof(key));
		hits = MAX(TOP / key, 1);
		assert_true(hits <= top[i].count && top[i].count - top[i].error <= hits);
		assert_true(top[i].error <= s.hits / s.slots);
		found += key <= 100;
	}
	assert_int_equal(found, 100);
	keys_free(k);
}

static void test_ten_million(void **state)
{
	(void)state;
	check_zipf(10000000, true, 100);
}

/* Keys whose counts are closer than the bound may change places. */
static void test_rare_ones_first(void **state)
{
	(void)state;
	check_zipf(1000000, false, 105);
}

static double by_payload(void *ctx, const struct key_row *row)
{
	const struct mine *m = row->payload;

	return m->hits == *(u64 *)ctx ? -1 : (double)m->hits;
}

/* Half of a huge page of keys makes one, fewer do not; nothing is lost where one is made. */
static void test_many_keys_are_in_huge_pages(void **state)
{
	u32 n, few = HUGE_PAGE / 2 / 512, many = 3 * HUGE_PAGE / 512;
	struct keys *k;
	void *first;
	char buf[16];
	bool always;

	(void)state;
	if (!makes_huge_pages())
		skip();
	k = table(32 << 20, 400, 16); /* 512 bytes or some more a slot */
	first = keys_hit(k, number(buf, 0), 0);
	always = huge_bytes(first) != 0;
	for (n = 1; n < few / 2; n++)
		keys_hit(k, number(buf, n), 0);
	assert_true(always || huge_bytes(first) == 0);
	for (; n < many; n++)
		keys_hit(k, number(buf, n), 0);
	assert_true(huge_bytes(first) >= 2 * HUGE_PAGE);
	keys_free(k);
}

static void test_listed_by_payload(void **state)
{
	struct keys *k = table(1 << 20, sizeof(struct mine), 0);
	struct key_row top[50];
	u64 left_out = 9;
	char buf[16];

	(void)state;
	for (u32 i = 0; i < 20; i++)
		((struct mine *)keys_hit(k, number(buf, i), 0))->hits = i / 2;
	/* Ties stand in the order of the keys; those below 0 are not listed. */
	assert_int_equal(keys_top(k, top, 50, by_payload, &left_out), 18);
	assert_int_equal(number_of(top[0].key), 16);
	assert_int_equal(number_of(top[1].key), 17);
	assert_int_equal(number_of(top[16].key), 0);
	assert_int_equal(keys_top(k, top, 3, by_payload, &left_out), 3);
	assert_int_equal(number_of(top[2].key), 14);
	assert_int_equal(keys_top(k, top, 0, NULL, NULL), 0);
	keys_free(k);
}

static void test_long_keys(void **state)
{
	struct keys *k = table(1 << 20, 0, 8);
	struct keys_stats s;
	struct key_row row;

	(void)state;
	keys_hit(k, STR("12345678"), 8);
	keys_hit(k, STR("123456789"), 9);
	keys_hit(k, STR("12345678a"), 9);  /* differs after what is kept */
	keys_hit(k, STR("12345678"), 300); /* cut by the caller */
	keys_hit(k, STR(""), 0);
	keys_hit(k, (struct str){ "\0\0", 2 }, 2);
	keys_hit(k, (struct str){ "\0\0\0", 3 }, 3);
	keys_stats(k, &s);
	assert_int_equal(s.used, 7);
	assert_int_equal(s.cut, 3);
	assert_true(keys_find(k, STR("12345678a"), 9, &row));
	assert_int_equal(row.key.n, 8);
	assert_int_equal(row.key_size, 9);
	assert_true(keys_find(k, STR("12345678"), 300, &row));
	assert_int_equal(row.key_size, 300);
	assert_true(keys_find(k, STR(""), 0, &row));
	assert_int_equal(row.key.n, 0);
	keys_free(k);
}

/* Keys of which the same is kept are told apart by what is not, however few chains there are. */
static void test_many_long_keys(void **state)
{
	struct keys *k = table(1 << 20, 0, 4);
	struct keys_stats s;
	char text[16];

	(void)state;
	for (u32 i = 0; i < 2000; i++) {
		struct str key = { text, (u32)sprintf(text, "same%u", 1000 + i) };

		keys_hit(k, key, key.n);
		keys_hit(k, key, key.n + 1);
	}
	keys_stats(k, &s);
	assert_int_equal(s.used, 4000);
	keys_free(k);
}

static void test_limit(void **state)
{
	struct keys_options o = { .limit = 1000 };
	struct err e = { 0 };
	struct keys *k;

	(void)state;
	assert_null(keys_new(&o, &e));
	assert_non_null(strstr(e.text, "1000 bytes are too few"));
	/* What the message asks for is enough. */
	o.limit = strtoull(strstr(e.text, "it needs ") + strlen("it needs "), NULL, 10);
	k = keys_new(&o, &e);
	assert_non_null(k);
	keys_free(k);
	o.limit--;
	assert_null(keys_new(&o, &e));
	keys_free(NULL);
	for (u64 limit = 32 << 10; limit < 64 << 20; limit *= 3) {
		struct keys_stats s;

		o = (struct keys_options){ .limit = limit, .payload = 12, .key_max = 33 };
		k = keys_new(&o, &e);
		assert_non_null(k);
		keys_stats(k, &s);
		assert_true(s.bytes <= limit && s.bytes > limit - 200);
		keys_free(k);
	}
}

static void test_distinct(void **state)
{
	struct distinct *d = calloc(1, sizeof(*d));
	u64 next = 10;

	(void)state;
	assert_true(distinct_count(d) == 0);
	/* Three standard deviations, at each power of ten; the hashes are always the same. */
	for (u64 i = 1; i <= 1000000; i++) {
		distinct_add(d, hash_mix(i));
		distinct_add(d, hash_mix(i / 2 + 1));
		if (i == next) {
			double n = distinct_count(d);

			assert_true(n > (double)i * 0.975 && n < (double)i * 1.025);
			next *= 10;
		}
	}
	free(d);
}

static bool near_to(double a, double b)
{
	return a > b * 0.999 && a < b * 1.001;
}

static void test_rate(void **state)
{
	static const struct {
		u64 passed;
		double left; /* 2^-(passed / 10000) */
	} forgets[] = { { 10, 0.999307092990 },   { 150, 0.989656656415 },
		        { 199, 0.986301067304 },  { 201, 0.986164346421 },
		        { 1250, 0.917004043205 }, { 9999, 0.500034658560 },
		        { 25000, 0.176776695297 } };
	struct rate r = { 0 };
	u64 half = 10000, t;

	(void)state;
	assert_true(rate_at(&r, 5, half) == 0);
	for (t = 0; t < 200000; t += 4) /* a hit every four units */
		rate_hit(&r, t, half, 1);
	assert_true(near_to(rate_at(&r, t, half), 0.25));
	assert_true(near_to(rate_at(&r, t + half, half), 0.125));
	assert_true(near_to(rate_at(&r, t + half / 2, half), 0.25 * 0.70710678));
	assert_true(near_to(rate_at(&r, t + 100 * half, half), 0.25 / 1.2676506e30));
	assert_true(rate_at(&r, t + 2000 * half, half) == 0);
	for (u32 i = 0; i < ARRAY_SIZE(forgets); i++) {
		struct rate one = { .value = 1 };
		double off = rate_at(&one, forgets[i].passed, half) - forgets[i].left;

		assert_true(off > -3e-11 && off < 3e-11);
	}
	/* A clock that runs backwards does no harm. */
	rate_hit(&r, 0, half, 0);
	assert_true(near_to(rate_at(&r, t, half), 0.25));
}

static void test_fold(void **state)
{
	static const struct {
		const char *key, *pattern;
	} table[] = {
		{ "user:123:feed", "user:*:feed" },
		{ "user:123:feed:7", "user:*:feed:*" },
		{ "session/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "session/*" },
		{ "page|d41d8cd98f00b204e9800998ecf8427e|en", "page|*|en" },
		{ "feedface:deadbeef", "feedface:deadbeef" }, /* words without a digit */
		{ "a1b2c3:x", "a1b2c*:x" },
		{ "key000123", "key*" },
		{ "memtier-42", "memtier-*" },
		{ "v2:user:9", "v2:user:*" },
		{ "v", "v" },
		{ "video9", "video*" },
		{ "v123", "v*" },
		{ "::", "::" },
		{ "", "" },
		{ "12", "*" },
		{ "plain", "plain" },
	};
	char out[64];

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(table); i++) {
		u32 n = keys_fold(str_of(table[i].key), NULL, out, sizeof(out));

		assert_int_equal(n, strlen(table[i].pattern));
		assert_memory_equal(out, table[i].pattern, n);
	}
	assert_int_equal(keys_fold(STR("user:1.2.3"), ".", out, sizeof(out)), 10);
	assert_memory_equal(out, "user:*.*.*", 10);
	assert_int_equal(keys_fold(STR("user:123:feed"), NULL, out, 6), 6);
	assert_memory_equal(out, "user:*", 6);
	assert_int_equal(keys_fold(STR("user"), NULL, out, 0), 0);
	assert_int_equal(keys_fold((struct str){ "a\0b:1\xff:5", 8 }, NULL, out, 64), 8);
	assert_memory_equal(out, "a\0b:1\xff:*", 8);
}

/* As SipHash's authors have it: secret 00 01 .. 0f, text 00 01 .. 0e. */
static void test_hide(void **state)
{
	struct hash_secret s = { { 0x0706050403020100, 0x0f0e0d0c0b0a0908 } }, other = { { 1, 0 } };
	char text[15], a[KEYS_HASHED], b[KEYS_HASHED];

	(void)state;
	for (u32 i = 0; i < sizeof(text); i++)
		text[i] = (char)i;
	keys_hide((struct str){ text, 15 }, &s, a);
	assert_string_equal(a, "a129ca6149be45e5");
	keys_hide((struct str){ text, 15 }, &other, b);
	assert_string_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_while_they_fit),
		cmocka_unit_test(test_takes_over),
		cmocka_unit_test(test_many_keys_are_in_huge_pages),
		cmocka_unit_test(test_ten_million),
		cmocka_unit_test(test_rare_ones_first),
		cmocka_unit_test(test_listed_by_payload),
		cmocka_unit_test(test_long_keys),
		cmocka_unit_test(test_many_long_keys),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_distinct),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_hide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
