/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps as metrics, in both forms, compared to the letter; which series have a place. */
#include "out_fixture.h"

#include <inttypes.h>
#include <stdio.h>

#include "out/metrics.h"
#include "unit/bucket.h"

static struct umap map;
static struct metrics_shown shown;
static struct metrics metrics;
static struct table table;

static void start_map(const char *name, const struct type *key, const struct type *value)
{
	map = (struct umap){ .name = name,
		             .key = key,
		             .value = value,
		             .key_size = key ? type_slot(key) : 4,
		             .value_size = type_cell(value) };
	metrics = (struct metrics){ .out = &fixture_out, .max_series = 100 };
	metrics_shown_free(&shown);
	shown = (struct metrics_shown){ 0 };
	table_init(&table, &fixture_arena, &fixture_unit, &map);
}

static void check(const char *expected)
{
	table_sort(&table);
	metrics_map(fixture_start(), &metrics, &table, &shown);
	fixture_is(expected);
}

/* The map is read anew. */
static void again(void)
{
	table_init(&table, &fixture_arena, &fixture_unit, &map);
}

static void add(u64 key, u64 n)
{
	table_add(&table, &key, &n, 1);
}

static void test_counter(void **state)
{
	(void)state;
	start_map("@reads", NULL, type_plain(&fixture_arena, TYPE_COUNT));
	add(0, 12);
	check("# TYPE reads counter\n# HELP reads The map @reads of a script.\nreads_total 12\n");
	metrics.form = METRICS_TEXT;
	check("# TYPE reads_total counter\n# HELP reads_total The map @reads of a script.\n"
	      "reads_total 12\n");
	assert_int_equal(metrics.samples, 2);
}

static void test_names(void **state)
{
	(void)state;
	start_map("@", NULL, &type_u64);
	add(0, 1);
	check("# TYPE value gauge\n# HELP value The map @ of a script.\nvalue 1\n");
	start_map("@bytes_total", NULL, type_plain(&fixture_arena, TYPE_COUNT));
	add(0, 1);
	check("# TYPE bytes counter\n# HELP bytes The map @bytes_total of a script.\n"
	      "bytes_total 1\n");
	start_map("@1", NULL, &type_s64);
	metrics.labels = "collector=\"x\"";
	add(0, (u64)-1);
	check("# TYPE _1 gauge\n# HELP _1 The map @1 of a script.\n_1{collector=\"x\"} -1\n");
}

static void test_labels(void **state)
{
	const struct type *parts[] = { &type_u64, type_str(&fixture_arena, 16, true) };
	const char *names[] = { "order", "le" };
	u8 key[24] = { 3 };
	u64 n = 7;

	(void)state;
	memcpy(key + 8, "a\"\\\n\xff\xc3\xa9", 8);
	start_map("@n", type_tuple(&fixture_arena, parts, 2),
	          type_plain(&fixture_arena, TYPE_COUNT));
	table_add(&table, key, &n, 1);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{key0=\"3\",key1=\"a\\\"\\\\\\n\\\\xff\xc3\xa9\"} 7\n");
	start_map("@n", type_record(&fixture_arena, parts, names, 2),
	          type_plain(&fixture_arena, TYPE_COUNT));
	metrics.labels = "collector=\"x\"";
	memcpy(key + 8, "b\0\0\0\0\0\0", 8);
	table_add(&table, key, &n, 1);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{collector=\"x\",order=\"3\",key_le=\"b\"} 7\n");
}

/* What the path of a control group says goes with it, but for a label that is there. */
/* Labels are kept from page to page; each key has its own, however many have come and gone. */
static void test_kept_labels(void **state)
{
	struct buf want = { 0 };
	u64 n = 1;

	(void)state;
	start_map("@n", &type_u64, type_plain(&fixture_arena, TYPE_COUNT));
	metrics.max_series = 10000;
	for (u32 page = 0; page < 60; page++) {
		u32 first = page / 2 * 70, rows = page % 7 ? 100 : 900;

		again();
		buf_reset(&want);
		buf_puts(&want, "# TYPE n counter\n# HELP n The map @n of a script.\n");
		shown.n_known = shown.n_ended = 0; /* so that each shows what it has */
		shown.rest = false;
		for (u32 i = 0; i < rows; i++) {
			add(first + rows - 1 - i, n);
			buf_printf(&want, "n_total{key=\"%u\"} 1\n", first + i);
		}
		metrics_map(fixture_start(), &metrics, &table, &shown);
		fixture_is(buf_text(&want));
		assert_true(shown.names.n <= 3 * 900 + 256);
	}
	buf_free(&want);
}

static void test_cgroup(void **state)
{
	const struct type *parts[] = { type_str(&fixture_arena, 128, true), &type_u64 };
	const char *names[] = { "cgroup", "unit" };
	u8 key[136] = "/system.slice/nginx.service";
	u64 n = 7;

	(void)state;
	start_map("@n", type_record(&fixture_arena, parts, names, 1),
	          type_plain(&fixture_arena, TYPE_COUNT));
	table_add(&table, key, &n, 1);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{cgroup=\"/system.slice/nginx.service\",unit=\"nginx.service\"} 7\n");
	start_map("@n", type_record(&fixture_arena, parts, names, 2),
	          type_plain(&fixture_arena, TYPE_COUNT));
	table_add(&table, key, &n, 1);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{cgroup=\"/system.slice/nginx.service\",unit=\"0\"} 7\n");
	names[0] = "path";
	start_map("@n", type_record(&fixture_arena, parts, names, 1),
	          type_plain(&fixture_arena, TYPE_COUNT));
	table_add(&table, key, &n, 1);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{path=\"/system.slice/nginx.service\"} 7\n");
}

/* Two addresses of one symbol: a page with the same labels twice is refused by its readers. */
static void test_equal_labels(void **state)
{
	(void)state;
	start_map("@n", type_plain(&fixture_arena, TYPE_KSYM),
	          type_plain(&fixture_arena, TYPE_COUNT));
	add(5, 1);
	add(6, 2);
	add((1ull << 32) + 5, 4); /* the fixture's names have the lower half */
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{key=\"ksym_5\"} 5\nn_total{key=\"ksym_6\"} 2\n");
}

/* The largest have places and keep them; what all have together is what was counted. */
static void test_places(void **state)
{
	(void)state;
	start_map("@n", &type_u64, type_plain(&fixture_arena, TYPE_COUNT));
	metrics.max_series = 2;
	for (u64 i = 1; i <= 4; i++)
		add(i, i);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{key=\"4\"} 4\nn_total{key=\"3\"} 3\nn_total{other=\"true\"} 3\n");
	assert_int_equal(metrics.left_out, 2);
	again();
	for (u64 i = 1; i <= 4; i++)
		add(i, i == 1 ? 100 : i);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{key=\"4\"} 4\nn_total{key=\"3\"} 3\nn_total{other=\"true\"} 102\n");
	again(); /* 3 is gone: its place is free. What 1 counted stays where it was counted. */
	add(4, 4);
	add(2, 2);
	add(1, 100);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{key=\"4\"} 4\nn_total{key=\"1\"} 0\nn_total{other=\"true\"} 102\n");
	again();
	add(4, 4);
	add(2, 3);
	add(1, 107);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{key=\"1\"} 7\nn_total{key=\"4\"} 4\nn_total{other=\"true\"} 103\n");
	again(); /* 2 was deleted, and there is nothing more without a place */
	add(4, 4);
	add(1, 107);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{key=\"1\"} 7\nn_total{key=\"4\"} 4\nn_total{other=\"true\"} 103\n");
	again(); /* 1 began anew by itself */
	add(4, 4);
	add(1, 5);
	check("# TYPE n counter\n# HELP n The map @n of a script.\n"
	      "n_total{key=\"1\"} 5\nn_total{key=\"4\"} 4\nn_total{other=\"true\"} 103\n");
}

/* Keys of rows that were removed. */
static u64 removed[16];
static u32 n_removed;

static bool remove_row(void *ctx, const struct umap *m, const u8 *key)
{
	assert_ptr_equal(m, &map);
	assert_in_range(n_removed, 0, ARRAY_SIZE(removed) - 1);
	memcpy(&removed[n_removed++], key, sizeof(*removed));
	return *(const u64 *)(const void *)key != *(u64 *)ctx;
}

static void start_ending(const struct type *value, u64 *stays)
{
	start_map("@n", &type_u64, value);
	metrics.idle = 100;
	metrics.now = 1000;
	metrics.end = remove_row;
	metrics.ctx = stays;
	n_removed = 0;
}

#define COUNTED "# TYPE n counter\n# HELP n The map @n of a script.\n"

/* One that returns is 0 once, whatever it has counted by then. */
static void test_ends(void **state)
{
	u64 none = 0;

	(void)state;
	start_ending(type_plain(&fixture_arena, TYPE_COUNT), &none);
	add(1, 10);
	add(2, 20);
	check(COUNTED "n_total{key=\"2\"} 20\nn_total{key=\"1\"} 10\n");
	again();
	metrics.now = 1099; /* a ms too early for 1, and 2 comes */
	add(1, 10);
	add(2, 21);
	check(COUNTED "n_total{key=\"2\"} 21\nn_total{key=\"1\"} 10\n");
	assert_int_equal(n_removed, 0);
	again();
	metrics.now = 1100;
	add(1, 10);
	add(2, 21);
	check(COUNTED "n_total{key=\"2\"} 21\n");
	assert_int_equal(n_removed, 1);
	assert_int_equal(removed[0], 1);
	assert_int_equal(metrics.ended, 1);
	again();
	add(1, 500);
	add(2, 21);
	check(COUNTED "n_total{key=\"2\"} 21\nn_total{key=\"1\"} 0\n");
	again();
	add(1, 500);
	add(2, 21);
	check(COUNTED "n_total{key=\"1\"} 500\nn_total{key=\"2\"} 21\n");
	again(); /* 1 is deleted by the script, and is there again later */
	add(2, 22);
	check(COUNTED "n_total{key=\"2\"} 22\n");
	again();
	add(1, 7);
	add(2, 22);
	check(COUNTED "n_total{key=\"2\"} 22\nn_total{key=\"1\"} 0\n");
	again();
	add(1, 8);
	add(2, 22);
	check(COUNTED "n_total{key=\"2\"} 22\nn_total{key=\"1\"} 8\n");
}

/* "other" keeps what ended ones counted, and what can not be removed stays. */
static void test_ends_without_place(void **state)
{
	u64 stays = 2;

	(void)state;
	start_ending(type_plain(&fixture_arena, TYPE_COUNT), &stays);
	metrics.max_series = 1;
	for (u64 i = 1; i <= 4; i++)
		add(i, i * 10);
	check(COUNTED "n_total{key=\"4\"} 40\nn_total{other=\"true\"} 60\n");
	again();
	metrics.now = 1100;
	for (u64 i = 1; i <= 4; i++)
		add(i, i * 10 + (i > 2));
	check(COUNTED "n_total{key=\"4\"} 41\nn_total{other=\"true\"} 61\n");
	assert_int_equal(n_removed, 2);
	assert_int_equal(metrics.ended, 1);
	again();
	add(1, 5); /* counted anew */
	add(2, 20);
	add(3, 31);
	add(4, 41);
	check(COUNTED "n_total{key=\"4\"} 41\nn_total{other=\"true\"} 66\n");
	again();
	metrics.now = 1200; /* 4 ends, and 3 has its place */
	add(1, 6);
	add(2, 20);
	add(3, 32);
	add(4, 41);
	check(COUNTED "n_total{key=\"3\"} 0\nn_total{other=\"true\"} 68\n");
}

/* A number that is the same for long may be set to it all the time. */
static void test_gauges_do_not_end(void **state)
{
	u64 none = 0;

	(void)state;
	start_ending(&type_u64, &none);
	for (u32 i = 0; i < 3; i++) {
		again();
		metrics.now += 100;
		add(1, 10);
		check("# TYPE n gauge\n# HELP n The map @n of a script.\nn{key=\"1\"} 10\n");
	}
	start_map("@n", NULL, type_plain(&fixture_arena, TYPE_COUNT));
	for (u32 i = 0; i < 3; i++) {
		metrics.end = remove_row;
		metrics.idle = 100;
		again();
		metrics.now += 100;
		add(0, 10);
		check(COUNTED "n_total 10\n");
	}
	assert_int_equal(n_removed, 0);
}

/* Several aggregations: each is where it was counted. */
static void test_places_of_several(void **state)
{
	const struct type *kinds[] = { type_plain(&fixture_arena, TYPE_AVG),
		                       type_plain(&fixture_arena, TYPE_MAX) };
	const char *names[] = { "size", "most" };
	u64 key, cell[4];

	(void)state;
	start_map("@n", &type_u64, type_aggs(&fixture_arena, kinds, names, 2));
	metrics.max_series = 1;
	for (u32 page = 0; page < 3; page++) {
		again();
		for (key = 1; key <= (page ? 1 : 2); key++) {
			cell[0] = 4 * key + page; /* values */
			cell[1] = 100 * key + page;
			cell[2] = key;
			cell[3] = 1;
			table_add(&table, &key, cell, 1);
		}
		table_sort(&table);
		metrics_map(fixture_start(), &metrics, &table, &shown);
	}
	fixture_is("# TYPE n_size summary\n# HELP n_size The map @n of a script.\n"
	           "n_size_count{key=\"1\"} 1\nn_size_sum{key=\"1\"} 1\n"
	           "n_size_count{other=\"true\"} 5\nn_size_sum{other=\"true\"} 101\n"
	           "# TYPE n_most gauge\n# HELP n_most The map @n of a script.\n"
	           "n_most{key=\"1\"} 1\n");
	again(); /* it began anew by itself */
	key = 1;
	cell[0] = 2;
	cell[1] = 20;
	table_add(&table, &key, cell, 1);
	check("# TYPE n_size summary\n# HELP n_size The map @n of a script.\n"
	      "n_size_count{key=\"1\"} 2\nn_size_sum{key=\"1\"} 20\n"
	      "n_size_count{other=\"true\"} 5\nn_size_sum{other=\"true\"} 101\n"
	      "# TYPE n_most gauge\n# HELP n_most The map @n of a script.\n"
	      "n_most{key=\"1\"} 1\n");
}

/* The lines of a histogram: below 2^first .. 2^last there are counts[i], the last one of all. */
static const char *buckets(const char *name, u32 first, u32 last, u32 digits, const u64 *counts)
{
	struct buf b = { 0 };
	const char *text;
	u32 i = 0;

	buf_printf(&b, "# TYPE %s histogram\n# HELP %s The map %s of a script.\n", name, name,
	           map.name);
	if (digits && metrics.form == METRICS_OPENMETRICS)
		buf_printf(&b, "# UNIT %s seconds\n", name);
	for (u32 k = first; k <= last; k++, i++) {
		u64 most = (1ull << k) - 1, one = 1;

		for (u32 d = 0; d < digits; d++)
			one *= 10;
		buf_printf(&b, "%s_bucket{le=\"%" PRIu64, name, most / one);
		if (digits)
			buf_printf(&b, ".%0*" PRIu64, (int)digits, most % one);
		else if (metrics.form == METRICS_OPENMETRICS)
			buf_puts(&b, ".0");
		buf_printf(&b, "\"} %" PRIu64 "\n", counts[i]);
	}
	buf_printf(&b, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_count %" PRIu64 "\n", name,
	           counts[i], name, counts[i]);
	text = arena_strdup(&fixture_arena, buf_text(&b));
	buf_free(&b);
	return text;
}

/* The same bounds always, and those of the machine beside. */
static void test_histograms(void **state)
{
	const struct type *hist = type_plain(&fixture_arena, TYPE_HIST);
	u64 cells[2000] = { 0 }, counts[64];
	struct type fine = *hist;

	(void)state;
	cells[bucket_hist_index(-5, true, 0)] = 1;
	cells[bucket_hist_index(3, true, 0)] = 2;
	cells[bucket_hist_index(INT64_MAX, true, 0)] = 4;
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = i < 2 ? 1 : i < 41 ? 3 : 7;
	start_map("@ns", NULL, hist);
	table_add(&table, "\0\0\0", cells, 1);
	check(buckets("ns", 0, 40, 0, counts));
	memset(cells, 0, sizeof(cells));
	fine.bits = 3;
	for (u64 n = 1; n <= 1024; n *= 2) { /* the lowest and the highest bucket of each power */
		cells[bucket_hist_index((s64)n, false, 3)]++;
		cells[bucket_hist_index((s64)n * 2 - 1, false, 3)]++;
	}
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = MIN(2 * i, 22u);
	start_map("@ns", NULL, &fine);
	metrics.form = METRICS_TEXT;
	table_add(&table, "\0\0\0", cells, 1);
	check(buckets("ns", 0, 40, 0, counts));
}

/* The one line of a page that has `name` in front. */
static const char *line_of(const char *name)
{
	const char *line = strstr(buf_text(&fixture_buf), name),
		   *end = line ? strchr(line, '\n') : NULL;

	assert_non_null(end);
	return arena_strndup(&fixture_arena, line, (size_t)(end - line));
}

static void write_hist(const char *name, u32 bits, const u64 *values, u32 n)
{
	struct type t = *type_plain(&fixture_arena, TYPE_HIST);
	u64 cells[2000] = { 0 };

	t.bits = bits;
	for (u32 i = 0; i < n; i++)
		cells[bucket_hist_index((s64)values[i], true, bits)]++;
	start_map(name, NULL, &t);
	metrics.form = METRICS_NATIVE;
	table_add(&table, "\0\0\0", cells, 1);
	metrics_map(fixture_start(), &metrics, &table, &shown);
}

/* Powers of two are schema 0; each number is in the bucket that is up to 2^i. */
static void test_native(void **state)
{
	static const u64 few[] = { (u64)-3, 0, 1, 3, 100, 100, 1ull << 63 },
			 ns[] = { 1000, 1500000, 2000000000 };
	u64 n;
	char text[64];

	(void)state;
	write_hist("@a", 0, few, ARRAY_SIZE(few) - 1);
	assert_string_equal(line_of("a_native"), "a_native 0 2 0:1 2:1 7:2");
	write_hist("@a", 0, &few[6], 1);
	assert_string_equal(line_of("a_native"), "a_native 0 1"); /* as signed it is below 0 */
	write_hist("@a", 0, (u64[]){ INT64_MAX }, 1);
	assert_string_equal(line_of("a_native"), "a_native 0 0 63:1");
	/* 2^-20 to 2^-19 s has most of 2^9 to 2^10 ns, and so on. */
	write_hist("@a_ns", 0, ns, ARRAY_SIZE(ns));
	assert_string_equal(line_of("a_seconds_native"), "a_seconds_native 0 0 -20:1 -9:1 1:1");
	for (u32 bits = 1; bits <= 5; bits++) {
		n = 1ull << 20;
		write_hist("@a", bits, &n, 1); /* its bucket goes on from there */
		snprintf(text, sizeof(text), "a_native %u 0 %u:1", bits - 1,
		         (20u << (bits - 1)) + 1);
		assert_string_equal(line_of("a_native"), text);
	}
	metrics.form = METRICS_TEXT;
	metrics_map(fixture_start(), &metrics, &table, &shown);
	assert_null(strstr(buf_text(&fixture_buf), "_native"));
}

static void test_lhist(void **state)
{
	struct type *t = (struct type *)(uintptr_t)type_plain(&fixture_arena, TYPE_LHIST);
	u64 cells[4] = { 1, 0, 2, 4 };

	(void)state;
	t->min = 10;
	t->max = 30;
	t->step = 10;
	start_map("@n", NULL, t);
	metrics.form = METRICS_TEXT;
	table_add(&table, "\0\0\0", cells, 1);
	check("# TYPE n histogram\n# HELP n The map @n of a script.\n"
	      "n_bucket{le=\"9\"} 1\nn_bucket{le=\"19\"} 1\nn_bucket{le=\"29\"} 3\n"
	      "n_bucket{le=\"+Inf\"} 7\nn_count 7\n");
}

/* Times are in seconds, to the last digit. */
static void test_times(void **state)
{
	u64 cells[100] = { 0 }, counts[64];

	(void)state;
	start_map("@wait_ns", NULL, type_plain(&fixture_arena, TYPE_COUNT));
	add(0, 12345678901);
	check("# TYPE wait_seconds counter\n# HELP wait_seconds The map @wait_ns of a script.\n"
	      "# UNIT wait_seconds seconds\n"
	      "wait_seconds_total 12.345678901\n");
	start_map("@wait_ms", NULL, &type_s64);
	add(0, (u64)-1500);
	check("# TYPE wait_seconds gauge\n# HELP wait_seconds The map @wait_ms of a script.\n"
	      "# UNIT wait_seconds seconds\n"
	      "wait_seconds -1.500\n");
	cells[bucket_hist_index(1500, false, 0)] = 2;
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = i < 11 ? 0 : 2;
	start_map("@t_us", NULL, type_plain(&fixture_arena, TYPE_HIST));
	table_add(&table, "\0\0\0", cells, 1);
	check(buckets("t_seconds", 0, 32, 6, counts));
	start_map("@t_ms", NULL, type_plain(&fixture_arena, TYPE_HIST));
	table_add(&table, "\0\0\0", cells, 1);
	check(buckets("t_seconds", 0, 22, 3, counts));
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = i < 3 ? 0 : 2;
	start_map("@t_ns", NULL, type_plain(&fixture_arena, TYPE_HIST));
	table_add(&table, "\0\0\0", cells, 1);
	check(buckets("t_seconds", 8, 42, 9, counts));
}

/* What a script says of a map by metric(). */
static void test_declared(void **state)
{
	const struct type *kinds[] = { type_plain(&fixture_arena, TYPE_COUNT),
		                       type_plain(&fixture_arena, TYPE_AVG) };
	const char *names[] = { "n", "took" }, *labels[] = { "device", "op" };
	const struct type *parts[] = { &type_u64, &type_u64 };
	u64 key[] = { 8, 1 }, cells[] = { 2, 3, 4500 }, n = 7;
	struct umetric said = { "disk_wait", "Said \"so\\\".", "us", labels };

	(void)state;
	start_map("@w", type_tuple(&fixture_arena, parts, 2), &type_u64);
	map.metric = &said;
	table_add(&table, key, &n, 1);
	check("# TYPE disk_wait_seconds gauge\n# HELP disk_wait_seconds Said \\\"so\\\\\\\".\n"
	      "# UNIT disk_wait_seconds seconds\n"
	      "disk_wait_seconds{device=\"8\",op=\"1\"} 0.000007\n");
	metrics.form = METRICS_TEXT;
	check("# TYPE disk_wait_seconds gauge\n# HELP disk_wait_seconds Said \"so\\\\\".\n"
	      "disk_wait_seconds{device=\"8\",op=\"1\"} 0.000007\n");
	start_map("@w", NULL, type_aggs(&fixture_arena, kinds, names, 2));
	map.metric = &said;
	said.help = "";
	table_add(&table, "\0\0\0", cells, 1);
	check("# TYPE disk_wait_n counter\n# HELP disk_wait_n The map @w of a script.\n"
	      "disk_wait_n_total 2\n# TYPE disk_wait_took_seconds summary\n"
	      "# HELP disk_wait_took_seconds The map @w of a script.\n"
	      "# UNIT disk_wait_took_seconds seconds\ndisk_wait_took_seconds_count 3\n"
	      "disk_wait_took_seconds_sum 0.004500\n");
	start_map("@w", NULL, type_plain(&fixture_arena, TYPE_COUNT));
	said = (struct umetric){ "read_bytes_total", "Bytes.", "bytes", NULL };
	map.metric = &said;
	add(0, 5);
	check("# TYPE read_bytes counter\n# HELP read_bytes Bytes.\n# UNIT read_bytes bytes\n"
	      "read_bytes_total 5\n");
}

static void test_others(void **state)
{
	const struct type *kinds[] = { type_plain(&fixture_arena, TYPE_AVG),
		                       type_plain(&fixture_arena, TYPE_MAX) };
	const char *names[] = { "size", "most" };
	u64 cells[] = { 2, 10, 0, 0 };
	char comm[16] = "cat";

	(void)state;
	start_map("@b", NULL, type_aggs(&fixture_arena, kinds, names, 2));
	table_add(&table, "\0\0\0", cells, 1);
	check("# TYPE b_size summary\n# HELP b_size The map @b of a script.\n"
	      "b_size_count 2\nb_size_sum 10\n"
	      "# TYPE b_most gauge\n# HELP b_most The map @b of a script.\n");
	start_map("@who", NULL, type_str(&fixture_arena, 16, true));
	table_add(&table, "\0\0\0", comm, 1);
	check("# TYPE who info\n# HELP who The map @who of a script.\n"
	      "who_info{value=\"cat\"} 1\n");
	start_map("@none", &type_u64, type_plain(&fixture_arena, TYPE_COUNT));
	check("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counter),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_kept_labels),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_equal_labels),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_histograms),
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_lhist),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_declared),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_ends_without_place),
		cmocka_unit_test(test_gauges_do_not_end),
		cmocka_unit_test(test_places_of_several),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	metrics_shown_free(&shown);
	fixture_free();
	return failed;
}
