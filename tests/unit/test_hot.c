// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The hot keys: what is counted for a key and for all, intervals, order, folding, hiding, and the
 * three forms it is printed in.
 */
#include "cache/hot.h"
#include "out/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "cache/report.h"

#define SECOND 1000000000ull

static const struct client host_a = { { 10, 0, 0, 1 }, 5000, AF_INET };
static const struct client host_a2 = { { 10, 0, 0, 1 }, 5001, AF_INET };
static const struct client host_b = { { 10, 0, 0, 2 }, 5000, AF_INET };

static struct hot *make(const struct hot_options *o)
{
	struct err e = { 0 };
	struct hot *h = hot_new(o, &e);

	assert_non_null(h);
	return h;
}

static struct command get_hit(const char *key, u64 size, u64 from, u64 to)
{
	return (struct command){ .op = OP_GET,
		                 .verb = "get",
		                 .key = str_of(key),
		                 .key_size = (u32)strlen(key),
		                 .outcome = OUTCOME_HIT,
		                 .sized = true,
		                 .size = size,
		                 .started = from,
		                 .ended = to,
		                 .answered = true,
		                 .cpu = (to - from) / 2,
		                 .first = true };
}

static void hit(struct hot *h, const char *key, u64 size, u64 time)
{
	struct command c = get_hit(key, size, time - 2000, time);

	hot_command(h, &c, &host_a);
}

static struct hot_row row_of(struct hot *h, const char *key)
{
	struct hot_row row;

	assert_true(hot_find(h, str_of(key), (u32)strlen(key), &row));
	return row;
}

/* "a b c": the keys in order. */
static void assert_order(struct hot *h, struct hot_query q, const char *expected)
{
	struct hot_row rows[8];
	struct buf b = { 0 };
	u32 n;

	q.n = q.n ? q.n : 8;
	n = hot_top(h, &q, rows);
	for (u32 i = 0; i < n; i++)
		buf_printf(&b, "%s%.*s", i ? " " : "", (int)rows[i].key.n, rows[i].key.p);
	assert_string_equal(buf_text(&b), expected);
	buf_free(&b);
}

static void counts_of_a_key(void **state)
{
	struct hot_options o = { .start = SECOND };
	struct hot *h = make(&o);
	struct command c = get_hit("a", 100, SECOND, SECOND + 5000);
	struct hot_row row;

	(void)state;
	hot_command(h, &c, &host_a);
	hot_command(h, &c, &host_a2);
	c.outcome = OUTCOME_MISS;
	c.sized = false;
	hot_command(h, &c, &host_b);
	c = (struct command){ .op = OP_SET,
		              .verb = "set",
		              .key = str_of("a"),
		              .key_size = 1,
		              .outcome = OUTCOME_HIT,
		              .sized = true,
		              .size = 70,
		              .started = 2 * SECOND,
		              .first = true };
	hot_command(h, &c, &host_b);
	row = row_of(h, "a");
	assert_int_equal(row.calls, 4);
	assert_int_equal(row.error, 0);
	assert_int_equal(row.more->hits, 3);
	assert_int_equal(row.more->misses, 1);
	assert_int_equal(row.more->found, 2); /* the set looked for nothing */
	assert_int_equal(row.more->absent, 1);
	assert_true(hot_hit_rate(2, 2) == 50);
	assert_true(isnan(hot_hit_rate(0, 0)));
	assert_int_equal(row.more->bytes, 270);
	assert_int_equal(row.more->size, 70);
	assert_int_equal(row.more->n_sizes, 2);
	assert_int_equal(row.more->last, 2 * SECOND);
	assert_int_equal(row.more->ops[OP_GET], 3);
	assert_int_equal(row.more->ops[OP_SET], 1);
	assert_int_equal(latency_total(&row.more->latency), 3); /* the set was not answered */
	assert_in_range(row.p50, 4096, 6144);
	assert_int_equal(row.more->clients[0].calls, 2); /* ports do not make a host */
	assert_int_equal(row.more->clients[1].calls, 2);
	assert_true(client_same_host(&row.more->clients[1].who, &host_b));
	hot_free(h);
}

/* What was appended, or could not be stored, is no value's size. */
static void sizes_of_values(void **state)
{
	struct hot_options o = { 0 };
	struct hot *h = make(&o);
	struct command c = { .op = OP_APPEND,
		             .verb = "append",
		             .key = str_of("a"),
		             .key_size = 1,
		             .outcome = OUTCOME_HIT,
		             .sized = true,
		             .size = 5,
		             .first = true };

	(void)state;
	hot_command(h, &c, &host_a);
	assert_int_equal(row_of(h, "a").more->n_sizes, 0);
	c.op = OP_ADD;
	c.outcome = OUTCOME_MISS;
	hot_command(h, &c, &host_a);
	assert_int_equal(row_of(h, "a").more->n_sizes, 0);
	c.outcome = OUTCOME_HIT;
	hot_command(h, &c, &host_a);
	assert_int_equal(row_of(h, "a").more->size, 5);
	hot_free(h);
}

static void totals(void **state)
{
	struct hot_options o = { 0 };
	struct hot *h = make(&o);
	struct command c = get_hit("a", 10, 1000, 9000);
	struct command none = { .op = OP_OTHER, .verb = "version", .first = true };
	const struct hot_totals *t = hot_totals(h);

	(void)state;
	hot_command(h, &c, &host_a);
	c.first = false; /* the second key of a multi-get */
	c.key = str_of("b");
	c.outcome = OUTCOME_MISS;
	c.sized = false;
	hot_command(h, &c, &host_a);
	hot_command(h, &none, &host_a);
	assert_int_equal(t->commands, 2);
	assert_int_equal(t->calls, 2);
	assert_int_equal(t->hits, 1);
	assert_int_equal(t->misses, 1);
	assert_int_equal(t->bytes, 10);
	assert_int_equal(latency_total(&t->latency), 1);
	assert_int_equal(latency_total(&row_of(h, "b").more->latency), 1);
	hot_free(h);
}

/* As the server counts; when it begins anew, so do these. */
static void counters(void **state)
{
	struct hot_options o = { 0 };
	struct hot *h = make(&o);
	struct command c = get_hit("a", 10, 1000, 9000);
	struct command reset = { .op = OP_OTHER, .verb = "stats", .counter = COUNTER_RESET };
	const struct hot_totals *t = hot_totals(h);

	(void)state;
	c.counter = COUNTER_TOUCH;
	c.counted = COUNTED_HIT;
	hot_command(h, &c, &host_a);
	assert_int_equal(t->counters[COUNTER_TOUCH][COUNTED_HIT], 1);
	assert_int_equal(t->resets, 0);
	hot_command(h, &reset, &host_a);
	hot_command(h, &c, &host_a);
	assert_int_equal(t->counters[COUNTER_TOUCH][COUNTED_HIT], 1);
	assert_int_equal(t->resets, 1);
	assert_int_equal(t->calls, 2);
	hot_free(h);
}

/* Redis has a key "", and commands without any. */
static void empty_key(void **state)
{
	struct hot_options o = { 0 };
	struct hot *h = make(&o);
	struct command c = get_hit("", 10, 1000, 9000);
	struct command none = { .op = OP_OTHER, .verb = "PING", .first = true };

	(void)state;
	hot_command(h, &c, &host_a);
	hot_command(h, &none, &host_a);
	assert_int_equal(hot_totals(h)->calls, 1);
	assert_int_equal(row_of(h, "").calls, 1);
	hot_free(h);
}

static void intervals(void **state)
{
	struct hot_options o = { .start = 0 };
	struct hot *h = make(&o);

	(void)state;
	for (u32 i = 0; i < 10; i++)
		hit(h, "a", 1, SECOND / 2);
	assert_true(row_of(h, "a").rate == 0); /* no interval has ended */
	hot_tick(h, 2 * SECOND);
	assert_true(row_of(h, "a").rate == 5);
	assert_int_equal(hot_totals(h)->interval_calls, 10);
	hit(h, "a", 1, 2 * SECOND + 1);
	assert_true(row_of(h, "a").rate == 5); /* still that of the interval that ended */
	hot_tick(h, 3 * SECOND);
	assert_true(row_of(h, "a").rate == 1);
	hot_tick(h, 4 * SECOND);
	assert_true(row_of(h, "a").rate == 0);
	assert_true(row_of(h, "a").decayed > 0);
	hit(h, "a", 1, 5 * SECOND);
	assert_true(row_of(h, "a").rate == 0);
	assert_int_equal(row_of(h, "a").calls, 12);
	hot_clear(h, 5 * SECOND);
	assert_int_equal(hot_totals(h)->calls, 0);
	assert_order(h, (struct hot_query){ .by = HOT_CALLS }, "");
	hot_free(h);
}

static void orders(void **state)
{
	struct hot_options o = { 0 };
	struct hot *h = make(&o);
	struct command miss = get_hit("c", 0, 1, 50000);

	(void)state;
	hit(h, "a", 5, 1 * SECOND);
	hit(h, "a", 5, 2 * SECOND);
	hit(h, "b", 9, 3 * SECOND);
	miss.outcome = OUTCOME_MISS;
	miss.sized = false;
	hot_command(h, &miss, &host_a);
	hot_tick(h, 4 * SECOND);
	assert_order(h, (struct hot_query){ .by = HOT_CALLS }, "a b c");
	assert_order(h, (struct hot_query){ .by = HOT_CALLS, .ascending = true }, "b c a");
	assert_order(h, (struct hot_query){ .by = HOT_CALLS, .n = 1 }, "a");
	assert_order(h, (struct hot_query){ .by = HOT_SIZE }, "b a c");
	assert_order(h, (struct hot_query){ .by = HOT_RATE }, "a b c");
	assert_order(h, (struct hot_query){ .by = HOT_BYTES }, "a b c");
	assert_order(h, (struct hot_query){ .by = HOT_LATENCY }, "c a b");
	assert_order(h, (struct hot_query){ .by = HOT_LAST }, "b a c");
	assert_order(h, (struct hot_query){ .by = HOT_LAST, .ascending = true }, "c a b");
	assert_order(h, (struct hot_query){ .by = HOT_MISSES }, "c a b");
	assert_order(h, (struct hot_query){ .by = HOT_CALLS, .filter = str_of("b") }, "b");
	assert_int_equal(hot_sort_find(str_of("calls")), HOT_CALLS);
	assert_int_equal(hot_sort_find(str_of("last")), HOT_LAST);
	assert_int_equal(hot_sort_find(str_of("nothing")), HOT_SORTS);
	hot_free(h);
}

/* What was asked for long ago gives way, as soon as it is told to. */
static void recent(void **state)
{
	static const struct {
		u64 half;
		const char *order;
	} cases[] = {
		{ 0, "new old" }, { 60, "new old" }, { 3600, "old new" }, { ~0ull, "old new" }
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hot_options o = { .half = cases[i].half };
		struct hot *h = make(&o);

		for (u32 k = 0; k < 10; k++)
			hit(h, "old", 5, 1 * SECOND);
		for (u32 k = 0; k < 3; k++)
			hit(h, "new", 5, 301 * SECOND);
		assert_order(h, (struct hot_query){ .by = HOT_CALLS }, "old new");
		assert_order(h, (struct hot_query){ .by = HOT_RECENT }, cases[i].order);
		hot_free(h);
	}
	assert_int_equal(hot_sort_find(str_of("recent")), HOT_RECENT);
}

static void folded_and_hidden(void **state)
{
	struct hot_options o = { .fold = true, .secret = { { 1, 2 } } };
	struct hot *h = make(&o);
	struct hot_row row;
	struct hot_query q = { .n = 1 };

	(void)state;
	hit(h, "user:1:feed", 5, 1);
	hit(h, "user:22:feed", 5, 2);
	assert_order(h, q, "user:*:feed");
	assert_int_equal(row_of(h, "user:*:feed").calls, 2);
	hot_free(h);

	o.fold = false;
	o.hide = true;
	h = make(&o);
	hit(h, "secret", 5, 1);
	hit(h, "secret", 5, 2);
	assert_int_equal(hot_top(h, &q, &row), 1);
	assert_int_equal(row.calls, 2);
	assert_int_equal(row.key.n, 16);
	assert_int_equal(strspn(row.key.p, "0123456789abcdef") >= 16, 1);
	hot_free(h);
}

/* The client that a fifth one pushes out is the least busy; counts are never too low. */
static void many_clients(void **state)
{
	struct hot_options o = { 0 };
	struct hot *h = make(&o);
	u64 most = 0;

	(void)state;
	for (u32 i = 0; i < 1000; i++) {
		struct command c = get_hit("a", 1, 1, 2);
		struct client who = { { 10, 0, 1, (u8)(i % 2 ? 1 : i % 100 + 2) }, 1, AF_INET };

		hot_command(h, &c, &who);
	}
	for (u32 i = 0; i < HOT_CLIENTS; i++)
		if (row_of(h, "a").more->clients[i].who.address[3] == 1)
			most = row_of(h, "a").more->clients[i].calls;
	assert_in_range(most, 500, 700);
	hot_free(h);
}

static void quantiles(void **state)
{
	struct latency l = { 0 };

	(void)state;
	assert_int_equal(latency_quantile(&l, 0.5), 0);
	for (u64 us = 1; us <= 1000; us++)
		latency_count(&l, latency_bucket(us * 1000));
	for (u32 percent = 10; percent < 100; percent++) {
		u64 got = latency_quantile(&l, percent / 100.0), real = percent * 10000;

		assert_in_range(got, real * 9 / 10, real * 11 / 10);
	}
	for (u32 i = 1; i < LATENCY_BUCKETS; i++) {
		struct latency one = { 0 };

		assert_true(latency_from(i) > latency_from(i - 1));
		latency_count(&one, latency_bucket(latency_from(i)));
		assert_int_equal(one.n[i], 1);
		latency_count(&one, latency_bucket(latency_from(i) - 1));
		assert_int_equal(one.n[i - 1], 1);
	}
	l = (struct latency){ 0 };
	latency_count(&l, latency_bucket(0));
	latency_count(&l, latency_bucket(UINT64_MAX));
	assert_int_equal(l.n[0], 1);
	assert_int_equal(l.n[LATENCY_BUCKETS - 1], 1);
	l.n[0] = UINT32_MAX;
	latency_count(&l, latency_bucket(5));
	assert_int_equal(l.n[0], UINT32_MAX / 2 + 1);
}

/* ---- what is printed ------------------------------------------------------------------------ */

typedef void print_fn(struct buf *b, const struct report_of *r);

static void as_object(struct buf *b, const struct report_of *r)
{
	report_tree(&(struct tree){ .b = b, .ops = &tree_json, .tight = true }, r);
}

static void print(struct hot *h, print_fn *form, struct buf *b)
{
	struct hot_query q = { .n = 5 };
	struct hot_row rows[5];
	struct report_of r = { .hot = h,
		               .rows = rows,
		               .time = 1700000000123456789ull,
		               .clock = 3 * SECOND,
		               .server = "memcached",
		               .pid = 77,
		               .missed = { .events = 3,
		                           .commands = 2,
		                           .at_least = true,
		                           .replies = 3,
		                           .unconfirmed = 1 } };

	r.n = hot_top(h, &q, rows);
	buf_reset(b);
	form(b, &r);
}

static struct hot *printed_keys(void)
{
	struct hot_options o = { 0 };
	struct hot *h = make(&o);
	struct command c = { .op = OP_SET,
		             .verb = "set",
		             .key = { "q\"\xff\\", 4 },
		             .key_size = 4,
		             .sized = true,
		             .size = 70,
		             .started = SECOND,
		             .first = true };

	hit(h, "a", 1500, SECOND);
	hit(h, "a", 1500, 2 * SECOND);
	hot_command(h, &c, &host_b);
	hot_tick(h, 2 * SECOND);
	return h;
}

/* What mctop's help and manual page promise of its default. */
static void room_for_keys(void **state)
{
	struct hot_options o = { 0 };
	struct keys_stats stats;
	struct err e = { 0 };
	struct hot *h = hot_new(&o, &e);

	(void)state;
	assert_non_null(h);
	hot_stats(h, &stats);
	assert_in_range(stats.slots, 58000, 60000);
	hot_free(h);
}

static void as_json(void **state)
{
	struct hot *h = printed_keys();
	struct buf b = { 0 };

	(void)state;
	print(h, as_object, &b);
	assert_string_equal(
		buf_text(&b),
		"{\"time\":1700000000.123,\"server\":{\"name\":\"memcached\",\"pid\":77,"
		"\"running\":true},"
		"\"total\":{\"rate\":1.5,\"calls\":3,\"commands\":3,\"hits\":2,\"misses\":0,"
		"\"lookups\":2,\"lookup_hits\":2,"
		"\"errors\":0,\"bytes\":3070,\"p50_us\":1.9,\"p99_us\":2.0,"
		"\"cpu_us\":2.0,\"cpu_calls\":2,\"keys\":2,"
		"\"keys_error\":0.0000,\"exact\":true,\"covered\":1.0000,\"sample\":1,"
		"\"lost_events\":3,"
		"\"lost_commands\":2,\"lost_commands_error\":0,\"unseen_replies\":3,\"unconfirmed_"
		"calls\":1,\"master_bytes\":0,\"unknown_commands\":0},\"keys\":[{"
		"\"key\":\"a\",\"calls\":2,"
		"\"error\":0,"
		"\"rate\":1.0,\"rate_decayed\":0.1,\"hits\":2,\"misses\":0,"
		"\"lookups\":2,\"lookup_hits\":2,\"size\":1500,"
		"\"bytes\":3000,\"p50_us\":1.9,\"p99_us\":2.0,"
		"\"cpu_us\":2.0,\"cpu_calls\":2,\"last_s\":1.000,"
		"\"commands\":{\"get\":2},\"clients\":[{\"client\":\"10.0.0.1\",\"calls\":2}]},"
		"{\"key\":\"q\\\"\\\\xff\\\\\\\\\",\"calls\":1,\"error\":0,\"rate\":0.5,"
		"\"rate_decayed\":0.1,\"hits\":0,\"misses\":0,\"lookups\":0,\"lookup_hits\":0,"
		"\"size\":70,\"bytes\":70,"
		"\"p50_us\":null,\"p99_us\":null,\"cpu_us\":null,\"cpu_calls\":0,"
		"\"last_s\":2.000,\"commands\":{\"set\":1},"
		"\"clients\":[{\"client\":\"10.0.0.2\",\"calls\":1}]}]}\n");
	buf_free(&b);
	hot_free(h);
}

/* By the protocol's words, whatever the address of these; the most calls first. */
static struct hot *commands_of_two(void)
{
	struct hot_options o = { .start = SECOND };
	struct hot *h = make(&o);
	static const char again[] = "get";
	struct command c;

	for (u32 i = 0; i < 4; i++)
		hit(h, "a", i ? 1023 : 1024, SECOND);
	c = get_hit("a-longer-key-of-23-bytes", 0, SECOND, SECOND + 2000);
	c.verb = again;
	hot_command(h, &c, &host_a);
	c.outcome = OUTCOME_ERROR; /* no value was moved */
	c.verb = "HGETALL";
	c.cpu = 0;
	hot_command(h, &c, &host_a);
	c.cpu = 15000;
	hot_command(h, &c, &host_a);
	return h;
}

static void by_command(void **state)
{
	struct hot *h = commands_of_two();
	struct buf b = { 0 };
	struct tree t = { .b = &b, .ops = &tree_json, .tight = true };

	(void)state;
	verbs_text(&b, hot_verbs(h));
	assert_string_equal(
		buf_text(&b),
		"COMMAND              CALLS  CALL%   CPU%    CPUus  BYTES OF THE VALUE\n"
		"get                      5   71.4   25.0      1.0  0: 20.0 %, 512-1023: 60.0 %, "
		"1k: 20.0 %\n"
		"HGETALL                  2   28.6   75.0     15.0  -\n"
		"bytes of the key: 1: 57.1 %, 16-31: 42.9 %\n");
	buf_reset(&b);
	tree_object(&t, NULL);
	verbs_tree(&t, hot_verbs(h));
	tree_end(&t);
	assert_string_equal(
		buf_text(&b),
		"{\"by_command\":[{\"command\":\"get\",\"calls\":5,\"cpu_us\":5.0,\"cpu_calls\":5,"
		"\"value_bytes\":[{\"from\":0,\"to\":0,\"calls\":1},"
		"{\"from\":512,\"to\":1023,\"calls\":3},{\"from\":1024,\"to\":2047,\"calls\":1}]},"
		"{\"command\":\"HGETALL\",\"calls\":2,\"cpu_us\":15.0,\"cpu_calls\":1,"
		"\"value_bytes\":[]}],"
		"\"key_bytes\":[{\"from\":1,\"to\":1,\"calls\":4},"
		"{\"from\":16,\"to\":31,\"calls\":3}]}\n");
	hot_clear(h, 2 * SECOND);
	buf_reset(&b);
	verbs_text(&b, hot_verbs(h));
	assert_null(strstr(buf_text(&b), "get"));
	buf_free(&b);
	hot_free(h);
}

/* More commands than there is room for are counted together. */
static void many_commands(void **state)
{
	static char names[VERBS + 10][8];
	struct hot_options o = { .start = SECOND };
	struct hot *h = make(&o);
	struct command c = get_hit("a", 1, SECOND, SECOND + 2000);
	struct buf b = { 0 };

	(void)state;
	for (u32 i = 0; i < VERBS + 10; i++) {
		snprintf(names[i], sizeof(names[i]), "v%u", i);
		c.verb = names[i];
		hot_command(h, &c, &host_a);
	}
	verbs_text(&b, hot_verbs(h));
	assert_non_null(strstr(buf_text(&b), "\nothers                  10 "));
	assert_non_null(strstr(buf_text(&b), "\nv511                     1 "));
	assert_null(strstr(buf_text(&b), "\nv512 "));
	buf_free(&b);
	hot_free(h);
}

static void as_csv(void **state)
{
	struct hot *h = printed_keys();
	struct buf b = { 0 };

	(void)state;
	print(h, report_csv, &b);
	assert_string_equal(
		buf_text(&b),
		"1700000000.123,\"a\",2,0,1.0,0.1,2,0,2,2,1500,3000,1.9,2.0,2.0,2,10.0.0.1\n"
		"1700000000.123,\"q\"\"\\xff\\\\\",1,0,0.5,0.1,0,0,0,0,70,70,,,,0,10.0.0.2\n");
	buf_reset(&b);
	report_csv_head(&b);
	assert_string_equal(
		buf_text(&b),
		"time,key,calls,error,rate,rate_decayed,hits,misses,lookups,lookup_hits,size,"
		"bytes,p50_us,p99_us,cpu_us,cpu_calls,client\n");
	buf_free(&b);
	hot_free(h);
}

/* Numbers stay numbers; text is no formula. */
static void csv_formulas(void **state)
{
	static const struct column key = COL_TEXT("key", NULL), n = COL_GAUGE("n", NULL);
	static const char *const texts[][2] = { { "=1+1", "\"'=1+1\"" }, { "+x", "\"'+x\"" },
		                                { "-x", "\"'-x\"" },     { "@x", "\"'@x\"" },
		                                { "'=x", "\"''=x\"" },   { "a=1", "\"a=1\"" },
		                                { "", "\"\"" } };
	struct buf b = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(texts); i++) {
		buf_reset(&b);
		csv_figure(&b, 0, &key,
		           &(struct figure){ .kind = FIGURE_TEXT, .text = str_of(texts[i][0]) });
		assert_string_equal(buf_text(&b), texts[i][1]);
	}
	buf_reset(&b);
	csv_figure(&b, 1, &n, &(struct figure){ .kind = FIGURE_SIGNED, .number = -5 });
	assert_string_equal(buf_text(&b), ",-5");
	buf_free(&b);
}

static void as_text(void **state)
{
	struct hot *h = printed_keys();
	struct buf b = { 0 };

	(void)state;
	setenv("TZ", "UTC", 1);
	print(h, report_text, &b);
	assert_string_equal(
		buf_text(&b),
		"22:13:20 memcached 77: 2 calls/s, 100.0 % hits, p50 1.9 us, p99 2.0 us, 2 keys\n"
		"KEY                      CALLS   RATE/S   HIT%  MISSES     SIZE    BYTES   P50us  "
		" "
		"P99us   CPU%   LAST  CLIENT\n"
		"a                            2        1  100.0       0     1500     3.0k     1.9  "
		" "
		"  2.0  100.0    1.0  10.0.0.1\n"
		"q\"\\xff\\\\                     1        0      -       0       70       70     "
		"  "
		"-       -      -    2.0  10.0.0.2\n"
		"these 2 are 100.0 % of 3 calls; 3 events lost, at least 2 commands lost, "
		"3 replies not seen, 1 calls not confirmed\n\n");
	buf_free(&b);
	hot_free(h);
}

/* A server that has ended does not look like one that is idle. */
static void of_a_server_that_is_gone(void **state)
{
	struct hot_options o = { 0 };
	struct hot *h = make(&o);
	struct report_of r = { .hot = h, .server = "memcached", .pid = 77, .gone = true };
	struct buf b = { 0 };

	(void)state;
	report_text(&b, &r);
	assert_non_null(strstr(buf_text(&b), " memcached 77 has ended, waiting for it: 0 calls/s"));
	buf_reset(&b);
	as_object(&b, &r);
	assert_non_null(strstr(buf_text(&b), "\"pid\":77,\"running\":false}"));
	buf_free(&b);
	hot_free(h);
}

static void missed_in_words(void **state)
{
	static const struct {
		struct missed missed;
		const char *text;
	} cases[] = {
		{ { 0 }, "0 events lost, 0 commands lost" },
		{ { .events = 4, .commands = 1200 }, "4 events lost, 1200 commands lost" },
		{ { .events = 4, .commands = 1200, .error = 7 },
		  "4 events lost, about 1200 commands lost (+-7)" },
		{ { .commands = 1, .at_least = true, .replies = 2 },
		  "0 events lost, at least 1 commands lost, 2 replies not seen" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = { 0 };

		missed_print(&b, &cases[i].missed);
		assert_string_equal(buf_text(&b), cases[i].text);
		buf_free(&b);
	}
}

static void numbers(void **state)
{
	static const struct {
		double n;
		const char *text;
	} cases[] = { { 0, "0" },           { 999, "999" },     { 1000, "1.0k" },
		      { 999949, "999.9k" }, { 999960, "1.0M" }, { 1.5e9, "1.5G" },
		      { 1e18, "1000.0P" } };
	struct buf b = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		buf_reset(&b);
		report_number(&b, cases[i].n);
		assert_string_equal(buf_text(&b), cases[i].text);
	}
	buf_free(&b);
}

static void addresses(void **state)
{
	static const struct {
		struct client c;
		const char *host, *whole;
	} cases[] = {
		{ { { 10, 0, 0, 1 }, 5000, AF_INET }, "10.0.0.1", "10.0.0.1:5000" },
		{ { { [15] = 1 }, 5000, AF_INET6 }, "::1", "[::1]:5000" },
		{ { { 0 }, 123, AF_UNIX }, "unix:123", "unix:123" },
		{ { { 0 }, 0, AF_UNSPEC }, "?", "?" },
	};
	struct buf b = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		buf_reset(&b);
		client_host(&b, &cases[i].c);
		assert_string_equal(buf_text(&b), cases[i].host);
		buf_reset(&b);
		client_print(&b, &cases[i].c);
		assert_string_equal(buf_text(&b), cases[i].whole);
		assert_true(client_same_host(&cases[i].c, &cases[i].c));
	}
	assert_true(client_same_host(&host_a, &host_a2));
	assert_false(client_same_host(&host_a, &host_b));
	buf_free(&b);
}

/* All are counted; what is kept of one in so many adds up to the calls of these. */
static void one_key_in_so_many(void **state)
{
	struct hot_options o = { .start = SECOND, .sample = 8, .secret = { { 1, 2 } } };
	struct hot *h = make(&o);
	u32 looked_at = 0;
	u64 calls = 0;
	char key[16];

	(void)state;
	for (u32 i = 0; i < 8000; i++) {
		snprintf(key, sizeof(key), "key:%u", i % 2000);
		hit(h, key, 100 + i % 3, SECOND + 3000 + i);
	}
	assert_int_equal(hot_totals(h)->calls, 8000);
	assert_int_equal(hot_totals(h)->bytes, 100 * 8000 + 7999);
	for (u32 i = 0; i < 2000; i++) {
		struct hot_row row;

		snprintf(key, sizeof(key), "key:%u", i);
		row = row_of(h, key);
		assert_int_equal(row.calls, 4);
		assert_int_equal(row.more->hits, 4);
		assert_int_equal(row.more->n_sizes, row.more->left_out ? 0 : 4);
		assert_int_equal(row.more->clients[0].calls, row.more->left_out ? 0 : 4);
		assert_int_equal(latency_total(&row.more->latency), row.more->left_out ? 0 : 4);
		looked_at += !row.more->left_out;
		calls += row.more->left_out ? 0 : row.calls;
	}
	assert_in_range(looked_at, 200, 300);
	assert_int_equal(latency_total(&hot_totals(h)->latency), calls);
	hot_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_key_in_so_many),
		cmocka_unit_test(counts_of_a_key),
		cmocka_unit_test(sizes_of_values),
		cmocka_unit_test(totals),
		cmocka_unit_test(intervals),
		cmocka_unit_test(orders),
		cmocka_unit_test(recent),
		cmocka_unit_test(folded_and_hidden),
		cmocka_unit_test(many_clients),
		cmocka_unit_test(quantiles),
		cmocka_unit_test(as_json),
		cmocka_unit_test(as_csv),
		cmocka_unit_test(by_command),
		cmocka_unit_test(many_commands),
		cmocka_unit_test(csv_formulas),
		cmocka_unit_test(room_for_keys),
		cmocka_unit_test(as_text),
		cmocka_unit_test(numbers),
		cmocka_unit_test(of_a_server_that_is_gone),
		cmocka_unit_test(missed_in_words),
		cmocka_unit_test(addresses),
		cmocka_unit_test(counters),
		cmocka_unit_test(empty_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
