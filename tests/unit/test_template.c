/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Templates of rows: how they are cut, what their names mean, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/template.h"

static struct arena arena;

/* The only place of a text. */
static struct template_part place_of(const char *text)
{
	struct template_part part;
	const char *problem;

	if (!template_next(&text, &part, &problem))
		fail_msg("%s", problem);
	assert_true(part.has_place && part.literal.n == 0 && !*text);
	return part;
}

static void test_parts(void **state)
{
	const char *p = "a{{b}}c{key}\n", *problem;
	struct template_part part;

	(void)state;
	assert_true(template_next(&p, &part, &problem));
	assert_true(str_is(part.literal, "a{") && !part.has_place);
	assert_true(template_next(&p, &part, &problem));
	assert_true(str_is(part.literal, "b}") && !part.has_place);
	assert_true(template_next(&p, &part, &problem));
	assert_true(str_is(part.literal, "c") && part.has_place && str_is(part.name, "key"));
	assert_true(part.width == 0 && !part.left && !part.folded && !part.format.n);
	assert_true(template_next(&p, &part, &problem));
	assert_true(str_is(part.literal, "\n") && !part.has_place);
	assert_false(template_next(&p, &part, &problem));
	assert_null(problem);
}

static void test_places(void **state)
{
	struct template_part part = place_of("{key:4096}");

	(void)state;
	assert_true(part.width == 4096 && !part.left);
	part = place_of("{key:-12}");
	assert_true(part.width == 12 && part.left && str_is(part.name, "key"));
	part = place_of("{0:%-08x}");
	assert_true(str_is(part.format, "%-08x") && part.width == 0 && str_is(part.name, "0"));
	part = place_of("{key:folded}");
	assert_true(part.folded && part.width == 0 && !part.format.n);
}

static void test_wrong_places(void **state)
{
	static const char *const texts[] = { "{",       "{key",       "}",        "a}b",
		                             "{}",      "{:4}",       "{key:}",   "{key:-}",
		                             "{key:x}", "{key:4097}", "{key:1a}", "{key:folds}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *p = texts[i], *problem;
		struct template_part part;

		if (template_next(&p, &part, &problem) || !problem)
			fail_msg("%s is taken", texts[i]);
	}
}

static const struct type *record(const char *a, const char *b)
{
	const struct type *parts[] = { &type_s64, &type_u64 };
	struct type *t = arena_new(&arena, struct type);
	struct field *fields = arena_array(&arena, struct field, 2);

	*t = *type_tuple(&arena, parts, 2);
	memcpy(fields, t->fields, 2 * sizeof(*fields));
	fields[0].name = a;
	fields[1].name = b;
	t->fields = fields;
	return t;
}

static bool finds(const struct type *key, const struct type *value, const char *name,
                  enum template_what what, u32 part)
{
	struct template_place place;

	return template_find(key, value, str_of(name), &place) && place.what == what &&
	       (place.part == part || (what != TEMPLATE_KEY_PART && what != TEMPLATE_VALUE_PART));
}

static bool lacks(const struct type *key, const struct type *value, const char *name)
{
	struct template_place place;

	return !template_find(key, value, str_of(name), &place);
}

static void test_names(void **state)
{
	const struct type *key = record("who", "n"), *value = record("n", "bytes");

	(void)state;
	assert_true(finds(key, value, "key", TEMPLATE_KEY, 0));
	assert_true(finds(key, value, "value", TEMPLATE_VALUE, 0));
	assert_true(finds(NULL, &type_u64, "value", TEMPLATE_VALUE, 0));
	assert_true(lacks(NULL, &type_u64, "key"));
	assert_true(finds(key, value, "who", TEMPLATE_KEY_PART, 0));
	assert_true(finds(key, &type_u64, "n", TEMPLATE_KEY_PART, 1));
	assert_true(finds(key, value, "n", TEMPLATE_VALUE_PART, 0)); /* the value's first */
	assert_true(finds(key, value, "bytes", TEMPLATE_VALUE_PART, 1));
	assert_true(finds(key, value, "0", TEMPLATE_VALUE_PART, 0));
	assert_true(finds(key, value, "01", TEMPLATE_VALUE_PART, 1));
	assert_true(lacks(key, value, "2") && lacks(key, &type_u64, "0"));
	assert_true(lacks(key, value, "10") && lacks(key, value, "4294967297"));
	assert_true(lacks(key, value, "1x") && lacks(key, value, "byte"));
}

static void test_numbers(void **state)
{
	static const struct {
		enum type_kind kind;
		bool count, sum, avg;
	} rows[] = {
		{ TYPE_COUNT, true, false, false }, { TYPE_SUM, false, true, false },
		{ TYPE_AVG, true, true, true },     { TYPE_STATS, true, true, true },
		{ TYPE_MIN, false, false, false },  { TYPE_INT, false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct type *t = type_plain(&arena, rows[i].kind);

		assert_int_equal(finds(NULL, t, "count", TEMPLATE_COUNT, 0), rows[i].count);
		assert_int_equal(finds(NULL, t, "sum", TEMPLATE_SUM, 0), rows[i].sum);
		assert_int_equal(finds(NULL, t, "avg", TEMPLATE_AVG, 0), rows[i].avg);
		assert_int_equal(lacks(NULL, t, "count"), !rows[i].count);
	}
}

static void test_checks(void **state)
{
	const struct type *key = record("who", "n"), *text = type_str(&arena, 8, true);
	const struct type *hist = type_plain(&arena, TYPE_HIST);
	const struct {
		const struct type *value;
		const char *text, *problem; /* a part of it */
	} rows[] = {
		{ &type_u64, "{key} {value:%x}|{who:%04d}", NULL },
		{ &type_u64, "{what}", "a row has no 'what'" },
		{ hist, "{value}", "a histogram" },
		{ type_plain(&arena, TYPE_LHIST), "{value}", "a histogram" },
		{ type_plain(&arena, TYPE_TSERIES), "{value}", "a histogram" },
		{ hist, "{key}", NULL },
		{ type_plain(&arena, TYPE_AGGS), "{value}", "several aggregations" },
		{ text, "{value:%-5s} {key}", NULL },
		{ text, "{value:%d}", "unsupported format" },
		{ &type_u64, "{value:%dx}", "one directive" },
		{ &type_u64, "{value:%d%d}", "one directive" },
		{ &type_u64, "{value:%%}", "one directive" },
		{ type_plain(&arena, TYPE_COUNT), "{count:%d} {value:%d}", NULL },
		{ &type_u64, "{value", "not closed" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got = template_check(&arena, rows[i].text, key, rows[i].value);

		if (!got != !rows[i].problem || (got && !strstr(got, rows[i].problem)))
			fail_msg("%s: %s", rows[i].text, got ? got : "is taken");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),        cmocka_unit_test(test_places),
		cmocka_unit_test(test_wrong_places), cmocka_unit_test(test_names),
		cmocka_unit_test(test_numbers),      cmocka_unit_test(test_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
