/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* tpformat.c: event formats as kernels write them, and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "read/tpformat.h"

#define HEAD "name: ev\nID: 77\nformat:\n"

struct expect {
	const char *line;
	struct tpfield f;
};

static const struct expect expects[] = {
	{ "field:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;",
	  { .name = "common_type", .type = "unsigned short", .size = 2, .common = true } },
	{ "field:const char * filename;\toffset:16;\tsize:8;\tsigned:0;",
	  { .name = "filename", .type = "const char *", .off = 16, .size = 8 } },
	{ "field:const char *const *argv;\toffset:16;\tsize:8;\tsigned:0;",
	  { .name = "argv", .type = "const char *const *", .off = 16, .size = 8 } },
	{ "field:char comm[16];\toffset:8;\tsize:16;\tsigned:0;",
	  { .name = "comm", .type = "char", .off = 8, .size = 16, .count = 16 } },
	{ "field:char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\tsigned:1;",
	  { .name = "comm",
	    .type = "char",
	    .off = 8,
	    .size = 16,
	    .count = 16,
	    .is_signed = true } },
	{ "field:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;",
	  { .name = "args", .type = "unsigned long", .off = 16, .size = 48, .count = 6 } },
	{ "field:struct foo t[2];\toffset:16;\tsize:48;\tsigned:0;",
	  { .name = "t", .type = "struct foo", .off = 16, .size = 48, .count = 2 } },
	{ "field:int m[2][3];\toffset:0;\tsize:24;\tsigned:1;",
	  { .name = "m", .type = "int", .size = 24, .count = 6, .is_signed = true } },
	{ "field:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;",
	  { .name = "name", .type = "char", .off = 12, .size = 4, .data_loc = true } },
	{ "field:__rel_loc unsigned long[] v;\toffset:12;\tsize:4;\tsigned:0;",
	  { .name = "v", .type = "unsigned long", .off = 12, .size = 4, .rel_loc = true } },
	{ "field:__data_loc cpumask_t mask;\toffset:12;\tsize:4;\tsigned:0;",
	  { .name = "mask", .type = "cpumask_t", .off = 12, .size = 4, .data_loc = true } },
	{ "field:gfp_t gfp;\toffset:8;\tsize:4;",
	  { .name = "gfp", .type = "gfp_t", .off = 8, .size = 4 } },
};

static bool parse(struct arena *a, const char *text, struct tpformat *f, struct err *e)
{
	return tpformat_parse(a, str_of(text), f, e);
}

static void understands_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expects); i++) {
		const struct tpfield *want = &expects[i].f, *have;
		struct arena a = { 0 };
		struct tpformat f;
		struct err e;
		char text[512];

		snprintf(text, sizeof(text), HEAD "\t%s\n", expects[i].line);
		if (!parse(&a, text, &f, &e))
			fail_msg("%s: %s", expects[i].line, e.text);
		assert_int_equal(f.n_fields, 1);
		have = &f.fields[0];
		assert_string_equal(have->name, want->name);
		assert_string_equal(have->type, want->type);
		if (have->off != want->off || have->size != want->size ||
		    have->count != want->count || have->is_signed != want->is_signed ||
		    have->data_loc != want->data_loc || have->rel_loc != want->rel_loc ||
		    have->common != want->common)
			fail_msg("%s is understood wrongly", expects[i].line);
		arena_free(&a);
	}
}

static void reads_a_whole_file(void **state)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct tpformat f;
	struct err e;

	(void)state;
	assert_true(file_read("tests/data/world/tracing/events/sched/sched_switch/format", &b,
	                      65536, &e));
	assert_true(parse(&a, buf_text(&b), &f, &e));
	assert_string_equal(f.name, "sched_switch");
	assert_int_equal(f.id, 314);
	assert_int_equal(f.n_fields, 11);
	assert_string_equal(f.fields[10].name, "next_prio");
	assert_true(f.fields[3].common);
	assert_false(f.fields[4].common);
	buf_free(&b);
	arena_free(&a);
}

static void refuses_bytes_of_zero(void **state)
{
	struct arena a = { 0 };
	struct tpformat f;
	struct err e;

	(void)state;
	assert_false(tpformat_parse(&a, STR(HEAD "field:\0 x; offset:0; size:8;"), &f, &e));
	assert_string_equal(e.text, "line 0 of the event format: it holds a byte of 0");
	arena_free(&a);
}

static void names_the_damaged_line(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "line 0 of the event format: the event's name or ID is missing" },
		{ "name: x\nID: seven\n", "line 2 of the event format: the ID is not a number" },
		{ HEAD "field:int x", "line 4 of the event format: a field without ';'" },
		{ HEAD "field:int x; offset:1; size:;", "line 4 of the event format: a field "
		                                        "attribute that is not a number" },
		{ HEAD "\n field:int x; offset:1;", "line 5 of the event format: a field without "
		                                    "offset or size" },
		{ HEAD "field:int x; offset:65530; size:8;",
		  "line 4 of the event format: a field outside the record" },
		{ HEAD "field:int x; offset:4294967295; size:4294967295;",
		  "line 4 of the event format: a field outside the record" },
		{ HEAD "field:x; offset:0; size:8;",
		  "line 4 of the event format: a field without type or name" },
		{ HEAD "field:int x[3; offset:0; size:8;",
		  "line 4 of the event format: a field without type or name" },
		{ HEAD "field:__data_loc [] x; offset:0; size:4;",
		  "line 4 of the event format: a field without type or name" },
		{ HEAD "field:; offset:0; size:8;",
		  "line 4 of the event format: a field without type or name" },
		{ HEAD "field:__data_loc char[] s; offset:0; size:8;",
		  "line 4 of the event format: a dynamic field whose place is not 4 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena a = { 0 };
		struct tpformat f;
		struct err e;

		assert_false(parse(&a, cases[i].text, &f, &e));
		assert_string_equal(e.text, cases[i].why);
		arena_free(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(understands_fields),
		cmocka_unit_test(reads_a_whole_file),
		cmocka_unit_test(refuses_bytes_of_zero),
		cmocka_unit_test(names_the_damaged_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
