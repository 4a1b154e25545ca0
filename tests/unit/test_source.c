/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Getting a script's text, places in it, and how diagnostics look. */
#include "lang/parse/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_set(void **state)
{
	struct arena a = { 0 };
	struct source s;
	struct err e;

	(void)state;
	assert_true(source_set(&s, &a, "x.bt", STR("ab\0c"), &e));
	assert_int_equal(s.n, 4);
	assert_int_equal(s.text[4], 0);
	assert_false(source_set(&s, &a, "x.bt", (struct str){ "", SOURCE_MAX + 1 }, &e));
	assert_non_null(strstr(e.text, "x.bt"));
	assert_false(source_read(&s, &a, "/nonexistent.bt", &e));
	assert_non_null(strstr(e.text, "/nonexistent.bt"));
	assert_false(source_read(&s, &a, "/", &e));
	arena_free(&a);
}

static void test_line(void **state)
{
	static const struct {
		u32 off, line, column;
	} rows[] = { { 0, 1, 1 }, { 1, 1, 5 }, { 3, 1, 6 }, { 5, 2, 1 }, { 99, 2, 2 } };
	struct source s = { .name = "stdin", .text = "\t\xc3\xa4x\ny", .n = 6 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 line, column;

		source_line(&s, rows[i].off, &line, &column);
		assert_int_equal(line, rows[i].line);
		assert_int_equal(column, rows[i].column);
	}
}

static void test_print(void **state)
{
	static const char text[] = "one\n\ttwo \x1b x\nthree";
	struct arena a = { 0 };
	struct source s = { .name = "a.bt", .text = text, .n = sizeof(text) - 1 };
	struct diags d = { .arena = &a, .source = &s };
	struct buf b = { 0 };

	(void)state;
	diag_warn(&d, (struct loc){ 0, 3 }, "careful %d", 1);
	assert_false(diag_error(&d, (struct loc){ 13, 5 }, "far"));
	diag_hint(&d, "did you mean '%s'?", "near");
	diag_error(&d, (struct loc){ 5, 3 }, "wrong");
	diag_error(&d, (struct loc){ 2, 12 }, "wide");
	diag_error(&d, (struct loc){ 99, 99 }, "outside");
	diag_print(&b, &d, false);
	assert_string_equal(buf_text(&b), "a.bt:1-3: ERROR: wide\n"
	                                  "one\n"
	                                  "    two ? x\n"
	                                  "three\n"
	                                  "a.bt:2:5-8: ERROR: wrong\n"
	                                  "    two ? x\n"
	                                  "    ~~~\n"
	                                  "a.bt:3:1-6: ERROR: far\n"
	                                  "three\n"
	                                  "~~~~~\n"
	                                  "HINT: did you mean 'near'?\n"
	                                  "a.bt:3:6-7: ERROR: outside\n"
	                                  "three\n"
	                                  "     ~\n"
	                                  "a.bt:1:1-4: WARNING: careful 1\n"
	                                  "one\n"
	                                  "~~~\n");
	buf_free(&b);
	arena_free(&a);
}

/* Of a part of the program nothing is shown but what stood on the command line. */
static void test_hidden(void **state)
{
	struct arena a = { 0 };
	struct source s = { .name = "a.bt", .text = "secret", .n = 6, .hidden = true };
	struct diags d = { .arena = &a, .source = &s };
	struct buf b = { 0 };
	u32 typed, file;

	(void)state;
	typed = source_append_typed(&s, &a, "$1", STR("c:mallocc"));
	file = source_append(&s, &a, "lib.bt", STR("more"));
	assert_false(source_place(&s, &(struct loc){ 0, 1 }));
	assert_true(source_place(&s, &(struct loc){ typed, 1 }));
	assert_false(source_place(&s, &(struct loc){ file, 1 }));
	diag_error(&d, (struct loc){ 1, 2 }, "wrong");
	diag_error(&d, (struct loc){ 3, 2 }, "wrong");
	diag_error(&d, (struct loc){ typed + 2, 7 }, "wrong");
	diag_error(&d, (struct loc){ file, 2 }, "bad");
	diag_hint(&d, "mend it");
	diag_print(&b, &d, false);
	assert_string_equal(buf_text(&b), "ERROR: wrong\n"
	                                  "$1:1:3-10: ERROR: wrong\n"
	                                  "c:mallocc\n"
	                                  "  ~~~~~~~\n"
	                                  "ERROR: bad\n"
	                                  "HINT: mend it\n");
	buf_free(&b);
	arena_free(&a);
}

/* What follows from what was typed is not shown. */
static void test_cause(void **state)
{
	struct arena a = { 0 };
	struct source s = { .name = "stdin", .text = "x", .n = 1 };
	struct diags d = { .arena = &a, .source = &s };
	struct buf b = { 0 };

	(void)state;
	assert_null(diag_first(&d));
	diag_warn(&d, (struct loc){ 0, 1 }, "odd");
	assert_null(diag_first(&d));
	diag_error(&d, (struct loc){ 0, 1 }, "wrong");
	assert_string_equal(diag_first(&d)->text, "wrong");
	diag_error(&d, (struct loc){ 0, 1 }, "refused");
	diag_cause(&d);
	for (u32 i = 0; i < 30; i++)
		diag_error(&d, (struct loc){ 0, 1 }, "wrong");
	diag_cause(&d); /* of one that was not kept */
	assert_string_equal(diag_first(&d)->text, "refused");
	diag_print(&b, &d, false);
	assert_string_equal(buf_text(&b), "stdin:1:1-2: ERROR: refused\nx\n~\n");
	buf_free(&b);
	arena_free(&a);
}

static void test_color(void **state)
{
	struct arena a = { 0 };
	struct source s = { .name = "stdin", .text = "x", .n = 1 };
	struct diags d = { .arena = &a, .source = &s };
	struct buf b = { 0 };

	(void)state;
	diag_error(&d, (struct loc){ 0, 1 }, "wrong");
	diag_print(&b, &d, true);
	assert_non_null(strstr(buf_text(&b), "\033[31mERROR\033[0m: wrong"));
	buf_free(&b);
	arena_free(&a);
}

static void test_limit(void **state)
{
	struct arena a = { 0 };
	struct source s = { .name = "stdin", .text = "x", .n = 1 };
	struct diags d = { .arena = &a, .source = &s };
	struct buf b = { 0 };

	(void)state;
	for (u32 i = 0; i < 25; i++)
		diag_error(&d, (struct loc){ 0, 1 }, "wrong");
	assert_int_equal(d.list.n, 20);
	assert_int_equal(d.n_errors, 25);
	diag_print(&b, &d, false);
	assert_non_null(strstr(buf_text(&b), "5 more errors are not shown."));
	buf_free(&b);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),   cmocka_unit_test(test_line),
		cmocka_unit_test(test_print), cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_cause), cmocka_unit_test(test_color),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
