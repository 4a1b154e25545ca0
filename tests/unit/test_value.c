/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The text of one value of every kind. */
#include <stdlib.h>
#include <time.h>

#include "out_fixture.h"

#include "out/value.h"

static void check(const struct type *t, const void *bytes, const char *expected)
{
	value_print(fixture_start(), &fixture_out, t, bytes);
	fixture_is(expected);
}

static void check_word(const struct type *t, u64 word, const char *expected)
{
	check(t, (u64[]){ word, 42, 0 }, expected);
}

static const struct type *plain(enum type_kind kind)
{
	return type_plain(&fixture_arena, kind);
}

static void test_scalars(void **state)
{
	static const struct enumerator colours[] = { { "RED", -1 }, { "BLUE", 3 } };
	const struct type colour = {
		.kind = TYPE_INT, .size = 4, .is_signed = true, .enums = colours, .n_enums = 2
	};

	(void)state;
	check_word(&type_bool, 1, "true");
	check_word(&type_bool, 0, "false");
	check_word(&type_s8, (u64)-5, "-5");
	check_word(&type_u64, (u64)-1, "18446744073709551615");
	check_word(&type_s64, 1ull << 63, "-9223372036854775808");
	check_word(type_ptr(&fixture_arena, &type_none, SPACE_NONE), 0xffff8880ull, "0xffff8880");
	check_word(&colour, (u64)-1, "RED");
	check_word(&colour, 3, "BLUE");
	check_word(&colour, 4, "4");
}

static void test_strings(void **state)
{
	const struct type *t = type_str(&fixture_arena, 8, false);
	const struct type *five = type_str(&fixture_arena, 5, false);

	(void)state;
	check(t, "abc\0def", "abc");
	check(t, "", "");
	check(t, "abcdefg", "abcdefg..");
	check(type_str(&fixture_arena, 8, true), "abcdefg", "abcdefg");
	check(five, "abc\0\0\0\0", "abc");
	check(five, "abcd\0\0\0", "abcd..");
}

static void test_buffers(void **state)
{
	const struct type *t = type_buf(&fixture_arena, 5);
	static const u8 bytes[16] = { 4, 0, 0, 0, 0, 0, 0, 0, 'a', 1, '\\', 0xff, 'x' };
	struct value v = value_at_rest(t, bytes);

	(void)state;
	check(t, bytes, "a\\x01\\\\xff");
	value_hex(fixture_start(), value_bytes(&v), HEX_ESCAPED);
	fixture_is("\\x61\\x01\\x5c\\xff");
	value_hex(fixture_start(), value_bytes(&v), HEX_SPACED);
	fixture_is("61 01 5c ff");
}

static void test_tuples(void **state)
{
	const struct type *text = type_str(&fixture_arena, 8, true);
	const struct type *inner = type_tuple(&fixture_arena,
	                                      (const struct type *[]){ text, &type_bool }, 2);
	const struct type *outer = type_tuple(&fixture_arena,
	                                      (const struct type *[]){ &type_s32, inner }, 2);
	static const struct {
		s64 n;
		char text[8];
		u64 yes;
	} bytes = { -1, "two", 1 };

	(void)state;
	check(outer, &bytes, "(-1, (two, true))");
}

static void test_foreign(void **state)
{
	const struct type *array = type_array(&fixture_arena, &type_s16, 3);
	const struct type *name = type_str(&fixture_arena, 4, false);
	const struct field fields[] = {
		{ .name = "a", .type = &type_u8 },
		{ .name = "low", .type = &type_u32, .off = 1, .bit_off = 0, .bit_size = 3 },
		{ .name = "high", .type = &type_s32, .off = 1, .bit_off = 3, .bit_size = 5 },
		{ .name = "name", .type = name, .off = 2 },
		{ .name = "v", .type = array, .off = 6 },
	};
	const struct type record = {
		.kind = TYPE_STRUCT, .size = 12, .fields = fields, .n_fields = 5
	};
	static const u8 bytes[16] = { 7, 0xfd, 'a', 'b', 'c', 0, 1, 0, 0xff, 0xff, 2, 0 };

	(void)state;
	check(&record, bytes, "{ .a = 7, .low = 5, .high = -1, .name = abc, .v = [1,-1,2] }");
	check(array, bytes + 6, "[1,-1,2]");
}

static void test_room(void **state)
{
	/* A field that reaches past its struct reads as zeros. */
	const struct field fields[] = { { .name = "far", .type = &type_u64, .off = 4 },
		                        { .name = "out", .type = &type_u32, .off = 4096 } };
	const struct type record = {
		.kind = TYPE_STRUCT, .size = 8, .fields = fields, .n_fields = 2
	};

	(void)state;
	check(&record, "\1\1\1\1\2\0\0", "{ .far = 2, .out = 0 }");
}

static void test_named(void **state)
{
	(void)state;
	check_word(type_stack(&fixture_arena, TYPE_KSTACK, STACK_BPFTRACE, 127), 1,
	           "\n        kernel+1\n        main+2\n");
	check_word(plain(TYPE_KSYM), 7, "ksym_7");
	check_word(plain(TYPE_USYM), 7, "usym_7_42");
	check_word(plain(TYPE_PROBE), 1, "uprobe:/bin/x:main");
	check_word(plain(TYPE_PROBE), 9, "probe 9");
	check_word(plain(TYPE_USERNAME), 0, "root");
	check_word(plain(TYPE_CGROUP_PATH), 12, "unified:/12");
	check_word(plain(TYPE_LOADAVG), 0, "0.10 0.20 0.30");
	check_word(plain(TYPE_STRERROR), 2, "No such file or directory");
}

static void test_time(void **state)
{
	struct type t = *plain(TYPE_TIMESTAMP);

	(void)state;
	t.text = "%Y-%m-%d %H:%M:%S.%f %%f";
	check_word(&t, 123456789, "2001-09-09 01:46:40.123456 %f");
	value_time(fixture_start(), "%", 0);
	fixture_is("%");
}

static void test_addresses(void **state)
{
	static const u8 v4[24] = { 2, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 1 };
	static const u8 v6[24] = { 10, 0, 0, 0, 0, 0, 0, 0, 0x20, 0x01, 0x0d, 0xb8,
		                   0,  0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    1 };

	(void)state;
	check(plain(TYPE_INET), v4, "127.0.0.1");
	check(plain(TYPE_INET), v6, "2001:db8::1");
	check_word(plain(TYPE_MAC), 0x665544332211abull, "AB:11:22:33:44:55");
}

/* A kind of which the printer, or what merges cells, knows nothing is missing there. */
static void each_kind_is_printed(void **state)
{
	static const enum type_kind ids[] = {
#define V(id, ...) TYPE_##id,
		VALUE_KINDS(V)
#undef V
	};

	struct arena a = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(ids); i++) {
		struct type t = { .kind = ids[i], .elem = &type_s64, .step = 1, .max = 1 };
		bool none = ids[i] == TYPE_ARGS;
		struct cell c;

		assert_true(type_eq(
			&t,
			&(struct type){ .kind = ids[i], .elem = &type_s64, .step = 1, .max = 1 }));
		assert_int_equal(type_slot(&t) % 8, 0);
		if (type_is_agg(&t))
			cell_merge(&c, &a, &t, NULL, 0, 0);
		else
			assert_true(none == !value_kind_of(&t)->text);
	}
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_is_printed),
		cmocka_unit_test(test_scalars),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_tuples),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_addresses),
	};
	int failed;

	setenv("TZ", "UTC", 1);
	tzset();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	fixture_free();
	return failed;
}
