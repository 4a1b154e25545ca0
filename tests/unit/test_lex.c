/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tokens: kinds, values, problems, line ends. Numbers and escapes are also in tests/lang. */
#include "lang/parse/lex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The first token of the text; *rest gets the kind of the second. */
static struct token first(struct arena *a, const char *text, enum token_kind *rest)
{
	struct source *s = arena_new(a, struct source);
	struct lexer l = { s, a, 0 };
	struct token t;

	*s = (struct source){ .name = "stdin", .text = text, .n = (u32)strlen(text) };
	t = lex_next(&l);
	*rest = lex_next(&l).kind;
	return t;
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		u64 value;
		bool is_unsigned;
		const char *problem;
	} rows[] = {
		{ "0", 0, false, NULL },
		{ "18446744073709551615", UINT64_MAX, true, NULL },
		{ "18446744073709551616", 0, true, "integer literal out of range" },
		{ "0xffffffffffffffff", UINT64_MAX, true, NULL },
		{ "0x10000000000000000", 0, true, "integer literal out of range" },
		{ "9223372036854775807", INT64_MAX, false, NULL },
		{ "0777", 511, false, NULL },
		{ "1e18", 1000000000000000000u, false, NULL },
		{ "1e20", 0, false, "integer literal out of range" },
		{ "0e99", 0, false, NULL },
		{ "1_0__0", 100, false, NULL },
		{ "5u", 5, true, NULL },
		{ "5ms", 5000000, false, NULL },
		{ "213504d", 0, false, "integer literal out of range" },
		{ "12abc", 0, false, "invalid number" },
		{ "0x", 0, false, "invalid number" },
		{ "0b1", 0, false, "invalid number" },
	};
	struct arena a = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		enum token_kind rest;
		struct token t = first(&a, rows[i].text, &rest);

		assert_int_equal(t.kind, TOKEN_INT);
		assert_int_equal(rest, TOKEN_END);
		if (rows[i].problem) {
			assert_string_equal(t.problem, rows[i].problem);
			continue;
		}
		assert_null(t.problem);
		assert_int_equal(t.value, rows[i].value);
		assert_int_equal(t.is_unsigned, rows[i].is_unsigned);
	}
	arena_free(&a);
}

static void test_ranges_are_not_fractions(void **state)
{
	struct arena a = { 0 };
	enum token_kind rest;
	struct token t = first(&a, "1..5", &rest);

	(void)state;
	assert_int_equal(t.value, 1);
	assert_int_equal(rest, TOKEN_DOTDOT);
	arena_free(&a);
}

static void test_strings(void **state)
{
	static const struct {
		const char *text, *value, *problem;
	} rows[] = {
		{ "\"\"", "", NULL },
		{ "\"a\\tb\\\"\\\\\"", "a\tb\"\\", NULL },
		{ "\"\\x41\\102\\7\"", "AB\a", NULL },
		{ "\"\\x4\"", "\4", NULL },
		{ "\"\\q\"", NULL, "unknown escape sequence in a string" },
		{ "\"\\xg\"", NULL, "unknown escape sequence in a string" },
		{ "\"\\777\"", NULL, "unknown escape sequence in a string" },
		{ "\"abc", NULL, "unterminated string" },
		{ "\"abc\\", NULL, "unterminated string" },
		{ "\"abc\\\"", NULL, "unterminated string" },
		{ "\"abc\n\"", NULL, "unterminated string" },
	};
	struct arena a = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		enum token_kind rest;
		struct token t = first(&a, rows[i].text, &rest);

		assert_int_equal(t.kind, TOKEN_STRING);
		if (rows[i].problem) {
			assert_string_equal(t.problem, rows[i].problem);
			continue;
		}
		assert_null(t.problem);
		assert_true(str_is(t.text, rows[i].value));
	}
	arena_free(&a);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *text;
		enum token_kind kind;
	} rows[] = {
		{ "", TOKEN_END },         { "  // x", TOKEN_END }, { "/* x */", TOKEN_END },
		{ "_a1", TOKEN_NAME },     { "@", TOKEN_MAP },      { "@a_1", TOKEN_MAP },
		{ "$v", TOKEN_VAR },       { "$12", TOKEN_PARAM },  { "$#", TOKEN_PARAM_COUNT },
		{ "<<=", TOKEN_SHL_SET },  { "<<", TOKEN_SHL },     { "<=", TOKEN_LE },
		{ "<", TOKEN_LT },         { "->", TOKEN_ARROW },   { "--", TOKEN_DEC },
		{ "\xc3\xa4", TOKEN_BAD }, { "'", TOKEN_BAD },
	};
	struct arena a = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		enum token_kind rest;

		assert_int_equal(first(&a, rows[i].text, &rest).kind, rows[i].kind);
		assert_int_equal(rest, TOKEN_END);
	}
	arena_free(&a);
}

static void test_line_ends(void **state)
{
	struct arena a = { 0 };
	enum token_kind rest;

	(void)state;
	assert_false(first(&a, " a", &rest).on_new_line);
	assert_true(first(&a, "\na", &rest).on_new_line);
	assert_true(first(&a, "/*\n*/a", &rest).on_new_line);
	assert_true(first(&a, "// x\na", &rest).on_new_line);
	assert_string_equal(first(&a, "/* a", &rest).problem, "unterminated comment");
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),   cmocka_unit_test(test_ranges_are_not_fractions),
		cmocka_unit_test(test_strings),   cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_line_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
