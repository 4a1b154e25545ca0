/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps, records and messages as text, compared to the letter. */
#include "out_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit/bucket.h"

#define FULL  "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define HALF  "@@@@@@@@@@@@@@@@@@@@@@@@@@                          "
#define THIRD "@@@@@@@@@@@@@@@@@                                   "
#define NONE  "                                                    "

static struct umap map_of(const struct type *key, const struct type *value)
{
	return (struct umap){ .name = "@x",
		              .key = key,
		              .value = value,
		              .key_size = key ? type_slot(key) : 4,
		              .value_size = type_cell(value) };
}

static void print_map(const struct table *t, u32 top, u32 div)
{
	out_text.map(fixture_start(), &fixture_out, t, top, div);
}

/* A map without key and one cell. */
static void check_scalar(const struct type *value, const u64 *cell, const char *expected)
{
	struct umap m = map_of(NULL, value);
	struct table t;

	table_init(&t, &fixture_arena, &fixture_unit, &m);
	table_add(&t, "\0\0\0", cell, 1);
	print_map(&t, 0, 0);
	fixture_is(expected);
}

static void check_hist(u32 bits, const u64 *values, u32 n, const char *expected)
{
	struct type hist = { .kind = TYPE_HIST, .bits = bits, .is_signed = true };
	u64 cell[2048] = { 0 };

	for (u32 i = 0; i < n; i++)
		cell[bucket_hist_index((s64)values[i], (s64)values[i] < 0 && n > 1, bits)]++;
	check_scalar(&hist, cell, expected);
}

static void test_scalars(void **state)
{
	struct type count = { .kind = TYPE_COUNT, .size = 8 };
	struct type stats = { .kind = TYPE_STATS, .size = 16, .is_signed = true };
	struct type avg = { .kind = TYPE_AVG, .size = 16, .is_signed = true };
	struct type min = { .kind = TYPE_MIN, .size = 16 };

	(void)state;
	check_scalar(&count, (u64[]){ 5 }, "@x: 5\n");
	check_scalar(&stats, (u64[]){ 2, (u64)-7 },
	             "@x: { .count = 2, .average = -3, .total = -7 }\n");
	check_scalar(&avg, (u64[]){ 2, 9 }, "@x: 4\n");
	check_scalar(&min, (u64[]){ ~4ull, 1 }, "@x: 4\n");
	check_scalar(&type_s64, (u64[]){ (u64)-1 }, "@x: -1\n");
	check_scalar(type_str(&fixture_arena, 8, true), (const u64 *)"abc\0\0\0\0", "@x: abc\n");
}

static void test_empty(void **state)
{
	struct type count = { .kind = TYPE_COUNT, .size = 8 };
	struct umap scalar = map_of(NULL, &count), keyed = map_of(&type_u64, &count);
	struct table t;

	(void)state;
	table_init(&t, &fixture_arena, &fixture_unit, &scalar);
	print_map(&t, 0, 0);
	fixture_is("@x: 0\n");
	table_init(&t, &fixture_arena, &fixture_unit, &keyed);
	print_map(&t, 0, 0);
	fixture_is("");
}

static void test_hist(void **state)
{
	(void)state;
	check_hist(0, (u64[]){ 5, 70000, (u64)-3, 1, 5 }, 5,
	           "@x:\n"
	           "(..., 0)               1 |" HALF "|\n"
	           "[0]                    0 |" NONE "|\n"
	           "[1]                    1 |" HALF "|\n"
	           "[2, 4)                 0 |" NONE "|\n"
	           "[4, 8)                 2 |" FULL "|\n"
	           "[8, 16)                0 |" NONE "|\n"
	           "[16, 32)               0 |" NONE "|\n"
	           "[32, 64)               0 |" NONE "|\n"
	           "[64, 128)              0 |" NONE "|\n"
	           "[128, 256)             0 |" NONE "|\n"
	           "[256, 512)             0 |" NONE "|\n"
	           "[512, 1K)              0 |" NONE "|\n"
	           "[1K, 2K)               0 |" NONE "|\n"
	           "[2K, 4K)               0 |" NONE "|\n"
	           "[4K, 8K)               0 |" NONE "|\n"
	           "[8K, 16K)              0 |" NONE "|\n"
	           "[16K, 32K)             0 |" NONE "|\n"
	           "[32K, 64K)             0 |" NONE "|\n"
	           "[64K, 128K)            1 |" HALF "|\n\n");
	check_hist(0, (u64[]){ 1ull << 62 }, 1, "@x:\n[4E, 8E)               1 |" FULL "|\n\n");
	check_hist(0, (u64[]){ 1ull << 63 }, 1, "@x:\n[8E, 16E)              1 |" FULL "|\n\n");
	check_hist(0, NULL, 0, "");
}

static void test_hist_bits(void **state)
{
	(void)state;
	check_hist(2, (u64[]){ 5 }, 1, "@x:\n[5]                    1 |" FULL "|\n\n");
	check_hist(2, (u64[]){ 8, 11 }, 2,
	           "@x:\n"
	           "[8, 10)                1 |" FULL "|\n"
	           "[10, 12)               1 |" FULL "|\n\n");
	check_hist(2, (u64[]){ 5000 }, 1, "@x:\n[4K, 5K)               1 |" FULL "|\n\n");
}

static void test_lhist(void **state)
{
	struct type t = { .kind = TYPE_LHIST, .min = 0, .max = 25, .step = 10 };

	(void)state;
	check_scalar(
		&t, (u64[]){ 1, 2, 3, 0, 1 },
		"@x:\n"
		"(..., 0)               1 |" THIRD "|\n"
		"[0, 10)                2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@                  |\n"
		"[10, 20)               3 |" FULL "|\n"
		"[20, 25)               0 |" NONE "|\n"
		"[25, ...)              1 |" THIRD "|\n\n");
	t = (struct type){ .kind = TYPE_LHIST, .min = -2048, .max = 2097152, .step = 1049600 };
	check_scalar(&t, (u64[]){ 0, 1, 1, 0 },
	             "@x:\n"
	             "[-2K, 1023K)           1 |" FULL "|\n"
	             "[1023K, 2M)            1 |" FULL "|\n\n");
	t = (struct type){ .kind = TYPE_LHIST, .min = 0, .max = 16384, .step = 128 };
	check_scalar(&t, (u64[130]){ [9] = 7 }, "@x:\n[1024, 1152)           7 |" FULL "|\n\n");
}

static const struct type series = {
	.kind = TYPE_TSERIES, .size = 8, .is_signed = true, .step = 100000000, .max = 5
};

/* One value of a series, in the slot of its interval. */
static void put_in(u64 *cell, u64 interval, s64 value)
{
	u64 *slot = cell + interval % 5 * 3;

	slot[0] = interval + 1;
	slot[1] = (u64)value;
	slot[2] = 1;
}

/* All end with the newest interval of the map; a dash is no value, a dot zero. */
static void test_series(void **state)
{
	struct umap m = map_of(&type_u64, &series);
	u64 cells[3][5 * 3] = { 0 };
	struct table t;

	(void)state;
	setenv("TZ", "UTC", 1);
	put_in(cells[0], 10, -5);
	put_in(cells[0], 12, 5);
	put_in(cells[0], 13, 0);
	put_in(cells[1], 14, 3);
	put_in(cells[2], 9, 1);
	table_init(&t, &fixture_arena, &fixture_unit, &m);
	for (u64 key = 1; key <= 3; key++)
		table_add(&t, &key, cells[key - 1], 1);
	table_sort(&t);
	print_map(&t, 0, 0);
	fixture_is("@x[1]:\n"
	           "             -5                                                  5\n"
	           "hh:mm:ss.ms  |___________________________________________________|\n"
	           "01:46:41.000 *                         .                         | -5\n"
	           "01:46:41.100 |                         .                         | -\n"
	           "01:46:41.200 |                         .                         * 5\n"
	           "01:46:41.300 |                         *                         | 0\n"
	           "01:46:41.400 |                         .                         | -\n"
	           "             v___________________________________________________v\n"
	           "             -5                                                  5\n"
	           "\n"
	           "@x[2]:\n"
	           "                   2                                                   4\n"
	           "hh:mm:ss.ns        |___________________________________________________|\n"
	           "01:46:41.400000000 |                         *                         | 3\n"
	           "                   v___________________________________________________v\n"
	           "                   2                                                   4\n"
	           "\n"
	           "@x[3]:\n"
	           "<no data>\n");
}

static void test_keys(void **state)
{
	struct type count = { .kind = TYPE_COUNT, .size = 8 };
	const struct type *str = type_str(&fixture_arena, 8, true);
	const struct type *inner = type_tuple(&fixture_arena,
	                                      (const struct type *[]){ &type_s64, str }, 2);
	const struct type *stack = type_stack(&fixture_arena, TYPE_USTACK, STACK_BPFTRACE, 127);
	const struct type *key = type_tuple(&fixture_arena,
	                                    (const struct type *[]){ &type_u32, inner, stack }, 3);
	struct umap m = map_of(key, &count);
	static const struct {
		u64 n;
		s64 a;
		char b[8];
		u64 stack[2];
	} bytes = { 1, 2, "(c)", { 0, 0 } };
	struct table t;

	(void)state;
	table_init(&t, &fixture_arena, &fixture_unit, &m);
	table_add(&t, &bytes, (u64[]){ 3, 4 }, 2);
	print_map(&t, 0, 0);
	fixture_is("@x[1, (2, (c)), \n        user+1\n        main+2\n]: 7\n");
}

static void test_top_and_div(void **state)
{
	struct type sum = { .kind = TYPE_SUM, .size = 8, .is_signed = true };
	struct umap m = map_of(&type_u64, &sum);
	struct table t;

	(void)state;
	table_init(&t, &fixture_arena, &fixture_unit, &m);
	for (u64 i = 1; i <= 3; i++)
		table_add(&t, &i, (u64[]){ 100 - i * 10 }, 1);
	table_sort(&t);
	print_map(&t, 2, 0);
	fixture_is("@x[2]: 80\n@x[1]: 90\n");
	print_map(&t, 0, 3);
	fixture_is("@x[3]: 23\n@x[2]: 26\n@x[1]: 30\n");
}

static void test_keyed_hist(void **state)
{
	struct type lhist = { .kind = TYPE_LHIST, .min = 0, .max = 10, .step = 10 };
	const struct type *str = type_str(&fixture_arena, 8, true);
	struct umap m = map_of(str, &lhist);
	struct table t;

	(void)state;
	table_init(&t, &fixture_arena, &fixture_unit, &m);
	table_add(&t, "a\0\0\0\0\0\0", (u64[]){ 0, 4, 0 }, 1);
	table_add(&t, "b\0\0\0\0\0\0", (u64[]){ 2, 0, 0 }, 1);
	table_sort(&t);
	print_map(&t, 0, 0);
	fixture_is("@x[b]:\n"
	           "(..., 0)               2 |" FULL "|\n\n"
	           "@x[a]:\n"
	           "[0, 10)                4 |" FULL "|\n\n");
	print_map(&t, 1, 4);
	fixture_is("@x[a]:\n"
	           "[0, 10)                1 |" FULL "|\n\n");
}

static void test_one_cell(void **state)
{
	struct type lhist = { .kind = TYPE_LHIST, .min = 0, .max = 10, .step = 10 };
	struct type count = { .kind = TYPE_COUNT };
	struct cell c;

	(void)state;
	cell_merge(&c, &fixture_arena, &count, (u64[]){ 9 }, 1, 8);
	out_text.cell(fixture_start(), &fixture_out, &count, &c);
	fixture_is("9\n");
	cell_merge(&c, &fixture_arena, &lhist, (u64[]){ 0, 4, 0 }, 1, 24);
	out_text.cell(fixture_start(), &fixture_out, &lhist, &c);
	fixture_is("[0, 10)                4 |" FULL "|\n\n");
}

static void test_records(void **state)
{
	const struct type *str = type_str(&fixture_arena, 8, true);
	const struct field args[] = { { .type = str },
		                      { .type = str, .off = 8 },
		                      { .type = str, .off = 16 } };
	struct urecord r = { .action = ACTION_JOIN, .args = args, .n_args = 3, .text = "," };
	static const char record[24] = "ls\0\0\0\0\0\0-l\0\0\0\0\0\0";

	(void)state;
	out_text.join(fixture_start(), &fixture_out, &r, record);
	fixture_is("ls,-l\n");
	r.action = ACTION_PRINTF;
	r.text = "%s %s%s\n";
	out_text.printf_(fixture_start(), &fixture_out, &r, record);
	fixture_is("ls -l\n");
	r.action = ACTION_ERRORF;
	r.text = "%s %s%s";
	r.loc = (struct loc){ 10, 11 };
	out_text.printf_(fixture_start(), &fixture_out, &r, record);
	fixture_is("stdin:2:3-14: ERROR: ls -l\n");
}

static void test_messages(void **state)
{
	struct buf *b = fixture_start();

	(void)state;
	out_text.attached(b, &fixture_out, 3);
	out_text.time_(b, &fixture_out, "12:00\n");
	out_text.value(b, &fixture_out, &type_bool, (u64[]){ 1 });
	out_text.text(b, &fixture_out, "cat", "file\n");
	out_text.lost(b, &fixture_out, 7, NULL);
	fixture_is("12:00\ntrue\nfile\nLost 7 events\n");
}

struct said {
	enum report kind;
	u32 at; /* where in the script, 0: nowhere */
	char text[256];
};

static void keep(void *ctx, enum report kind, const struct loc *loc, const char *text)
{
	struct said *s = ctx;

	*s = (struct said){ .kind = kind, .at = loc ? loc->off : 0 };
	snprintf(s->text, sizeof(s->text), "%s", text);
}

static void check_said(struct said *s, enum report kind, u32 at, const char *text)
{
	assert_string_equal(s->text, text);
	assert_int_equal(s->kind, kind);
	assert_int_equal(s->at, at);
	*s = (struct said){ 0 };
	fixture_is("");
}

/* What is no output goes to the user instead. */
static void test_said(void **state)
{
	struct urecord r = { .action = ACTION_ERRORF, .text = "no", .loc = { 10, 11 } };
	struct buf *b = fixture_start();
	struct said said = { 0 };
	struct out o = fixture_out;
	struct out_error e = { .loc = &r.loc, .text = "@x is full", .n = 2, .count = COUNT_AFTER };
	struct out_maps maps = { .rows = 1 };

	(void)state;
	o.say = keep;
	o.say_ctx = &said;
	out_text.attached(b, &o, 1);
	check_said(&said, REPORT_NOTE, 0, "Attached 1 probe");
	out_text.lost(b, &o, 1, "too fast");
	check_said(&said, REPORT_WARNING, 0, "Lost 1 event: too fast");
	out_text.printf_(b, &o, &r, NULL);
	check_said(&said, REPORT_ERROR, 10, "no");
	out_text.runtime_error(b, &o, &e);
	check_said(&said, REPORT_WARNING, 10, "@x is full (2 times)");
	e = (struct out_error){ .text = "strings were cut", .n = 2, .count = COUNT_BEFORE };
	out_text.runtime_error(b, &o, &e);
	check_said(&said, REPORT_WARNING, 0, "2 strings were cut");
	e = (struct out_error){ .text = "3 stacks were lost", .n = 3 };
	out_text.runtime_error(b, &o, &e);
	check_said(&said, REPORT_WARNING, 0, "3 stacks were lost");
	out_text.maps(b, &o, &maps);
	check_said(&said, REPORT_NOTE, 0, "");
	o.verbose = true;
	out_text.maps(b, &o, &maps);
	check_said(&said, REPORT_NOTE, 0,
	           "maps: emptied 0 times as they filled, at most 1 rows kept in 0 KiB of 0 "
	           "(--map-memory); 0 counts lost");
}

static void test_formats(void **state)
{
	(void)state;
	assert_string_equal(OUT_FORMAT_NAMES, "text|json");
	assert_ptr_equal(out_format(NULL, false), &out_text);
	assert_ptr_equal(out_format("text", false), &out_text);
	assert_ptr_equal(out_format("json", false), &out_json);
	assert_ptr_equal(out_format(NULL, true), &out_json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars),     cmocka_unit_test(test_empty),
		cmocka_unit_test(test_hist),        cmocka_unit_test(test_hist_bits),
		cmocka_unit_test(test_lhist),       cmocka_unit_test(test_keys),
		cmocka_unit_test(test_top_and_div), cmocka_unit_test(test_keyed_hist),
		cmocka_unit_test(test_one_cell),    cmocka_unit_test(test_records),
		cmocka_unit_test(test_messages),    cmocka_unit_test(test_said),
		cmocka_unit_test(test_formats),     cmocka_unit_test(test_series),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	fixture_free();
	return failed;
}
