/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is escaped of foreign text, and that all else stays. */
#include "base/escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *text, enum escape how, const char *expected)
{
	struct buf b = { 0 };

	buf_puts(&b, "<");
	escape_add(&b, str_of(text), how);
	assert_string_equal(buf_text(&b) + 1, expected);
	escape_from(&b, 1, how); /* once more changes nothing */
	assert_string_equal(buf_text(&b) + 1, expected);
	buf_reset(&b);
	buf_puts(&b, "\x1b\n");
	buf_puts(&b, text);
	escape_from(&b, 2, how);
	assert_memory_equal(buf_text(&b), "\x1b\n", 2);
	assert_string_equal(buf_text(&b) + 2, expected);
	buf_free(&b);
}

static void check_all(const char *text, const char *none, const char *lines, const char *whole,
                      const char *all)
{
	check(text, ESCAPE_NONE, none);
	check(text, ESCAPE_LINES, lines);
	check(text, ESCAPE_TEXT, whole);
	check(text, ESCAPE_ALL, all);
}

static void same(const char *text)
{
	check_all(text, text, text, text, text);
}

static void test_plain(void **state)
{
	(void)state;
	same("");
	same("operator<<(std::ostream&, char const*) ~ \\n \\x1b");
	same("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xd7\x90 \xc2\xa0");
}

static void test_controls(void **state)
{
	(void)state;
	check_all("a\nb\tc\r", "a\nb\tc\r", "a\\nb\tc\\r", "a\nb\tc\\r", "a\\nb\\tc\\r");
	check_all("\x1b]0;x\x07\x7f", "\x1b]0;x\x07\x7f", "\x1b]0;x\x07\x7f", "\\x1b]0;x\\x07\\x7f",
	          "\\x1b]0;x\\x07\\x7f");
	check("\v\f\x1c\x1e\xc2\x85\xe2\x80\xa8\xe2\x80\xa9", ESCAPE_LINES,
	      "\\x0b\\x0c\\x1c\\x1e\\u0085\\u2028\\u2029");
	check("\xc2\x9b"
	      "31m",
	      ESCAPE_ALL, "\\u009b31m");
}

static void test_direction(void **state)
{
	(void)state;
	check("\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", ESCAPE_ALL, "\\u061c\\u200e\\u200f");
	check("\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", ESCAPE_TEXT,
	      "\\u202a\\u202e\\u2066\\u2069");
	same("\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xa5");
	check("\xe2\x80\xae", ESCAPE_LINES, "\xe2\x80\xae");
}

static void test_invalid(void **state)
{
	(void)state;
	check("\xff\xc3", ESCAPE_ALL, "\\xff\\xc3");
	check("\xc0\x8a", ESCAPE_ALL, "\\xc0\\x8a"); /* a newline that is too long */
	check("\xff\xc3", ESCAPE_LINES, "\xff\xc3");
}

static void test_in_place(void **state)
{
	char text[8] = "a\nb", full[8] = "abcdef\x1b";

	(void)state;
	escape_string(text, sizeof(text), ESCAPE_TEXT);
	assert_string_equal(text, "a\nb");
	escape_string(text, sizeof(text), ESCAPE_ALL);
	assert_string_equal(text, "a\\nb");
	escape_string(full, sizeof(full), ESCAPE_ALL);
	assert_string_equal(full, "abcdef\\");
}

/* Whatever comes, nothing that acts on a terminal goes out. */
static void test_random(void **state)
{
	(void)state;
	for (u32 round = 0; round < 20000; round++) {
		struct buf b = { 0 };
		char text[12];
		struct str s = { text, (u32)rand() % sizeof(text) };

		for (u32 i = 0; i < s.n; i++)
			text[i] = rand() % 2 ? (char)(0x80 | rand()) : (char)rand();
		escape_add(&b, s, ESCAPE_ALL);
		s = (struct str){ buf_text(&b), (u32)b.n };
		for (u32 i = 0, n; i < s.n; i += n) {
			n = str_utf8(s, i);
			assert_true(n);
			assert_false(escape_is_needed(s, i, n));
		}
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),     cmocka_unit_test(test_controls),
		cmocka_unit_test(test_direction), cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_in_place),  cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
