/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The stacks of the last minutes, and the page of a report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/serve/shots.h"
#include "out/page.h"

static void test_what_came_since(void **state)
{
	struct buf b = { 0 };

	(void)state;
	shots_less(&b, STR("main;a 7\nmain;b 3\nmain;c d 2\n"),
	           STR("main;a 5\nmain;b 3\ngone 9\n"));
	assert_string_equal(buf_text(&b), "main;a 2\nmain;c d 2\n");
	buf_free(&b);
}

/* Of another start of the collector there is none; else the one nearest in time. */
static void test_nearest(void **state)
{
	struct shots s = { 0 };
	struct buf b = { 0 };

	(void)state;
	for (u64 i = 1; i <= 5; i++) {
		buf_reset(&b);
		buf_printf(&b, "main %d\n", (int)i);
		shots_add(&s, "a/b", 1, i * 60000, (struct str){ b.p, (u32)b.n });
	}
	buf_reset(&b);
	assert_null(shots_find(&s, "a/b", 2, 60000));
	assert_null(shots_find(&s, "a/c", 1, 60000));
	shots_unpack(shots_find(&s, "a/b", 1, 130000), &b);
	assert_string_equal(buf_text(&b), "main 2\n");
	buf_free(&b);
	shots_free(&s);
}

/* What can not be packed small fills the room: the oldest go. */
static void test_bound(void **state)
{
	struct shots s = { 0 };
	u32 size = 200000, seed = 1;
	char *text = malloc(size);

	(void)state;
	assert_non_null(text);
	for (u32 k = 0; k < 100; k++) {
		for (u32 i = 0; i < size; i++) {
			seed = seed * 1103515245u + 12345u;
			text[i] = (char)('!' + (seed >> 16) % 90);
		}
		shots_add(&s, "a/b", 1, k, (struct str){ text, size });
		assert_true(s.bytes <= SHOTS_BYTES);
		assert_int_equal(shots_find(&s, "a/b", 1, k)->at, k);
	}
	assert_true(shots_find(&s, "a/b", 1, 0)->at > 90);
	free(text);
	shots_free(&s);
}

/* Nothing that was traced can end the element that it is in. */
static void test_report_is_closed(void **state)
{
	struct page_report r = { "</script><b>", STR("{\"a\": \"</script><i>\"}\n"),
		                 STR("<svg/>") };
	struct buf b = { 0 };

	(void)state;
	page_report(&b, &r);
	assert_non_null(strstr(buf_text(&b), "\\u003c/script>\\u003ci>"));
	assert_null(strstr(buf_text(&b), "</script><i>"));
	assert_null(strstr(buf_text(&b), "</script><b>"));
	assert_null(strstr(buf_text(&b), "src=\"page.js\""));
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_came_since),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_report_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
