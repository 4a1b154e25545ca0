/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hit-ratio curves against caches that are carried out. */
#include "agg/shards.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

static u64 random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Which key is asked for, one after the other. */
struct trace {
	u32 *use;
	u32 uses, keys;
};

static void *memory(size_t n, size_t size)
{
	void *p = calloc(n, size);

	assert_non_null(p);
	return p;
}

/* Zipf with this exponent over so many keys. */
static struct trace trace_zipf_of(u32 keys, u32 uses, double exponent)
{
	struct trace t = { memory(uses, sizeof(u32)), uses, keys };
	double *below = memory(keys, sizeof(double)), sum = 0;
	u64 random = 42;

	for (u32 i = 0; i < keys; i++)
		below[i] = sum += pow(i + 1, -exponent);
	for (u32 i = 0; i < uses; i++) {
		double at = (double)(random_next(&random) >> 11) / (double)(1ull << 53) * sum;
		u32 low = 0, high = keys - 1;

		while (low < high) {
			u32 mid = (low + high) / 2;

			if (below[mid] < at)
				low = mid + 1;
			else
				high = mid;
		}
		t.use[i] = low;
	}
	free(below);
	return t;
}

static struct trace trace_zipf(u32 keys, u32 uses)
{
	return trace_zipf_of(keys, uses, 1);
}

/* All keys in turn, over and over. */
static struct trace trace_loop(u32 keys, u32 uses)
{
	struct trace t = { memory(uses, sizeof(u32)), uses, keys };

	for (u32 i = 0; i < uses; i++)
		t.use[i] = i % keys;
	return t;
}

/* Bytes of a key's entry. */
static u64 key_size(u32 key)
{
	return 1 + hash_mix(key + 77) % 1000;
}

/* ---- a cache ---- */

struct lru {
	u32 *newer, *older; /* rings through 0; key k is k + 1 */
	u8 *here;
	u64 used, limit;
	bool in_bytes;
};

static void lru_unlink(struct lru *c, u32 k)
{
	c->older[c->newer[k]] = c->older[k];
	c->newer[c->older[k]] = c->newer[k];
	c->here[k] = 0;
	c->used -= c->in_bytes ? key_size(k - 1) : 1;
}

/* True for a hit. */
static bool lru_get(struct lru *c, u32 key)
{
	u32 k = key + 1;
	bool hit = c->here[k];

	if (hit)
		lru_unlink(c, k);
	c->newer[k] = 0;
	c->older[k] = c->older[0];
	c->newer[c->older[0]] = k;
	c->older[0] = k;
	c->here[k] = 1;
	c->used += c->in_bytes ? key_size(key) : 1;
	while (c->used > c->limit)
		lru_unlink(c, c->newer[0]);
	return hit;
}

/* The share of hits of a cache for so many entries or bytes. */
static double lru_hits(const struct trace *t, u64 limit, bool in_bytes)
{
	struct lru c = { memory(t->keys + 1, 4),
		         memory(t->keys + 1, 4),
		         memory(t->keys + 1, 1),
		         0,
		         limit,
		         in_bytes };
	u32 hits = 0;

	for (u32 i = 0; i < t->uses; i++)
		hits += lru_get(&c, t->use[i]);
	free(c.newer);
	free(c.older);
	free(c.here);
	return (double)hits / t->uses;
}

/* ---- curves ---- */

/* Seeds watch different keys. */
static struct shards *watch_seed(const struct trace *t, u32 samples, double rate, u32 seed)
{
	struct shards_options o = { .samples = samples, .rate = rate };
	struct err e = { 0 };
	struct shards *s = shards_new(&o, &e);

	assert_non_null(s);
	for (u32 i = 0; i < t->uses; i++)
		shards_use(s, hash_mix(t->use[i] + 1 + ((u64)seed << 32)), key_size(t->use[i]),
		           SHARDS_GET);
	return s;
}

static struct shards *watch(const struct trace *t, u32 samples, double rate)
{
	return watch_seed(t, samples, rate, 0);
}

static double distance(double a, double b)
{
	return a < b ? b - a : a - b;
}

/* The mean absolute error over caches of up to all keys. */
static double error_of(const struct trace *t, const struct shards *s, u32 points)
{
	double sum = 0;

	for (u32 i = 1; i <= points; i++) {
		/* Away from round numbers, where loops jump. */
		u32 entries = (u32)((double)t->keys * 1.1 * (i - 0.37) / points);

		sum += distance(lru_hits(t, entries, false), shards_hits(s, entries));
	}
	return sum / points;
}

/* With few keys all are watched, and each number is that of the cache. */
static void test_exact(void **state)
{
	struct trace t = trace_zipf(500, 20000);
	struct shards *s = watch(&t, 1000, 0);
	struct shards_stats st;
	u64 all = 0;

	(void)state;
	for (u32 n = 1; n <= 128; n += 3)
		assert_true(distance(shards_hits(s, n), lru_hits(&t, n, false)) < 1e-9);
	for (u32 n = 128; n <= 600; n += 50) /* cells of two places and more */
		assert_true(distance(shards_hits(s, n), lru_hits(&t, n, false)) < 0.002);
	for (u32 i = 0; i < t.keys; i++)
		all += key_size(i);
	for (u64 bytes = 1000; bytes < all * 11 / 10; bytes += all / 20)
		assert_true(distance(shards_hits_bytes(s, (double)bytes),
		                     lru_hits(&t, bytes, true)) < 0.003);
	shards_stats(s, &st);
	assert_int_equal(st.uses, t.uses);
	assert_int_equal(st.watched, t.uses);
	assert_int_equal(st.keys, 500);
	assert_true(st.rate == 1 && st.keys_all == 500);
	assert_true(distance(shards_hits_most(s), 1 - 500.0 / t.uses) < 1e-9);
	shards_free(s);
	free(t.use);
}

/* Entries and bytes for a share of the hits are the curve read the other way round. */
static void test_sizes(void **state)
{
	struct trace t = trace_zipf(20000, 300000);
	struct shards *s = watch(&t, 0, 0);
	double most = shards_hits_most(s);

	(void)state;
	for (u32 tenth = 1; tenth < 10; tenth++) {
		double part = tenth / 10.0;
		double n = shards_entries(s, part), bytes = shards_bytes(s, part);

		assert_true(distance(lru_hits(&t, (u64)n, false), part * most) < 0.01);
		assert_true(distance(lru_hits(&t, (u64)bytes, true), part * most) < 0.01);
	}
	assert_true(shards_entries(s, 1) <= 20000 * 1.01);
	assert_true(shards_knee(s) > 100 && shards_knee(s) < shards_entries(s, 0.95));
	shards_free(s);
	free(t.use);
}

static void test_zipf_one_percent(void **state)
{
	struct trace t = trace_zipf(500000, 2000000);
	struct shards *s = watch(&t, 1 << 20, 0.01);

	(void)state;
	assert_true(error_of(&t, s, 12) < 0.01);
	shards_free(s);
	free(t.use);
}

/* A loop hits nothing or all. */
static void test_loop_one_percent(void **state)
{
	struct trace t = trace_loop(1000000, 3000000);
	struct shards *s = watch(&t, 1 << 20, 0.01);

	(void)state;
	assert_true(error_of(&t, s, 12) < 0.01);
	assert_true(distance(shards_entries(s, 0.95), 1e6) < 0.02 * 1e6);
	assert_true(distance(shards_knee(s), 1e6) < 0.02 * 1e6);
	shards_free(s);
	free(t.use);
}

/*
 * Rows of few entries stand for the hottest keys, of which few or none are watched. The estimate is
 * not to take what was missed for hits of the smallest cache, and has to know its error: over
 * samples of other keys, nine of ten rows lie within.
 */
static void test_few_entries(void **state)
{
	struct trace t = trace_zipf_of(100000, 500000, 0.8);
	static const u32 rows[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000, 50000 };
	struct shards *exact = watch(&t, 1 << 17, 0);
	u32 within = 0, tried = 0;
	double first = 0, sum = 0;

	(void)state;
	for (u32 seed = 1; seed <= 10; seed++) {
		struct shards *s = watch_seed(&t, 0, 0, seed);

		for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
			double off = distance(shards_hits(s, rows[i]), shards_hits(exact, rows[i]));

			within += off <= shards_error(s, rows[i]);
			tried++;
			sum += off;
			first += i ? 0 : off / 10;
		}
		shards_free(s);
	}
	assert_true(shards_error(exact, 100) == 0);
	assert_true(within >= tried * 9 / 10);
	assert_true(first < 0.003);
	assert_true(sum / tried < 0.01);
	shards_free(exact);
	free(t.use);
}

/* Hits never fall as the cache grows, and the sizes asked for have the hits asked for. */
static void test_rises(void **state)
{
	struct trace t = trace_zipf(200000, 500000);

	(void)state;
	for (u32 seed = 1; seed <= 8; seed++) {
		struct shards *s = watch_seed(&t, 2048, 0, seed);
		double most = shards_hits_most(s), before = 0;

		for (u32 at = 1; at < 400000; at += at / 15 + 1) {
			assert_true(shards_hits(s, at) >= before);
			before = shards_hits(s, at);
			assert_true(before <= most + 1e-9);
		}
		for (u32 tenth = 5; tenth < 10; tenth++) {
			double part = tenth / 10.0;

			assert_true(distance(shards_hits(s, shards_entries(s, part)), part * most) <
			            0.002);
			assert_true(distance(shards_hits_bytes(s, shards_bytes(s, part)),
			                     part * most) < 0.002);
		}
		shards_free(s);
	}
	free(t.use);
}

/* Fixed memory: the threshold sinks while the trace runs. */
static void test_sinks(void **state)
{
	struct trace t = trace_zipf(200000, 1000000);
	struct shards *s = watch(&t, 4096, 0);
	struct shards_stats st;

	(void)state;
	shards_stats(s, &st);
	assert_true(st.keys <= 4096 && st.keys > 3500);
	assert_true(st.rate < 0.04 && st.rate > 0.01);
	assert_true(shards_threshold(s) < UINT64_MAX / 25);
	assert_true(error_of(&t, s, 12) < 0.02);
	shards_free(s);
	free(t.use);
}

/* The caller leaves out what is not watched and says how much that was. */
static void test_skip(void **state)
{
	struct trace t = trace_zipf(100000, 300000);
	struct shards_options o = { .samples = 2048 };
	struct err e = { 0 };
	struct shards *all = watch(&t, 2048, 0), *s = shards_new(&o, &e);
	u64 skipped = 0;

	(void)state;
	for (u32 i = 0; i < t.uses; i++) {
		u64 hash = hash_mix(t.use[i] + 1);

		if (hash < shards_threshold(s))
			shards_use(s, hash, key_size(t.use[i]), SHARDS_GET);
		else
			skipped++;
	}
	shards_skip(s, skipped);
	for (u32 n = 1; n < 100000; n *= 3)
		assert_true(shards_hits(s, n) == shards_hits(all, n));
	shards_free(all);
	shards_free(s);
	free(t.use);
}

static void test_uses(void **state)
{
	struct shards_options o = { .samples = 16 };
	struct err e = { 0 };
	struct shards *s = shards_new(&o, &e);

	(void)state;
	assert_true(shards_hits(s, 10) == 0 && shards_entries(s, 0.95) == 0);
	assert_true(shards_knee(s) == 0 && shards_bytes(s, 0.5) == 0);
	shards_use(s, 1, 10, SHARDS_MISSED); /* nobody puts it in */
	shards_use(s, 1, 10, SHARDS_MISSED);
	assert_true(shards_hits(s, 10) == 0);
	shards_use(s, 1, 10, SHARDS_PUT);
	shards_use(s, 1, 0, SHARDS_GET);
	assert_true(distance(shards_hits(s, 1), 1 / 3.0) < 1e-9);
	assert_true(distance(shards_hits_bytes(s, 10), 1 / 3.0) < 1e-9);
	assert_true(shards_hits_bytes(s, 9) == 0);
	shards_use(s, 1, 0, SHARDS_DROP);
	shards_use(s, 1, 0, SHARDS_DROP);
	shards_use(s, 1, 10, SHARDS_GET);
	assert_true(distance(shards_hits(s, 1), 1 / 4.0) < 1e-9);
	shards_free(s);
	shards_free(NULL);
}

static void test_clear(void **state)
{
	struct shards_options o = { .samples = 64 };
	struct err e = { 0 };
	struct shards *s = shards_new(&o, &e);
	struct shards_stats st;
	u64 random = 7;

	(void)state;
	assert_non_null(s);
	shards_clear(s);
	for (u32 round = 0; round < 3; round++) {
		for (u32 i = 0; i < 50; i++)
			shards_use(s, random_next(&random), 100, SHARDS_PUT);
		shards_use(s, 5, 100, SHARDS_GET);
		shards_use(s, 5, 100, SHARDS_GET);
		shards_clear(s);
		shards_stats(s, &st);
		assert_int_equal(st.keys, 0);
	}
	/* Of six uses, three were of a key used before and not cleared since. */
	assert_int_equal(st.uses, 6);
	assert_float_equal(shards_hits_most(s), 0.5, 1e-9);
	assert_float_equal(shards_hits(s, 1), 0.5, 1e-9);
	assert_float_equal(shards_hits_bytes(s, 100), 0.5, 1e-9);
	shards_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_zipf_one_percent),
		cmocka_unit_test(test_loop_one_percent),
		cmocka_unit_test(test_few_entries),
		cmocka_unit_test(test_rises),
		cmocka_unit_test(test_sinks),
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_uses),
		cmocka_unit_test(test_clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
