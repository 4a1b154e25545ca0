/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Option tables: every way to write an option, every way to get it wrong, the usage text. */
#include "base/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct options {
	bool verbose, quiet;
	const char *script, *format;
	u32 pid;
};

#define TO(member) offsetof(struct options, member)

static const struct opt rows[] = {
	{ 'v', "verbose", NULL, OPT_FLAG, TO(verbose), "say more" },
	{ 'q', NULL, NULL, OPT_FLAG, TO(quiet), "say less" },
	{ 'e', NULL, "PROGRAM", OPT_TEXT, TO(script), "the script" },
	{ 'f', "format", "text|json", OPT_CHOICE, TO(format), "how to print" },
	{ 'p', "pid", "PID", OPT_NUMBER, TO(pid), "a process" },
	{ 0, "btf", NULL, OPT_FLAG, TO(quiet), NULL },
};

static bool parse(struct arena *a, struct options *o, struct opt_rest *rest, struct err *e,
                  const char *const *args)
{
	char *argv[16] = { (char *)"memtap" };
	int argc = 1;

	for (; args[argc - 1]; argc++)
		argv[argc] = (char *)args[argc - 1];
	memset(o, 0, sizeof(*o));
	memset(e, 0, sizeof(*e));
	return opt_parse(rows, ARRAY_SIZE(rows), o, a, argc, argv, rest, e);
}

static void test_good(void **state)
{
	struct arena a = { 0 };
	struct options o;
	struct opt_rest rest;
	struct err e;

	(void)state;
	assert_true(parse(&a, &o, &rest, &e,
	                  (const char *const[]){ "-vq", "-e", "-x", "a", "--format=json", "-p5",
	                                         "-", "b", NULL }));
	assert_true(o.verbose && o.quiet);
	assert_string_equal(o.script, "-x");
	assert_string_equal(o.format, "json");
	assert_int_equal(o.pid, 5);
	assert_int_equal(rest.n, 3);
	assert_string_equal(rest.v[1], "-");
	assert_true(parse(&a, &o, &rest, &e,
	                  (const char *const[]){ "-e", "a", "-p5", "-eb", "--pid=6", NULL }));
	assert_string_equal(o.script, "b");
	assert_int_equal(o.pid, 6);
	assert_true(parse(&a, &o, &rest, &e,
	                  (const char *const[]){ "--btf", "--pid", "7", "--", "-v", "--", NULL }));
	assert_false(o.verbose);
	assert_int_equal(o.pid, 7);
	assert_int_equal(rest.n, 2);
	assert_string_equal(rest.v[0], "-v");
	arena_free(&a);
}

static void test_wrong(void **state)
{
	static const struct {
		const char *args[4], *text, *hint;
	} cases[] = {
		{ { "--verbos" }, "unknown option '--verbos'", "'--verbose'" },
		{ { "--zzzzzz" }, "unknown option '--zzzzzz'", "--help" },
		{ { "-x" }, "unknown option '-x'", "--help" },
		{ { "-vx" }, "unknown option '-x'", "--help" },
		{ { "-5" }, "unknown option '-5'", "'--'" },
		{ { "-e" }, "-e needs a value: -e PROGRAM", "" },
		{ { "--pid" }, "--pid needs a value", "" },
		{ { "-p", "x" }, "-p takes a number (PID), not 'x'", "" },
		{ { "-p", "0" }, "-p takes a number (PID), not '0'", "" },
		{ { "-p", "5x" }, "-p takes a number (PID), not '5x'", "" },
		{ { "-p", "99999999999" }, "-p takes a number", "" },
		{ { "--pid=-5" }, "--pid takes a number", "" },
		{ { "-f", "xml" }, "-f must be one of text|json, not 'xml'", "" },
		{ { "-f", "tex" }, "-f must be one of text|json, not 'tex'", "" },
		{ { "-f", "" }, "-f must be one of text|json, not ''", "" },
		{ { "--verbose=1" }, "--verbose takes no value", "" },
	};
	struct arena a = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;
		struct opt_rest rest;
		struct err e;

		assert_false(parse(&a, &o, &rest, &e, cases[i].args));
		if (!strstr(e.text, cases[i].text))
			assert_string_equal(e.text, cases[i].text);
		assert_non_null(strstr(e.hint, cases[i].hint));
	}
	arena_free(&a);
}

/* What a script declares: switches with and without a value, letters alone are options. */
static void test_switch(void **state)
{
	static const struct opt script_rows[] = {
		{ 'a', "all", NULL, OPT_SWITCH, TO(script), "" },
		{ 't', "top", "NUMBER", OPT_TEXT, TO(format), "" },
		{ .kind = OPT_PASS },
	};
	const char *args[] = { "", "-7", "-at", "-3", "-x", "--" };
	const char *attached[] = { "", "--all=false" };
	struct options o = { 0 };
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };

	(void)state;
	assert_true(opt_parse(script_rows, ARRAY_SIZE(script_rows), &o, &a, ARRAY_SIZE(args),
	                      (char **)args, &rest, &e));
	assert_string_equal(o.script, "true");
	assert_string_equal(o.format, "-3");
	assert_int_equal(rest.n, 2);
	assert_string_equal(rest.v[0], "-7");
	assert_string_equal(rest.v[1], "-x");
	assert_true(opt_parse(script_rows, ARRAY_SIZE(script_rows), &o, &a, ARRAY_SIZE(attached),
	                      (char **)attached, &rest, &e));
	assert_string_equal(o.script, "false");
	arena_free(&a);
}

static void test_head(void **state)
{
	const char *args[] = { "", "-v", "-p", "7", "script", "-q", "--", "--none" };
	const char *ended[] = { "", "-v", "--", "-q" };
	struct options o = { 0 };
	struct arena a = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };

	(void)state;
	assert_true(opt_parse_head(rows, ARRAY_SIZE(rows), &o, &a, ARRAY_SIZE(args), (char **)args,
	                           &rest, &e));
	assert_true(o.verbose && !o.quiet && o.pid == 7);
	assert_int_equal(rest.n, 4);
	assert_string_equal(rest.v[0], "script");
	assert_string_equal(rest.v[2], "--");
	assert_true(opt_parse_head(rows, ARRAY_SIZE(rows), &o, &a, ARRAY_SIZE(ended),
	                           (char **)ended, &rest, &e));
	assert_int_equal(rest.n, 2);
	assert_string_equal(rest.v[0], "--");
	arena_free(&a);
}

static void test_usage(void **state)
{
	struct buf b = { 0 };

	(void)state;
	opt_usage(&b, rows, ARRAY_SIZE(rows));
	assert_string_equal(buf_text(&b), "  -v, --verbose           say more\n"
	                                  "  -q                      say less\n"
	                                  "  -e PROGRAM              the script\n"
	                                  "  -f, --format text|json  how to print\n"
	                                  "  -p, --pid PID           a process\n");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),   cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_switch), cmocka_unit_test(test_head),
		cmocka_unit_test(test_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
