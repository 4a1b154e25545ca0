/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The growable buffer: always NUL-terminated, any length, empty without memory. */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_empty(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_string_equal(buf_text(&b), "");
	buf_reset(&b);
	buf_add(&b, NULL, 0);
	assert_string_equal(buf_text(&b), "");
	buf_free(&b);
	assert_null(b.p);
}

static void test_decimal(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_decimal(&b, 0);
	buf_putc(&b, ' ');
	buf_decimal(&b, 1090);
	buf_putc(&b, ' ');
	buf_decimal(&b, UINT64_MAX);
	assert_string_equal(buf_text(&b), "0 1090 18446744073709551615");
	buf_free(&b);
}

static void test_adding(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_puts(&b, "ab");
	buf_putc(&b, 'c');
	buf_fill(&b, '-', 3);
	buf_printf(&b, "%05d", 42);
	buf_add(&b, "\0z", 2);
	assert_int_equal(b.n, 13);
	assert_memory_equal(b.p, "abc---00042\0z", 14);
	buf_reset(&b);
	assert_string_equal(buf_text(&b), "");
	buf_fill(&b, 'x', 0);
	assert_string_equal(buf_text(&b), "");
	buf_free(&b);
}

/* Text longer than the room that is left, around every size of the first allocation. */
static void test_long_printf(void **state)
{
	char text[700];

	(void)state;
	for (size_t n = 0; n < sizeof(text); n += 13) {
		struct buf b = { 0 };

		memset(text, 'y', n);
		text[n] = 0;
		buf_putc(&b, '>');
		buf_printf(&b, "%s|%s", text, text);
		assert_int_equal(b.n, 2 * n + 2);
		assert_int_equal(strlen(b.p), b.n);
		buf_free(&b);
	}
}

static void test_growth(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (u32 i = 0; i < 100000; i++)
		buf_putc(&b, (char)('a' + i % 26));
	assert_int_equal(b.n, 100000);
	for (u32 i = 0; i < 100000; i++)
		assert_int_equal(b.p[i], 'a' + i % 26);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),   cmocka_unit_test(test_adding),
		cmocka_unit_test(test_decimal), cmocka_unit_test(test_long_printf),
		cmocka_unit_test(test_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
