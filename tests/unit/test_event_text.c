/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The pieces of events as users write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "lang/parse/event_text.h"

static struct event_text e;

static const char *read_text(const char *text)
{
	return event_text_read(&e, str_of(text));
}

static void is(u32 i, const char *want)
{
	assert_true(i < e.n_parts && str_is(e.part[i], want));
}

static void parts_stand_between_colons(void **state)
{
	(void)state;
	assert_null(read_text(" t:vmscan:* "));
	assert_int_equal(e.n_parts, 3);
	is(0, "t");
	is(1, "vmscan");
	is(2, "*");
	assert_null(read_text("r::vfs_read"));
	assert_int_equal(e.n_parts, 3);
	is(1, "");
	is(2, "vfs_read");
}

static void the_rest_begins_at_a_blank_or_a_bracket(void **state)
{
	(void)state;
	assert_null(read_text("c:open  (arg2 == 42) \"%s\", arg1"));
	assert_true(str_is(e.head, "c:open"));
	assert_true(str_is(e.rest, "(arg2 == 42) \"%s\", arg1"));
	assert_null(read_text("p:c:malloc(size_t n) \"%d\", n"));
	is(2, "malloc");
	assert_true(str_is(e.rest, "(size_t n) \"%d\", n"));
}

static void quotes_hold_parts_together(void **state)
{
	(void)state;
	assert_null(read_text("u:\"/opt/a b:c\":\"f(int)\" x"));
	assert_int_equal(e.n_parts, 3);
	is(1, "/opt/a b:c");
	is(2, "f(int)");
	assert_true(str_is(e.rest, "x"));
}

static void slashes_enclose_regular_expressions(void **state)
{
	(void)state;
	assert_null(read_text("/^tcp_(send|recv):x/"));
	assert_true(e.regex);
	assert_int_equal(e.n_parts, 1);
	is(0, "^tcp_(send|recv):x");
	assert_null(read_text("/t:vmscan:mm_[[:alpha:]]+/"));
	assert_int_equal(e.n_parts, 3);
	is(2, "mm_[[:alpha:]]+");
	assert_null(read_text("/bin/bash:main"));
	assert_false(e.regex);
	is(0, "/bin/bash");
}

static void what_is_no_event_is_told(void **state)
{
	(void)state;
	assert_non_null(read_text(""));
	assert_non_null(read_text("  "));
	assert_non_null(read_text("//"));
	assert_non_null(read_text("c:"));
	assert_non_null(read_text("a:b:c:d:e:f:g:h:i"));
	assert_non_null(read_text("(x)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_stand_between_colons),
		cmocka_unit_test(the_rest_begins_at_a_blank_or_a_bracket),
		cmocka_unit_test(quotes_hold_parts_together),
		cmocka_unit_test(slashes_enclose_regular_expressions),
		cmocka_unit_test(what_is_no_event_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
