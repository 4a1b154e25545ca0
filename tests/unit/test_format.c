/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* printf formats: how directives are cut, and which values they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "unit/format.h"

static struct arena arena;

static void test_parts(void **state)
{
	const char *p = "a%%b %-20s|%05ld%rx", *problem;
	struct format_part part;

	(void)state;
	assert_true(format_next(&p, &part, &problem));
	assert_true(str_is(part.literal, "a%") && !part.has_directive);
	assert_true(format_next(&p, &part, &problem));
	assert_true(str_is(part.literal, "b ") && part.conv == 's' && part.minus);
	assert_int_equal(part.width, 20);
	assert_int_equal(part.precision, -1);
	assert_true(str_is(part.text, "%-20s"));
	assert_true(format_next(&p, &part, &problem));
	assert_true(str_is(part.literal, "|") && part.zero && part.bytes == 8);
	assert_int_equal(part.width, 5);
	assert_true(format_next(&p, &part, &problem));
	assert_true(part.conv == 'r' && part.sub == 'x');
	assert_false(format_next(&p, &part, &problem));
	assert_null(problem);
	p = "%9gr";
	assert_true(format_next(&p, &part, &problem));
	assert_true(part.conv == 'g' && part.width == 9 && !*p);
	p = "%g";
	assert_false(format_next(&p, &part, &problem));
	assert_non_null(problem);
}

static void test_lengths(void **state)
{
	const struct {
		const char *text;
		u8 bytes;
	} rows[] = { { "%hhd", 1 }, { "%hu", 2 }, { "%x", 4 },  { "%lu", 8 },
		     { "%llu", 8 }, { "%zd", 8 }, { "%jd", 8 }, { "%td", 8 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *p = rows[i].text, *problem;
		struct format_part part;

		assert_true(format_next(&p, &part, &problem));
		assert_int_equal(part.bytes, rows[i].bytes);
	}
}

static void test_precision(void **state)
{
	const char *p = "%.3s%.*s", *problem;
	struct format_part part;

	(void)state;
	assert_true(format_next(&p, &part, &problem));
	assert_int_equal(part.precision, 3);
	assert_true(format_next(&p, &part, &problem));
	assert_int_equal(part.precision, -1);
}

static void test_problems(void **state)
{
	const char *const wrong[] = { "%", "x%-5", "%q", "%9999d", "%.99999s", "%l" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const char *p = wrong[i], *problem;
		struct format_part part;

		assert_false(format_next(&p, &part, &problem));
		assert_non_null(problem);
	}
}

static const char *check(const char *format, const struct type *a, const struct type *b)
{
	const struct type *types[2] = { a, b };

	return format_check(&arena, format, types, (u32) !!a + !!b, NULL);
}

/* The argument that is wrong. */
static void test_which(void **state)
{
	const struct type *s = type_str(&arena, 2, true), *types[] = { &type_u64, s, s };
	u32 at;

	(void)state;
	assert_null(format_check(&arena, "%d %s %s", types, 3, &at));
	assert_int_equal(at, 3);
	assert_non_null(format_check(&arena, "%d %d %d", types, 3, &at));
	assert_int_equal(at, 1);
	assert_non_null(format_check(&arena, "%d %d", types, 3, &at));
	assert_int_equal(at, 3);
	assert_non_null(format_check(&arena, "%d %d %y", types, 3, &at));
	assert_int_equal(at, 3);
}

static void test_check(void **state)
{
	const struct type *s = type_str(&arena, 2, true);

	(void)state;
	assert_null(check("%d %s\n", &type_u64, s));
	assert_null(check("%s %s", &type_u64, type_plain(&arena, TYPE_KSYM)));
	assert_null(check("%r", type_buf(&arena, 4), NULL));
	assert_null(check("100%%\n", NULL, NULL));
	assert_string_equal(check("%d %d", &type_u64, NULL),
	                    "not enough arguments for format string (1 supplied, 2 expected)");
	assert_string_equal(check("x", &type_u64, NULL),
	                    "too many arguments for format string (1 supplied, 0 expected)");
	assert_string_equal(check("%d", s, NULL),
	                    "unsupported format specifier for type 'string[2]': d");
	assert_string_equal(check("%rx", s, NULL),
	                    "unsupported format specifier for type 'string[2]': rx");
	assert_non_null(check("%y", &type_u64, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),     cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_precision), cmocka_unit_test(test_problems),
		cmocka_unit_test(test_check),     cmocka_unit_test(test_which),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_free(&arena);
	return failed;
}
