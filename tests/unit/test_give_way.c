// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* When the reader of a ring yields, and when it keeps its share. */
#include "run/give_way.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB (1u << 20)
#define MS  1000000u

static void test_yields_while_it_keeps_up(void **state)
{
	(void)state;
	assert_true(give_way_is_due(0, 16 * MIB, 0));
	assert_true(give_way_is_due(2 * MIB, 16 * MIB, 20 * MS));
}

static void test_keeps_its_share_when_behind(void **state)
{
	(void)state;
	assert_false(give_way_is_due(2 * MIB + 8, 16 * MIB, 0));
	assert_false(give_way_is_due(0, 16 * MIB, 20 * MS + 1));
	assert_false(give_way_is_due(16 * MIB, 16 * MIB, 1000 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yields_while_it_keeps_up),
		cmocka_unit_test(test_keeps_its_share_when_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
