// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Keys that become hot: when they are told, when again, and in which forms. */
#include "cache/alert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND 1000000000ull
#define START  (1000 * SECOND)

struct told {
	u32 n;
	u64 time;
	double calls, all;
	char key[16];
};

static void on_told(void *ctx, const struct alert_key *k)
{
	struct told *t = ctx;

	t->n++;
	t->time = k->time;
	t->calls = k->calls;
	t->all = k->all;
	snprintf(t->key, sizeof(t->key), "%.*s", (int)k->key.n, k->key.p);
}

static struct alert *make(const char *text, struct told *t)
{
	struct alert_options o = { .start = START, .told = on_told, .ctx = t };
	struct err e = { 0 };
	struct alert *a;

	*t = (struct told){ 0 };
	assert_true(alert_parse(text, &o, &e));
	a = alert_new(&o, &e);
	assert_non_null(a);
	return a;
}

/* So many calls a second, evenly, of each of two keys; either may be 0. */
static void run(struct alert *a, u64 from, u64 to, u32 hot, u32 other)
{
	double due[2] = { 0, 0 };
	const u32 rates[2] = { hot, other };

	for (u64 time = from; time < to; time += SECOND / 10000)
		for (u32 i = 0; i < 2; i++)
			for (due[i] += rates[i] / 10000.0; due[i] >= 1; due[i]--)
				alert_call(a, i ? STR("other") : STR("hot"), i ? 5 : 3, time);
}

static void a_rate_is_told_within_the_second(void **state)
{
	struct told t;
	struct alert *a = make("500/s", &t);

	(void)state;
	run(a, START, START + 5 * SECOND, 480, 300); /* never, though slots are not a second */
	assert_int_equal(t.n, 0);
	alert_free(a);
	for (u32 rate = 520; rate <= 5200; rate *= 10) {
		/* wherever in a slot it begins */
		for (u64 shift = 0; shift < SECOND / 10; shift += SECOND / 70) {
			a = make("500/s", &t);
			run(a, START + shift, START + shift + 2 * SECOND, rate, 0);
			assert_int_equal(t.n, 1);
			assert_string_equal(t.key, "hot");
			assert_true(t.time - START - shift <= SECOND * 520 / rate);
			assert_true(t.time - START - shift >= SECOND * 490 / rate);
			alert_free(a);
		}
	}
}

static void a_share_is_told_within_the_second(void **state)
{
	struct told t;
	struct alert *a = make("25", &t);

	(void)state;
	/* A tenth of the calls, and from the third second on half. */
	run(a, START, START + SECOND * 9 / 10, 100, 900); /* not yet: the first second */
	assert_int_equal(t.n, 0);
	run(a, START + SECOND * 9 / 10, START + 2 * SECOND, 100, 900);
	assert_int_equal(t.n, 1);
	assert_string_equal(t.key, "other");
	run(a, START + 2 * SECOND, START + 3 * SECOND, 500, 500);
	assert_int_equal(t.n, 2);
	assert_string_equal(t.key, "hot");
	assert_true(t.time > START + 2 * SECOND && t.time < START + SECOND * 25 / 10);
	assert_true(t.calls / t.all >= 0.25 && t.calls / t.all < 0.27);
	alert_free(a);
}

static void few_calls_say_nothing_of_shares(void **state)
{
	struct told t;
	struct alert *a = make("25%", &t);

	(void)state;
	run(a, START, START + 5 * SECOND, ALERT_CALLS - 10, 0);
	assert_int_equal(t.n, 0);
	run(a, START + 5 * SECOND, START + 6 * SECOND, ALERT_CALLS + 10, 0);
	assert_int_equal(t.n, 1);
	alert_free(a);
}

/* Once while it is hot, also where it is just so; again when it was half as hot. */
static void told_again(void **state)
{
	struct told t;
	struct alert *a = make("500/s", &t);

	(void)state;
	run(a, START, START + 3 * SECOND, 600, 0);
	run(a, START + 3 * SECOND, START + 5 * SECOND, 400, 0);
	run(a, START + 5 * SECOND, START + 7 * SECOND, 600, 0);
	assert_int_equal(t.n, 1);
	run(a, START + 7 * SECOND, START + 9 * SECOND, 200, 0);
	assert_int_equal(t.n, 1);
	run(a, START + 9 * SECOND, START + 11 * SECOND, 600, 0);
	assert_int_equal(t.n, 2);
	run(a, START + 20 * SECOND, START + 22 * SECOND, 600, 0); /* silent in between */
	assert_int_equal(t.n, 3);
	alert_free(a);
}

static void what_is_asked_for(void **state)
{
	static const char *const wrong[] = { "",    "x",  "0", "-1",  "101", "20x",
		                             "5/m", "/s", "%", "0/s", "nan", "5 /s" };
	struct alert_options o = { 0 };
	struct err e = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(alert_parse(wrong[i], &o, &e));
	assert_non_null(strstr(e.text, "'5 /s'"));
	assert_true(alert_parse("0.5%", &o, &e));
	assert_true(o.share == 0.005 && !o.rate);
	o = (struct alert_options){ 0 };
	assert_true(alert_parse("1e5/s", &o, &e));
	assert_true(o.rate == 1e5 && !o.share);
}

static void three_forms(void **state)
{
	struct alert_key k = { { "a\n\"b", 4 }, START, 250, 1000 };
	struct buf b = { 0 };

	(void)state;
	setenv("TZ", "UTC", 1);
	alert_text(&b, &k, 1700000000123456789ull);
	assert_string_equal(buf_text(&b), "22:13:20.123 key a\\x0a\"b is hot: 250 calls within a "
	                                  "second, 25.0 % of all\n");
	buf_reset(&b);
	alert_tree(&(struct tree){ .b = &b, .ops = &tree_json, .tight = true }, &k,
	           1700000000123456789ull);
	assert_string_equal(buf_text(&b), "{\"time\":1700000000.123,\"hot_key\":\"a\\\\x0a\\\"b\","
	                                  "\"calls\":250.0,\"share\":0.2500,"
	                                  "\"all_calls\":1000.0}\n");
	buf_reset(&b);
	alert_csv_head(&b);
	alert_csv(&b, &k, 1700000000123456789ull);
	assert_string_equal(buf_text(&b), "time,hot_key,calls,share,all_calls\n"
	                                  "1700000000.123,\"a\\x0a\"\"b\",250.0,0.2500,1000.0\n");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_is_told_within_the_second),
		cmocka_unit_test(a_share_is_told_within_the_second),
		cmocka_unit_test(few_calls_say_nothing_of_shares),
		cmocka_unit_test(told_again),
		cmocka_unit_test(what_is_asked_for),
		cmocka_unit_test(three_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
