/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Error messages: what failed, what was being done, what can be done about it. */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_set(void **state)
{
	struct err e = { .code = 5, .text = "old", .hint = "old hint", .placed = true };

	(void)state;
	assert_false(err_set(&e, "no %s in %d", "x", 7));
	assert_int_equal(e.code, 0);
	assert_string_equal(e.text, "no x in 7");
	assert_string_equal(e.hint, "");
	assert_false(e.placed);
}

static void test_sys(void **state)
{
	struct err e;

	(void)state;
	assert_false(err_sys(&e, ENOENT, "can not open %s", "/x"));
	assert_int_equal(e.code, ENOENT);
	assert_string_equal(e.text, "can not open /x: No such file or directory");
}

static void test_wrap(void **state)
{
	struct err e;

	(void)state;
	err_sys(&e, EPERM, "can not load");
	assert_false(err_hint(&e, "run as %s", "root"));
	assert_false(err_wrap(&e, "program %d", 3));
	assert_string_equal(e.text, "program 3: can not load: Operation not permitted");
	assert_int_equal(e.code, EPERM);
	assert_string_equal(e.hint, "run as root");
}

static void test_at(void **state)
{
	struct err e;

	(void)state;
	err_set(&e, "wrong");
	assert_false(err_at(&e, 7, 3));
	err_wrap(&e, "outer");
	assert_true(e.placed);
	assert_int_equal(e.off, 7);
	assert_int_equal(e.len, 3);
	err_sys(&e, EPERM, "other");
	assert_false(e.placed);
}

/* Longer texts are cut and stay strings. */
static void test_cut(void **state)
{
	char text[2000];
	struct err e;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	err_set(&e, "%s", text);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	err_wrap(&e, "outer");
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_memory_equal(e.text, "outer: aaa", 10);
	err_sys(&e, EPERM, "%s", text);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	err_hint(&e, "%s", text);
	assert_int_equal(strlen(e.hint), sizeof(e.hint) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set), cmocka_unit_test(test_sys), cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_at),  cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
