/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of processors as the kernel writes them, and its version. */
#include "base/kernel.h"

#include <linux/version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/utsname.h>

#include <cmocka.h>

/* What is read of `list` as "first-last " of each range, and what is left of it. */
static void check_list(const char *list, const char *ranges, const char *left)
{
	char got[128] = "";
	u32 first, last;
	int n = 0;

	while (kernel_next_range(&list, &first, &last))
		n += snprintf(got + n, sizeof(got) - (size_t)n, "%u-%u ", first, last);
	assert_string_equal(got, ranges);
	assert_string_equal(list, left);
}

static void test_lists(void **state)
{
	(void)state;
	check_list("0\n", "0-0 ", "\n");
	check_list("0-3,8,10-11\n", "0-3 8-8 10-11 ", "\n");
	check_list("0-8191", "0-8191 ", "");
	check_list("", "", "");
	check_list("\n", "", "\n");
}

static void test_what_is_no_list(void **state)
{
	(void)state;
	check_list("0-3,x", "0-3 ", "x");
	check_list("0-,1", "", ",1");
	check_list("3-1,5", "", "5");
	check_list("1,99999999999", "1-1 ", "99");
	check_list("-1", "", "-1");
}

static void test_version(void **state)
{
	unsigned major, minor, patch = 0;
	struct utsname u;

	(void)state;
	assert_int_equal(uname(&u), 0);
	assert_true(sscanf(u.release, "%u.%u.%u", &major, &minor, &patch) >= 2);
	assert_int_equal(kernel_version(), KERNEL_VERSION(major, minor, MIN(patch, 255u)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_what_is_no_list),
		cmocka_unit_test(test_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
