// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The table of integer macros: in order, every name found, some values as the headers have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "lang/infer/constants.h"

static s64 value_of(const char *name)
{
	s64 value = -12345;

	assert_true(constants_find(str_of(name), &value));
	return value;
}

static void test_order(void **state)
{
	u32 n = 0;

	(void)state;
	for (; constants_name(n); n++) {
		if (n)
			assert_true(strcmp(constants_name(n - 1), constants_name(n)) < 0);
		value_of(constants_name(n));
	}
	assert_true(n > 1500);
}

static void test_values(void **state)
{
	(void)state;
	assert_int_equal(value_of("AF_INET6"), AF_INET6);
	assert_int_equal(value_of("ENOMEM"), ENOMEM);
	assert_int_equal(value_of("SIGKILL"), SIGKILL);
	assert_int_equal(value_of("MAP_ANONYMOUS"), MAP_ANONYMOUS);
	assert_int_equal(value_of("O_CLOEXEC"), O_CLOEXEC);
	assert_int_equal(value_of("AT_FDCWD"), AT_FDCWD);
	assert_int_equal(value_of("GFP_KERNEL"), 0xcc0);
	assert_int_equal(value_of("GFP_TRANSHUGE"), 0x1c24ca);
}

static void test_absent(void **state)
{
	static const char *const names[] = {
		"", "A", "AF_INE", "AF_INETX", "af_inet", "zzz", "\xff"
	};
	s64 value;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(constants_find(str_of(names[i]), &value));
	assert_false(constants_find((struct str){ "AF_INET6", 5 }, &value));
	assert_true(constants_find((struct str){ "AF_INET6", 7 }, &value));
	assert_int_equal(value, AF_INET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
