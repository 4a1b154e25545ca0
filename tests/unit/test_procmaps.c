/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* procmaps.c on written maps and on this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/procmaps.h"

static const char sample[] =
	"55d0c8a00000-55d0c8a02000 r--p 00000000 08:01 1311                       /usr/bin/a b\n"
	"55d0c8a02000-55d0c8a21000 r-xp 00002000 fe:1f 1311                       /usr/bin/a b\n"
	"55d0ca000000-55d0ca021000 rw-p 00000000 00:00 0                          [heap]\n"
	"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
	"7f0000001000-7f0000002000 r-xp 00000000 00:01 7      /tmp/new\\012line (deleted)\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static void parses_lines(void **state)
{
	struct arena a = { 0 };
	struct procmaps m;
	struct err e;

	(void)state;
	assert_true(procmaps_parse(&a, sample, sizeof(sample) - 1, &m, &e));
	assert_int_equal(m.n, 6);
	assert_string_equal(m.v[0].path, "/usr/bin/a b");
	assert_false(m.v[0].exec);
	assert_true(m.v[1].exec);
	assert_int_equal(m.v[1].offset, 0x2000);
	assert_int_equal(m.v[1].dev_major, 0xfe);
	assert_int_equal(m.v[1].dev_minor, 0x1f);
	assert_int_equal(m.v[1].inode, 1311);
	assert_string_equal(m.v[2].path, "[heap]");
	assert_string_equal(m.v[3].path, "");
	assert_string_equal(m.v[4].path, "/tmp/new\nline (deleted)");
	arena_free(&a);
}

static void finds_addresses(void **state)
{
	struct arena a = { 0 };
	struct procmaps m;
	struct err e;

	(void)state;
	assert_true(procmaps_parse(&a, sample, sizeof(sample) - 1, &m, &e));
	assert_ptr_equal(procmaps_find(&m, 0x55d0c8a02000), &m.v[1]);
	assert_ptr_equal(procmaps_find(&m, 0x55d0c8a20fff), &m.v[1]);
	assert_null(procmaps_find(&m, 0x55d0c8a21000));
	assert_null(procmaps_find(&m, 0));
	assert_ptr_equal(procmaps_find(&m, 0xffffffffff600000), &m.v[5]);
	arena_free(&a);
}

static void reads_this_process(void **state)
{
	struct arena a = { 0 };
	const struct procmap *p;
	struct procmaps m;
	struct err e;

	(void)state;
	assert_true(procmaps_read(&a, getpid(), &m, &e));
	p = procmaps_find(&m, (u64)(uintptr_t)reads_this_process);
	assert_non_null(p);
	assert_true(p->exec);
	assert_non_null(strstr(p->path, "procmaps"));
	assert_false(procmaps_read(&a, 0x7fffffff, &m, &e));
	assert_string_equal(e.text, "there is no process with pid 2147483647");
	arena_free(&a);
}

static void names_the_damaged_line(void **state)
{
	static const char *const bads[] = {
		"x",
		"1-2",
		"1-2 r-xp",
		"1-2 r-xp 0 0:0",
		"2-1 r-xp 0 0:0 0 \n",
		"1-g r-xp 0 0:0 0 ",
		"1-2 r-xp 0 0:0 a /x",
		"10000000000000000-2 r-xp 0 0:0 0 ",
		"1-2 r-xp 0 100000000:0 0 ",
		"\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bads); i++) {
		struct arena a = { 0 };
		struct procmaps m;
		struct err e;

		if (procmaps_parse(&a, bads[i], strlen(bads[i]), &m, &e))
			fail_msg("'%s' was accepted", bads[i]);
		assert_string_equal(e.text, "line 1 of the process's memory map is damaged");
		arena_free(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_lines),
		cmocka_unit_test(finds_addresses),
		cmocka_unit_test(reads_this_process),
		cmocka_unit_test(names_the_damaged_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
