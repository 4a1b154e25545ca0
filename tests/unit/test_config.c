/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Settings: defaults, the environment, the config block, and what is wrong with them. */
#include "lang/parse/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct arena arena;
	struct source source;
	struct diags d;
	struct config c;
};

static bool read_config(struct fixture *f, const char *text)
{
	struct script s = { .arena = &f->arena, .source = &f->source };
	struct err e;

	memset(f, 0, sizeof(*f));
	f->d = (struct diags){ .arena = &f->arena, .source = &f->source };
	assert_true(source_set(&f->source, &f->arena, "stdin", str_of(text), &e));
	assert_true(parse_script(&s, &f->d));
	return config_read(&f->c, &s, &f->d);
}

static void test_defaults(void **state)
{
	struct fixture f;

	(void)state;
	assert_true(read_config(&f, "BEGIN {}"));
	assert_int_equal(f.c.max_strlen, 1024);
	assert_int_equal(f.c.max_map_keys, 4096);
	assert_int_equal(f.c.max_probes, 1024);
	assert_int_equal(f.c.ring_pages, 64);
	assert_int_equal(f.c.missing_probes, MISSING_ERROR);
	assert_string_equal(f.c.cut_mark, "..");
	assert_true(f.c.print_maps_on_exit);
	arena_free(&f.arena);
}

static void test_block(void **state)
{
	struct fixture f;

	(void)state;
	assert_true(read_config(&f, "config = { max_strlen = 64; BPFTRACE_MAX_MAP_KEYS = 10;"
	                            "missing_probes = warn; stack_mode = \"perf\";"
	                            "str_trunc_trailer = \"~\"; print_maps_on_exit = false;"
	                            "ring_pages = 100 } BEGIN {}"));
	assert_int_equal(f.c.max_strlen, 64);
	assert_int_equal(f.c.max_map_keys, 10);
	assert_int_equal(f.c.missing_probes, MISSING_WARN);
	assert_int_equal(f.c.stack_mode, STACK_PERF);
	assert_string_equal(f.c.cut_mark, "~");
	assert_false(f.c.print_maps_on_exit);
	assert_int_equal(f.c.ring_pages, 128);
	arena_free(&f.arena);
}

static void test_environment(void **state)
{
	struct fixture f;

	(void)state;
	setenv("BPFTRACE_MAX_STRLEN", "100", 1);
	setenv("BPFTRACE_MAX_PROBES", "7", 1);
	setenv("MEMTAP_MAX_STRLEN", "200", 1);
	setenv("MEMTAP_PRINT_MAPS_ON_EXIT", "0", 1);
	assert_true(read_config(&f, "config = { max_probes = 8 } BEGIN {}"));
	assert_int_equal(f.c.max_strlen, 200);
	assert_int_equal(f.c.max_probes, 7);
	assert_false(f.c.print_maps_on_exit);
	arena_free(&f.arena);
	setenv("MEMTAP_MAX_STRLEN", "2x", 1);
	assert_false(read_config(&f, "BEGIN {}"));
	assert_non_null(strstr(f.d.list.v[0].text, "MEMTAP_MAX_STRLEN"));
	arena_free(&f.arena);
	unsetenv("BPFTRACE_MAX_STRLEN");
	unsetenv("BPFTRACE_MAX_PROBES");
	unsetenv("MEMTAP_MAX_STRLEN");
	unsetenv("MEMTAP_PRINT_MAPS_ON_EXIT");
}

static void test_wrong(void **state)
{
	static const struct {
		const char *item, *text, *hint;
	} rows[] = {
		{ "max_strlne = 1", "unknown config key 'max_strlne'", "'max_strlen'" },
		{ "strlen = 1", "unknown config key 'strlen'", "'max_strlen'" },
		{ "zzz = 1", "unknown config key 'zzz'", NULL },
		{ "max_strlen = abc", "must be a number", NULL },
		{ "max_strlen = 70000", "must be a number from 1 to 65536", NULL },
		{ "missing_probes = maybe", "must be error, warn or ignore", NULL },
		{ "missing_probes = 1", "must be error, warn or ignore", NULL },
		{ "stack_mode = x", "must be bpftrace, perf, raw or build_id", NULL },
		{ "print_maps_on_exit = 2", "must be true or false", NULL },
		{ "print_maps_on_exit = yes", "must be true or false", NULL },
		{ "str_trunc_trailer = 1", "must be a string", NULL },
		{ "ring_pages = 0", "must be a number", NULL },
		{ "max_probes = 0", "must be a number", NULL },
		{ "max_map_keys = 0", "must be a number", NULL },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[200];
		struct fixture f;

		strcpy(text, "config = { ");
		strcat(text, rows[i].item);
		strcat(text, " } BEGIN {}");
		assert_false(read_config(&f, text));
		assert_int_equal(f.d.n_errors, 1);
		assert_non_null(strstr(f.d.list.v[0].text, rows[i].text));
		if (rows[i].hint)
			assert_non_null(strstr(f.d.list.v[0].hint, rows[i].hint));
		arena_free(&f.arena);
	}
}

static void test_ignored(void **state)
{
	struct fixture f;

	(void)state;
	assert_true(read_config(&f, "config = { use_blazesym = 0; license = \"GPL\" } BEGIN {}"));
	assert_int_equal(f.d.list.n, 1);
	assert_int_equal(f.d.list.v[0].level, DIAG_WARNING);
	arena_free(&f.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),    cmocka_unit_test(test_block),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
