/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* printf: integers at their width, flags, precision, strings, buffers. */
#include "out_fixture.h"

static void check_word(const char *format, const struct type *t, u64 word, const char *expected)
{
	const struct field arg = { .type = t, .off = 8 };
	const u64 record[] = { 0, word };

	format_print(fixture_start(), &fixture_out, format, &arg, 1, record);
	fixture_is(expected);
}

static void check_str(const char *format, const char *text, const char *expected)
{
	const struct field arg = { .type = type_str(&fixture_arena, 16, true), .off = 8 };
	char record[24] = { 0 };

	strncpy(record + 8, text, 15);
	format_print(fixture_start(), &fixture_out, format, &arg, 1, record);
	fixture_is(expected);
}

static void test_width_of_integers(void **state)
{
	(void)state;
	check_word("%d", &type_u64, 5000000000ull, "5000000000");
	check_word("%d", &type_s64, (u64)-5000000000ll, "-5000000000");
	check_word("%u", &type_s32, (u64)-1, "4294967295");
	check_word("%u", &type_s64, (u64)-1, "18446744073709551615");
	check_word("%x", &type_s8, (u64)-1, "ffffffff");
	check_word("%lx", &type_s8, (u64)-1, "ffffffffffffffff");
	check_word("%hhd", &type_s64, 300, "44");
	check_word("%hu", &type_s64, (u64)-1, "65535");
	check_word("%lld", &type_s64, 1ull << 63, "-9223372036854775808");
	check_word("%d", &type_u64, (u64)-1, "-1");
	check_word("%d", &type_bool, 1, "1");
	check_word("%x", &type_s32, (u64)-1, "ffffffff");
}

/* argN and retval: an int there is one for %d, whatever needs more is shown whole. */
static void test_registers(void **state)
{
	(void)state;
	check_word("%d", &type_raw, 0xffffff88, "-120");
	check_word("%d", &type_raw, (u64)-120, "-120");
	check_word("%i", &type_raw, 0x80000000, "-2147483648");
	check_word("%d", &type_raw, 0x7fffffff, "2147483647");
	check_word("%d", &type_raw, 0x100000000, "4294967296");
	check_word("%u", &type_raw, 0xffffff88, "4294967176");
	check_word("%x", &type_raw, 0xffff888012345678, "ffff888012345678");
	check_word("%lld", &type_raw, 0xffffff88, "4294967176");
	check_word("%d", &type_u64, 0xffffff88, "4294967176");
}

static void test_flags(void **state)
{
	(void)state;
	check_word("[%5d]", &type_s64, 42, "[   42]");
	check_word("[%-5d]", &type_s64, 42, "[42   ]");
	check_word("[%05d]", &type_s64, (u64)-3, "[-0003]");
	check_word("[%-05d]", &type_s64, (u64)-3, "[-3   ]");
	check_word("[%+d]", &type_s64, 3, "[+3]");
	check_word("[% d]", &type_s64, 3, "[ 3]");
	check_word("[%.4d]", &type_s64, 3, "[0003]");
	check_word("[%8.4d]", &type_s64, (u64)-3, "[   -0003]");
	check_word("[%#x]", &type_s64, 255, "[0xff]");
	check_word("[%#X]", &type_s64, 255, "[0XFF]");
	check_word("[%#o]", &type_s64, 8, "[010]");
	check_word("[%#x]", &type_s64, 0, "[0]");
	check_word("[%08x]", &type_s64, 255, "[000000ff]");
	check_word("[%#08x]", &type_s64, 255, "[0x0000ff]");
	check_word("[%-10p]", &type_u64, 4096, "[0x1000    ]");
	check_word("[%c]", &type_s64, 'A', "[A]");
	check_word("[%3c]", &type_s64, 'A', "[  A]");
}

static void test_strings(void **state)
{
	(void)state;
	check_str("%s", "hello", "hello");
	check_str("[%8s]", "hello", "[   hello]");
	check_str("[%-8s]", "hello", "[hello   ]");
	check_str("[%3s]", "hello", "[hello]");
	check_str("[%.3s]", "hello", "[hel]");
	check_str("[%5.2s]", "hello", "[   he]");
	check_str("[%-4s]", "", "[    ]");
	check_word("[%7s]", &type_bool, 1, "[   true]");
	check_word("%s", &type_s64, (u64)-7, "-7");
}

static void test_literals(void **state)
{
	(void)state;
	check_word("100%% of %d\n", &type_s64, 3, "100% of 3\n");
	format_print(fixture_start(), &fixture_out, "no more %d", NULL, 0, "");
	fixture_is("no more ");
}

static void test_buffers(void **state)
{
	const struct type *t = type_buf(&fixture_arena, 3);
	const struct field args[] = { { .type = t }, { .type = t }, { .type = t } };
	static const u8 record[16] = { 3, 0, 0, 0, 0, 0, 0, 0, 'a', 10, 0xfe };

	(void)state;
	format_print(fixture_start(), &fixture_out, "%r|%rx|%10rh|", args, 3, record);
	fixture_is("a\\x0a\\xfe|\\x61\\x0a\\xfe|  61 0a fe|");
}

static void test_several(void **state)
{
	const struct type *str = type_str(&fixture_arena, 8, true);
	const struct field args[] = { { .type = str, .off = 8 },
		                      { .type = &type_u64, .off = 16 },
		                      { .type = &type_u64, .off = 24 } };
	static const struct {
		u64 id;
		char key[8];
		u64 calls, size;
	} record = { 0, "key-1", 12, 1024 };

	(void)state;
	format_print(fixture_start(), &fixture_out, "%-20s %10d %10d\n", args, 3, &record);
	fixture_is("key-1                        12       1024\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_width_of_integers),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_literals),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_several),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	fixture_free();
	return failed;
}
