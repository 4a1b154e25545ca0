/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables of names: numbered arguments, unknown names, nearest names. */
#include "lang/parse/builtin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lang/parse/func.h"

static void test_numbered_arguments(void **state)
{
	static const char *const good[] = { "arg0", "arg1", "arg9", "arg10", "arg255" };
	static const char *const bad[] = { "arg", "arg256", "arg00", "arg01", "arg1x", "arg1000" };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(builtin_find(str_of(good[i]))->id, BUILTIN_ARG);
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_null(builtin_find(str_of(bad[i])));
		assert_int_equal(builtin_arg(str_of(bad[i])), -1);
	}
	assert_int_equal(builtin_arg(STR("arg0")), 0);
	assert_int_equal(builtin_arg(STR("arg255")), 255);
}

static void test_find(void **state)
{
	(void)state;
	assert_int_equal(builtin_find(STR("args"))->id, BUILTIN_ARGS);
	assert_null(builtin_find(STR("")));
	assert_null(builtin_find(STR("PID")));
	assert_int_equal(func_find(STR("lhist"))->min_args, 4);
	assert_true(func_find(STR("count"))->agg);
	assert_true(func_find(STR("system"))->unsafe);
	assert_null(func_find(STR("pid")));
	assert_true(func_absent(STR("skboutput")));
	assert_false(func_absent(STR("printf")));
}

static void test_nearest(void **state)
{
	struct near n;

	(void)state;
	near_init(&n, "coutn");
	func_offer(&n);
	assert_string_equal(near_best(&n), "count");
	near_init(&n, "nsec");
	builtin_offer(&n);
	assert_string_equal(near_best(&n), "nsecs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbered_arguments),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
