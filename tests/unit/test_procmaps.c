/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* procmaps.c on written maps and on this process. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

/* Of a page whose copy stands in for it the file, and the mapping that has it; the code, and what
 * only has the name of one, stay. */
static void sees_through_copies(void **state)
{
	static const char text[] =
		"002a1000-002a5000 r-xp 00000000 00:01 64 /memfd:memtap (deleted)\n"
		"002a5000-002a6000 r-xp 00001000 fe:03 60 /bin/x\n"
		"002a6000-002a8000 r-xp 00003000 fe:03 60 /bin/x\n"
		"002a8000-002a9000 rw-p 00000000 00:00 0 \n"
		"00400000-00401000 r--p 00000000 fe:03 60 /bin/x\n"
		"00401000-00402000 r-xp 00004000 00:01 64 /memfd:memtap (deleted)\n"
		"00402000-00403000 r-xp 00002000 fe:03 60 /bin/x\n"
		"00403000-00405000 r-xp 00005000 00:01 64 /memfd:memtap (deleted)\n"
		"00500000-00501000 r-xp 00007000 00:01 64 /memfd:memtap (deleted)\n"
		"00600000-00601000 r-xp 00004000 00:01 65 /memfd:memtap (deleted)\n";
	struct arena a = { 0 };
	struct procmaps m;
	struct err e;

	(void)state;
	assert_true(procmaps_parse(&a, text, sizeof(text) - 1, &m, &e));
	procmaps_see_through(&m);
	assert_int_equal(m.n, 10);
	for (u32 i = 0; i < m.n; i++)
		assert_int_equal(m.v[i].inode, i == 3             ? 0
		                               : i == 0 || i == 8 ? 64
		                               : i == 9           ? 65
		                                                  : 60);
	for (u32 i = 5; i < 8; i += 2) {
		assert_string_equal(m.v[i].path, "/bin/x");
		assert_int_equal(m.v[i].offset, i == 5 ? 0x1000 : 0x3000);
		assert_int_equal(m.v[i].dev_major, 0xfe);
		assert_int_equal(m.v[i].start, i == 5 ? 0x401000 : 0x403000);
		assert_int_equal(m.v[i].end, i == 5 ? 0x402000 : 0x405000);
		assert_int_equal(m.v[i].held_start, i == 5 ? 0x2a5000 : 0x2a6000);
		assert_int_equal(m.v[i].held_end, i == 5 ? 0x2a6000 : 0x2a8000);
	}
	assert_int_equal(m.v[6].held_start, 0x402000);
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

/* Grown; merged with what was before it; grown at both ends. What does not reach further is no
 * mapping that changed. */
static void takes_what_came_later(void **state)
{
	static const char text[] = "1000-2000 r-xp 0 0:0 0 \n1000-3000 r-xp 0 0:0 0 a\n"
				   "5000-6000 r-xp 0 0:0 0 b\n6000-7000 rw-p 0 0:0 0 c\n"
				   "5000-9000 r-xp 0 0:0 0 d\na000-c000 r-xp 0 0:0 0 e\n"
				   "b000-d000 rw-p 0 0:0 0 f\n";
	static const struct procmap wanted[] = { { .start = 0x1000, .end = 0x3000, .path = "a" },
		                                 { .start = 0x5000, .end = 0x9000, .path = "d" },
		                                 { .start = 0xa000, .end = 0xb000, .path = "e" },
		                                 { .start = 0xb000, .end = 0xd000, .path = "f" } };
	static const char *const bads[] = { "1-5 r-xp 0 0:0 0 \n2-5 r-xp 0 0:0 0 \n",
		                            "3-5 r-xp 0 0:0 0 \n1-2 r-xp 0 0:0 0 \n" };
	struct arena a = { 0 };
	struct procmaps m;
	struct err e;

	(void)state;
	assert_true(procmaps_parse(&a, text, sizeof(text) - 1, &m, &e));
	assert_int_equal(m.n, ARRAY_SIZE(wanted));
	for (u32 i = 0; i < m.n; i++) {
		assert_int_equal(m.v[i].start, wanted[i].start);
		assert_int_equal(m.v[i].end, wanted[i].end);
		assert_string_equal(m.v[i].path, wanted[i].path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bads); i++) {
		assert_false(procmaps_parse(&a, bads[i], strlen(bads[i]), &m, &e));
		assert_string_equal(e.text, "line 2 of the process's memory map is damaged");
	}
	arena_free(&a);
}

/* Pages one after the other, which the kernel makes one mapping of. */
static void grow(void)
{
	const size_t each = 65536, room = 4096;
	char *p = mmap(NULL, room * each, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0;; i++) {
		if (i % room == 0)
			(void)mmap(p, room * each, PROT_NONE,
			           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		(void)mmap(p + i % room * each, each, PROT_READ,
		           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
}

static void reads_a_process_that_maps(void **state)
{
	struct arena a = { 0 };
	pid_t child = fork();
	u32 failed = 0;

	(void)state;
	if (!child)
		grow();
	for (u32 i = 0; i < 2000; i++) {
		struct procmaps m;
		struct err e;

		failed += !procmaps_read(&a, child, &m, &e);
		for (u32 k = 1; !failed && k < m.n; k++)
			failed += m.v[k].start < m.v[k - 1].end;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	arena_free(&a);
	assert_int_equal(failed, 0);
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

/* The kernel's answers are what it lists; of files alone, because memory may grow meanwhile. */
static void asks_for_one(void **state)
{
	struct arena a = { 0 };
	struct procmaps m = { 0 };
	struct err e;
	u64 start, end;
	u32 asked = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0 && procmaps_read(&a, getpid(), &m, &e));
	if (procmaps_ask(fd, (u64)(uintptr_t)&start, &start, &end) < 0)
		skip();
	for (u32 i = 0; i + 1 < m.n; i++) {
		if (m.v[i].path[0] != '/')
			continue;
		asked++;
		assert_int_equal(procmaps_ask(fd, m.v[i].end - 1, &start, &end), 1);
		assert_true(start == m.v[i].start && end == m.v[i].end);
	}
	assert_true(asked > 3);
	assert_int_equal(procmaps_ask(fd, 0, &start, &end), 0);
	close(fd);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_for_one),
		cmocka_unit_test(parses_lines),
		cmocka_unit_test(sees_through_copies),
		cmocka_unit_test(finds_addresses),
		cmocka_unit_test(takes_what_came_later),
		cmocka_unit_test(reads_a_process_that_maps),
		cmocka_unit_test(reads_this_process),
		cmocka_unit_test(names_the_damaged_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
