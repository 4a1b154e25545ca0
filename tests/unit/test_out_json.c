/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps, records and messages as JSON, compared to the letter; escaping and numbers. */
#include "out_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/hmap.h"
#include "out/json.h"
#include "out/json_key.h"
#include "unit/bucket.h"

static struct umap map_of(const struct type *key, const struct type *value)
{
	return (struct umap){ .name = "@x",
		              .key = key,
		              .value = value,
		              .key_size = key ? type_slot(key) : 4,
		              .value_size = type_cell(value) };
}

static void check_scalar(const struct type *value, const u64 *cell, const char *expected)
{
	struct umap m = map_of(NULL, value);
	struct table t;

	table_init(&t, &fixture_arena, &fixture_unit, &m);
	table_add(&t, "\0\0\0", cell, 1);
	out_json.map(fixture_start(), &fixture_out, &t, 0, 0);
	fixture_is(expected);
}

static void check_value(const struct type *t, const void *bytes, const char *expected)
{
	out_json.value(fixture_start(), &fixture_out, t, bytes);
	fixture_is(expected);
}

static void check_string(struct str s, const char *expected)
{
	json_string(fixture_start(), s);
	fixture_is(expected);
}

static void test_strings(void **state)
{
	(void)state;
	check_string(STR("plain"), "\"plain\"");
	check_string(STR("\"\\\n\r\t\x01\x1f"), "\"\\\"\\\\\\n\\r\\t\\u0001\\u001f\"");
	check_string(STR("a\0b"), "\"a\\u0000b\"");
	check_string(STR("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
	             "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
	/* A lone continuation, an overlong slash, a surrogate, beyond U+10FFFF, a cut sequence. */
	check_string(STR("\x80"), "\"\\ufffd\"");
	check_string(STR("\xc0\xaf"), "\"\\ufffd\\ufffd\"");
	check_string(STR("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
	check_string(STR("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	check_string(STR("x\xe2\x82"), "\"x\\ufffd\\ufffd\"");
}

static void test_numbers(void **state)
{
	(void)state;
	check_value(&type_s64, (u64[]){ (u64)-1 }, "{\"type\": \"value\", \"data\": -1}\n");
	check_value(&type_u64, (u64[]){ 1ull << 53 },
	            "{\"type\": \"value\", \"data\": 9007199254740992}\n");
	check_value(&type_u64, (u64[]){ (1ull << 53) + 1 },
	            "{\"type\": \"value\", \"data\": \"9007199254740993\"}\n");
	check_value(&type_u64, (u64[]){ UINT64_MAX },
	            "{\"type\": \"value\", \"data\": \"18446744073709551615\"}\n");
	check_value(&type_s64, (u64[]){ INT64_MAX },
	            "{\"type\": \"value\", \"data\": \"9223372036854775807\"}\n");
	check_value(&type_s64, (u64[]){ 1ull << 63 },
	            "{\"type\": \"value\", \"data\": -9223372036854775808}\n");
}

static void test_values(void **state)
{
	static const struct enumerator red = { "RED", 1 };
	const struct type colour = { .kind = TYPE_INT, .size = 4, .enums = &red, .n_enums = 1 };
	const struct type *str = type_str(&fixture_arena, 8, true);
	const struct type *tuple = type_tuple(&fixture_arena,
	                                      (const struct type *[]){ &colour, str }, 2);
	const struct field fields[] = { { .name = "a", .type = &type_u8 },
		                        { .name = "b", .type = &type_s8, .off = 1 } };
	const struct type record = {
		.kind = TYPE_STRUCT, .size = 2, .fields = fields, .n_fields = 2
	};
	static const struct {
		u64 n;
		char text[8];
	} bytes = { 1, "q\"" };

	(void)state;
	check_value(tuple, &bytes, "{\"type\": \"value\", \"data\": [1,\"q\\\"\"]}\n");
	check_value(&type_bool, (u64[]){ 1 }, "{\"type\": \"value\", \"data\": true}\n");
	check_value(&record, "\5\xff\0\0\0\0\0",
	            "{\"type\": \"value\", \"data\": {\"a\": 5, \"b\": -1}}\n");
	check_value(type_array(&fixture_arena, &type_u8, 3), "\1\2\3\0\0\0\0",
	            "{\"type\": \"value\", \"data\": [1,2,3]}\n");
	check_value(type_buf(&fixture_arena, 4), "\2\0\0\0\0\0\0\0a\xff\0\0\0\0\0",
	            "{\"type\": \"value\", \"data\": [97,255]}\n");
	check_value(type_ptr(&fixture_arena, &type_none, SPACE_NONE), (u64[]){ 4096 },
	            "{\"type\": \"value\", \"data\": 4096}\n");
	check_value(type_plain(&fixture_arena, TYPE_KSYM), (u64[]){ 4096 },
	            "{\"type\": \"value\", \"data\": 4096}\n");
	check_value(
		type_stack(&fixture_arena, TYPE_KSTACK, STACK_BPFTRACE, 5), (u64[]){ 1 },
		"{\"type\": \"value\", \"data\": \"\\n        kernel+1\\n        main+2\\n\"}\n");
}

static void test_hist(void **state)
{
	struct type hist = { .kind = TYPE_HIST };
	u64 cell[66] = { [0] = 1, [2] = 3 }, high[66] = { [65] = 1 };

	(void)state;
	check_scalar(
		&hist, cell,
		"{\"type\": \"hist\", \"data\": {\"@x\": [{\"max\": -1, \"count\": 1},"
		"{\"min\": 0, \"max\": 0, \"count\": 0},{\"min\": 1, \"max\": 1, \"count\": 3}]"
		"}}\n");
	check_scalar(&hist, high,
	             "{\"type\": \"hist\", \"data\": {\"@x\": [{\"min\": 9223372036854775808, "
	             "\"max\": \"18446744073709551615\", \"count\": 1}]}}\n");
	check_scalar(&hist, (u64[66]){ 0 }, "{\"type\": \"hist\", \"data\": {\"@x\": []}}\n");
}

static void test_lhist(void **state)
{
	struct type lhist = { .kind = TYPE_LHIST, .min = -10, .max = 10, .step = 10 };

	(void)state;
	check_scalar(
		&lhist, (u64[]){ 1, 0, 0, 2 },
		"{\"type\": \"hist\", \"data\": {\"@x\": [{\"max\": -11, \"count\": 1},"
		"{\"min\": -10, \"max\": -1, \"count\": 0},{\"min\": 0, \"max\": 9, \"count\": "
		"0},{\"min\": 10, \"count\": 2}]}}\n");
}

static void test_stats(void **state)
{
	struct type stats = { .kind = TYPE_STATS, .size = 16 },
		    avg = { .kind = TYPE_AVG, .size = 16 };

	(void)state;
	check_scalar(&stats, (u64[]){ 2, 9 },
	             "{\"type\": \"stats\", \"data\": {\"@x\": {\"count\": 2, \"average\": 4, "
	             "\"total\": 9}}}\n");
	check_scalar(&avg, (u64[]){ 2, 9 }, "{\"type\": \"stats\", \"data\": {\"@x\": 4}}\n");
}

static void test_keys(void **state)
{
	struct type count = { .kind = TYPE_COUNT, .size = 8 };
	const struct type *str = type_str(&fixture_arena, 8, true);
	const struct type *inner = type_tuple(&fixture_arena,
	                                      (const struct type *[]){ &type_s64, &type_bool }, 2);
	const struct type *key = type_tuple(&fixture_arena, (const struct type *[]){ str, inner },
	                                    2);
	struct umap m = map_of(key, &count);
	static const struct {
		char text[8];
		u64 a, b;
	} rows[] = { { "a b\"", 1, 1 }, { "z", 2, 0 } };
	struct table t;

	(void)state;
	table_init(&t, &fixture_arena, &fixture_unit, &m);
	out_json.map(fixture_start(), &fixture_out, &t, 0, 0);
	fixture_is("");
	for (u64 i = 0; i < 2; i++)
		table_add(&t, &rows[i], &i, 1);
	table_sort(&t);
	out_json.map(fixture_start(), &fixture_out, &t, 0, 0);
	fixture_is("{\"type\": \"map\", \"data\": {\"@x\": {\"a b\\\",(1,true)\": 0, "
	           "\"z,(2,false)\": 1}}}\n");
	out_json.map(fixture_start(), &fixture_out, &t, 1, 0);
	fixture_is("{\"type\": \"map\", \"data\": {\"@x\": {\"z,(2,false)\": 1}}}\n");
}

static void test_stack_key(void **state)
{
	const struct type *stack = type_stack(&fixture_arena, TYPE_USTACK, STACK_BPFTRACE, 9);
	struct umap m = map_of(stack, &type_s64);
	struct table t;

	(void)state;
	table_init(&t, &fixture_arena, &fixture_unit, &m);
	table_add(&t, (u64[]){ 1, 2 }, (u64[]){ 5 }, 1);
	out_json.map(fixture_start(), &fixture_out, &t, 0, 0);
	fixture_is("{\"type\": \"map\", \"data\": {\"@x\": {\"\\nuser+1\\nmain+2\\n\": 5}}}\n");
}

static void test_empty_scalar(void **state)
{
	struct umap m = map_of(NULL, &type_s64);
	struct table t;

	(void)state;
	table_init(&t, &fixture_arena, &fixture_unit, &m);
	out_json.map(fixture_start(), &fixture_out, &t, 0, 0);
	fixture_is("{\"type\": \"map\", \"data\": {\"@x\": 0}}\n");
}

static void test_records(void **state)
{
	const struct field arg = { .type = type_str(&fixture_arena, 8, true) };
	const struct field named = { .name = "comm", .type = arg.type };
	struct urecord r = { .action = ACTION_PRINTF, .args = &arg, .n_args = 1, .text = "%s\n" };

	(void)state;
	out_json.printf_(fixture_start(), &fixture_out, &r, "a\xff\0\0\0\0\0");
	fixture_is("{\"type\": \"printf\", \"data\": \"a\\ufffd\\n\"}\n");
	r.args = &named;
	out_json.printf_(fixture_start(), &fixture_out, &r, "a\0\0\0\0\0\0");
	fixture_is("{\"type\": \"row\", \"data\": {\"comm\": \"a\"}}\n");
	r.args = &arg;
	r.action = ACTION_WARNF;
	r.loc = (struct loc){ 10, 11 };
	out_json.printf_(fixture_start(), &fixture_out, &r, "a\0\0\0\0\0\0");
	fixture_is("{\"type\": \"warnf\", \"msg\": \"a\\n\", \"filename\": \"stdin\", "
	           "\"line\": 2, \"col\": 3}\n");
	r.text = " ";
	out_json.join(fixture_start(), &fixture_out, &r, "a\0\0\0\0\0\0");
	fixture_is("{\"type\": \"join\", \"data\": \"a\"}\n");
}

static void test_messages(void **state)
{
	struct buf *b = fixture_start();

	(void)state;
	out_json.attached(b, &fixture_out, 2);
	out_json.time_(b, &fixture_out, "12:00\n");
	out_json.text(b, &fixture_out, "cat", "x");
	out_json.lost(b, &fixture_out, 7, "why");
	out_json.runtime_error(
		b, &fixture_out,
		&(struct out_error){ .loc = &(struct loc){ 0, 1 }, .text = "a \"b\"", .n = 3 });
	out_json.runtime_error(b, &fixture_out, &(struct out_error){ .text = "c", .n = 1 });
	out_json.runtime_error(
		b, &fixture_out,
		&(struct out_error){
			.text = "d", .helper = "map_update_elem", .retcode = -7, .n = 2 });
	fixture_is("{\"type\": \"attached_probes\", \"count\": 2, \"data\": {\"probes\": 2}}\n"
	           "{\"type\": \"time\", \"data\": \"12:00\\n\"}\n"
	           "{\"type\": \"cat\", \"data\": \"x\"}\n"
	           "{\"type\": \"lost_events\", \"count\": 7, \"data\": {\"events\": 7}}\n"
	           "{\"type\": \"runtime_error\", \"msg\": \"a \\\"b\\\"\", "
	           "\"filename\": \"stdin\", \"line\": 1, \"col\": 1, \"count\": 3}\n"
	           "{\"type\": \"runtime_error\", \"msg\": \"c\", \"count\": 1}\n"
	           "{\"type\": \"helper_error\", \"msg\": \"Argument list too long\", "
	           "\"helper\": \"map_update_elem\", \"retcode\": -7, \"detail\": \"d\", "
	           "\"count\": 2}\n");
}

static const struct column name = { .name = "name", .type = COLUMN_TEXT },
			   share = { .name = "share", .digits = 2 },
			   rate = { .name = "rate", .digits = COLUMN_SIGNIFICANT + 3 },
			   count = { .name = "count", .type = COLUMN_COUNTER };

/* Members have names, elements of lists none; what is after a list or an object is
 * distinguished. */
static void put_report(struct tree *t)
{
	tree_object(t, NULL);
	tree_list(t, "rows");
	tree_object(t, NULL);
	tree_text(t, &name, "a\"");
	tree_real(t, &share, 1.005);
	tree_end(t);
	tree_whole(t, &count, 1ull << 60);
	tree_whole(t, &count, (1ull << 60) + 1);
	tree_list(t, NULL);
	tree_end(t);
	tree_end(t);
	tree_signed(t, &count, -1);
	tree_object(t, "none");
	tree_end(t);
	tree_flag(t, &name, true);
	tree_text(t, &name, NULL);
	tree_real(t, &rate, 0.00012345);
	tree_end(t);
}

static void test_tree(void **state)
{
	struct tree t = { .b = fixture_start(), .ops = &tree_json };

	(void)state;
	put_report(&t);
	fixture_is("{\"rows\": [{\"name\": \"a\\\"\", \"share\": 1.00}, 1152921504606846976, "
	           "\"1152921504606846977\", []], \"count\": -1, \"none\": {}, \"name\": true, "
	           "\"name\": null, \"rate\": 0.000123}\n");
	t = (struct tree){ .b = fixture_start(), .ops = out_json.tree, .tight = true };
	tree_object(&t, NULL);
	tree_whole(&t, &count, 1);
	tree_whole(&t, &count, 2);
	tree_end(&t);
	fixture_is("{\"count\":1,\"count\":2}\n");
}

/* Prints a table of n keys, each counted once; the text between the outer braces. */
static const char *members(const struct type *key, const void *keys, u32 n)
{
	struct type counted = { .kind = TYPE_COUNT, .size = 8 };
	struct umap m = map_of(key, &counted);
	u32 size = m.key_size;
	u64 one = 1;
	struct table t;

	table_init(&t, &fixture_arena, &fixture_unit, &m);
	for (u32 i = 0; i < n; i++)
		table_add(&t, (const u8 *)keys + (size_t)i * size, &one, 1);
	out_json.map(fixture_start(), &fixture_out, &t, 0, 0);
	assert_true(fixture_buf.n > 32);
	return buf_text(&fixture_buf) + strlen("{\"type\": \"map\", \"data\": {\"@x\": {");
}

static void keys_are(const struct type *key, const void *keys, u32 n, const char *expected)
{
	const char *text = members(key, keys, n);

	assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
	assert_string_equal(text + strlen(expected), "}}}\n");
}

/* Only what could be read in two ways is written in another way than its text. */
static void test_key_escapes(void **state)
{
	struct arena *a = &fixture_arena;
	const struct type *str = type_str(a, 8, true), *buf = type_buf(a, 4);
	const struct type *pair = type_tuple(a, (const struct type *[]){ str, str }, 2);
	const struct field fields[] = { { .name = "a", .type = str } };
	const struct type record = {
		.kind = TYPE_STRUCT, .size = 8, .fields = fields, .n_fields = 1
	};

	(void)state;
	keys_are(str, (const char[2][8]){ "a,b", "C:\\d" }, 2, "\"a,b\": 1, \"C:\\\\d\": 1");
	keys_are(str, (const char[2][8]){ "\xff", "\\xff" }, 2,
	         "\"\\\\xff\": 1, \"\\\\\\\\xff\": 1");
	keys_are(pair, (const char[2][8]){ "a,b", "c" }, 1, "\"a\\\\,b,c\": 1");
	keys_are(pair, (const char[2][8]){ "a\\", "b c" }, 1, "\"a\\\\\\\\,b c\": 1");
	keys_are(buf, "\2\0\0\0\0\0\0\0a\1\0\0\0\0\0", 1, "\"a\\\\x01\": 1");
	keys_are(&record, (const char[8]){ "a b" }, 1, "\"{.a=a b}\": 1");
	/* Two addresses in one function: what their text is, the fixture says. */
	keys_are(type_plain(a, TYPE_USERNAME), (u64[]){ 0, 1, 2, 3 }, 4,
	         "\"root\": 1, \"nobody\": 1, \"nobody#2\": 1, \"nobody#3\": 1");
}

/* The strings of an object, as they stand there, are all different; their number. */
static u32 count_members(const char *text, struct arena *a)
{
	struct hmap seen = { 0 };
	u32 n = 0;

	for (; *text == '"'; n++) {
		const char *end = text + 1;

		while (*end != '"')
			end += *end == '\\' ? 2 : 1;
		end++;
		assert_null(hmap_find(&seen, text, (size_t)(end - text)));
		hmap_put(&seen, arena_strndup(a, text, (size_t)(end - text)), (size_t)(end - text),
		         a);
		text = strchr(end, ':') + strlen(": 1");
		text += *text == ',' ? 2 : 0;
	}
	hmap_free(&seen);
	assert_string_equal(text, "}}}\n");
	return n;
}

#define RANDOM_KEYS 300u

/* Different keys of so many strings, of the letters that could be taken for something else. */
static u32 random_keys(char *keys, u32 strings)
{
	static const char letters[] = "a,\\x0#2\"\xff\xc3\xa9) \1";
	u32 n = 0, size = strings * 8;

	for (u32 i = 0; i < RANDOM_KEYS; i++) {
		char *key = keys + (size_t)n * size;
		u32 same = 0;

		memset(key, 0, size);
		for (u32 k = 0; k < strings; k++)
			for (u32 c = 0, end = (u32)rand() % 6; c < end; c++)
				key[k * 8 + c] = letters[(u32)rand() % (sizeof(letters) - 1)];
		while (same < n && memcmp(keys + (size_t)same * size, key, size) != 0)
			same++;
		n += same == n;
	}
	return n;
}

/* The texts of n keys differ without a number that tells them apart. */
static void check_texts(const struct type *key, const char *keys, u32 n)
{
	struct hmap seen = { 0 };

	for (u32 i = 0; i < n; i++) {
		struct json_keys alone = { 0 };
		struct buf *b = fixture_start();

		json_key(b, &fixture_out, key, keys + (size_t)i * type_slot(key), &alone);
		json_keys_free(&alone);
		assert_null(hmap_find(&seen, b->p, b->n));
		hmap_put(&seen, arena_strndup(&fixture_arena, b->p, b->n), b->n, &fixture_arena);
	}
	hmap_free(&seen);
}

static void test_random_keys(void **state)
{
	struct arena *a = &fixture_arena;
	const struct type *str = type_str(a, 8, true);
	const struct type *pair = type_tuple(a, (const struct type *[]){ str, str }, 2);
	const struct type *deep = type_tuple(a, (const struct type *[]){ pair, str }, 2);
	const struct field fields[] = { { .name = "a", .type = str },
		                        { .name = "b", .type = str, .off = 8 } };
	const struct type record = {
		.kind = TYPE_STRUCT, .size = 16, .fields = fields, .n_fields = 2
	};
	const struct type *const types[] = { str, pair, deep, &record, type_array(a, str, 2) };
	const u32 strings[] = { 1, 2, 3, 2, 2 };
	static char keys[RANDOM_KEYS * 24];

	(void)state;
	for (u32 round = 0; round < 100; round++) {
		u32 which = round % ARRAY_SIZE(types), n = random_keys(keys, strings[which]);

		assert_int_equal(count_members(members(types[which], keys, n), a), n);
		check_texts(types[which], keys, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),      cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_values),       cmocka_unit_test(test_hist),
		cmocka_unit_test(test_lhist),        cmocka_unit_test(test_stats),
		cmocka_unit_test(test_keys),         cmocka_unit_test(test_stack_key),
		cmocka_unit_test(test_empty_scalar), cmocka_unit_test(test_records),
		cmocka_unit_test(test_messages),     cmocka_unit_test(test_tree),
		cmocka_unit_test(test_key_escapes),  cmocka_unit_test(test_random_keys),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	fixture_free();
	return failed;
}
