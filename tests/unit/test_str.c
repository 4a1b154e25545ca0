/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Slices, wildcards and the nearest name. */
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/glob.h"
#include "base/near.h"

static void test_compare(void **state)
{
	(void)state;
	assert_true(str_eq(STR("abc"), str_of("abc")));
	assert_false(str_eq(STR("abc"), STR("abd")));
	assert_false(str_eq(STR("abc"), STR("ab")));
	assert_true(str_eq((struct str){ NULL, 0 }, STR("")));
	assert_true(str_is(STR("x"), "x"));
	assert_string_equal(str_nth("a\0bc\0d\0", 1), "bc");
	assert_string_equal(str_nth("a\0bc\0d\0", 2), "d");
	assert_null(str_nth("a\0bc\0d\0", 3));
	assert_true(str_is_any_case(STR("bEGIN"), "Begin"));
	assert_true(str_is_any_case(STR(""), ""));
	assert_false(str_is_any_case(STR("BEGI"), "BEGIN"));
	assert_false(str_is_any_case(STR("BEGINS"), "BEGIN"));
	assert_false(str_is_any_case(STR("@"), "`"));
	assert_false(str_is_any_case(STR("["), "{"));
	assert_true(str_starts(STR("uprobe:x"), "uprobe"));
	assert_false(str_starts(STR("up"), "uprobe"));
	assert_true(str_starts(STR("up"), ""));
}

static void test_cut(void **state)
{
	struct str rest, s = str_cut(STR("a:b:"), ':', &rest);

	(void)state;
	assert_true(str_is(s, "a"));
	assert_true(str_is(rest, "b:"));
	s = str_cut(rest, ':', &rest);
	assert_true(str_is(s, "b"));
	assert_non_null(rest.p); /* there was a separator: an empty part follows */
	assert_int_equal(rest.n, 0);
	s = str_cut(STR("abc"), ':', &rest);
	assert_true(str_is(s, "abc"));
	assert_null(rest.p);
	s = str_cut((struct str){ NULL, 0 }, ':', &rest);
	assert_int_equal(s.n, 0);
	assert_null(rest.p);
}

static void test_trim(void **state)
{
	static const char with_nul[] = { ' ', 'a', 0 };

	(void)state;
	assert_true(str_is(str_trim(STR(" \t a b\n"), STR_BLANKS), "a b"));
	assert_true(str_is(str_trim(STR(" a\n"), " "), "a\n"));
	assert_int_equal(str_trim(STR(" \v\f\r "), STR_BLANKS).n, 0);
	assert_int_equal(str_trim((struct str){ NULL, 0 }, STR_BLANKS).n, 0);
	assert_int_equal(str_trim((struct str){ with_nul, 3 }, STR_BLANKS).n, 2); /* no blank */
}

static void test_glob(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} rows[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*", "anything", true },
		{ "a*c", "abbbc", true },
		{ "a*c", "abbb", false },
		{ "*mm*", "vmm_x", true },
		{ "?", "", false },
		{ "a?c", "abc", true },
		{ "[abc]x", "bx", true },
		{ "[abc]x", "dx", false },
		{ "[a-f]", "e", true },
		{ "[!a-f]", "e", false },
		{ "[^a-f]", "g", true },
		{ "[]]", "]", true },
		{ "[a-]", "-", true },
		{ "[abc", "a", false },
		{ "**a**", "xxa", true },
		{ "*a*b*c", "aabbc", true },
		{ "*a*b*c", "aabb", false },
		{ "a.c", "abc", false },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (glob_match(str_of(rows[i].pattern), str_of(rows[i].text)) != rows[i].match)
			fail_msg("'%s' on '%s'", rows[i].pattern, rows[i].text);
	assert_true(glob_is(STR("a*")));
	assert_true(glob_is(STR("a[b]")));
	assert_false(glob_is(STR("abc")));
}

/* What takes exponential time in careless matchers. */
static void test_glob_time(void **state)
{
	char text[2001];

	(void)state;
	memset(text, 'a', 2000);
	text[2000] = 0;
	assert_false(glob_match(STR("*a*a*a*a*a*a*a*a*a*a*b"), str_of(text)));
}

static const char *nearest(const char *want, const char *const *names, u32 n)
{
	static struct near near;

	near_init(&near, want);
	for (u32 i = 0; i < n; i++)
		near_offer(&near, names[i]);
	return near_best(&near);
}

static void test_near(void **state)
{
	static const char *const names[] = { "count", "sum", "hist", "lhist", "", "strftime" };
	char long_name[200];

	(void)state;
	assert_string_equal(nearest("cnt", names, 6), "count");
	assert_string_equal(nearest("hists", names, 6), "hist");
	assert_string_equal(nearest("lhsit", names, 6), "lhist");
	assert_string_equal(nearest("strtime", names, 6), "strftime");
	assert_null(nearest("completely", names, 6));
	assert_null(nearest("x", names, 0));
	memset(long_name, 'x', 199);
	long_name[199] = 0;
	assert_null(nearest(long_name, names, 6));
}

/* Each length that is compared by words, and some that are not; a byte that differs, anywhere. */
static void test_same(void **state)
{
	char a[34], b[34];

	(void)state;
	for (u32 i = 0; i < sizeof(a); i++)
		a[i] = b[i] = (char)(i * 37);
	for (u32 n = 0; n < sizeof(a); n++) {
		b[n] = (char)~a[n]; /* behind them */
		assert_true(str_same(a, b, n));
		for (u32 i = 0; i < n; i++) {
			b[i] ^= 0x40;
			assert_false(str_same(a, b, n));
			b[i] = a[i];
		}
		b[n] = a[n];
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare),   cmocka_unit_test(test_cut),
		cmocka_unit_test(test_trim),      cmocka_unit_test(test_glob),
		cmocka_unit_test(test_glob_time), cmocka_unit_test(test_near),
		cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
