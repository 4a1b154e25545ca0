/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* web/accept.c */
#include "web/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_quality(void **state)
{
	static const char prometheus[] =
		"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text"
		";version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
	static const struct {
		const char *header, *range;
		s32 quality;
	} rows[] = {
		{ "", "text/plain", -1 },
		{ prometheus, "application/openmetrics-text", 500 },
		{ prometheus, "text/plain", 300 },
		{ prometheus, "*/*", 200 },
		{ prometheus, "text/*", -1 },
		{ " Text/Plain ; Q=0.25 , a/b", "text/plain", 250 },
		{ "text/plain;q=0", "text/plain", 0 },
		{ "text/plain;q=0.1234", "text/plain", 1000 },
		{ "text/plain;q=0.5.5", "text/plain", 1000 },
		{ "text/plain;q=.5", "text/plain", 1000 },
		{ "text/plain;q=0.5", "text/plain", 500 },
		{ "text/plain;q=1.5", "text/plain", 1000 },
		{ "text/plain;q=", "text/plain", 1000 },
		{ "text/plain;q=x;q=0.1", "text/plain", 1000 },
		{ "text/plainer, text/plai", "text/plain", -1 },
		{ ",;,;q=,,", "text/plain", -1 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(accept_quality(rows[i].header, rows[i].range), rows[i].quality);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_quality) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
