/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Perf maps: their lines, and a map of this process that grows, is replaced and is cut off.
 *
 * Needs the machine itself: when a process began.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "read/perfmap.h"
#include "sym/jit.h"

static char path[64];
static struct jit *jit;

/* ---- lines ---------------------------------------------------------------------------------- */

static void print_line(void *ctx, u64 start, u64 size, struct str name)
{
	buf_printf(ctx, "%llx+%llx %.*s|", (unsigned long long)start, (unsigned long long)size,
	           STR_ARG(name));
}

static void one_text(const char *text, const char *want, size_t whole)
{
	struct buf b = { 0 };

	assert_int_equal(perfmap_parse(text, strlen(text), print_line, &b), whole);
	assert_string_equal(buf_text(&b), want);
	buf_free(&b);
}

static void test_lines(void **state)
{
	(void)state;
	one_text("", "", 0);
	one_text("7f00 10 LazyCompile:~f x.js:1\n", "7f00+10 LazyCompile:~f x.js:1|", 30);
	one_text("0x7f00 0xA a\n7F10 b b\n", "7f00+a a|7f10+b b|", 22);
	one_text("10 10 a\n20 10 half", "10+10 a|", 8);
	/* No number, no size, no name, too long, over the end of the address space. */
	one_text("x 1 a\n1 y a\n1 0 a\n1 1 \n1\n\n", "", 26);
	one_text("11112222333344445 1 a\nffffffffffffffff 2 a\n", "", 43);
}

/* ---- the file ------------------------------------------------------------------------------- */

static void put(const char *text, int flags)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static const char *name(u64 addr)
{
	static char text[256];
	u64 off;
	const char *found = jit_name(jit, addr, &off);

	if (!found)
		return "";
	snprintf(text, sizeof(text), "%s+%llu", found, (unsigned long long)off);
	return text;
}

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	jit = jit_new((u32)getpid());
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	jit_free(jit);
	unlink(path);
	return 0;
}

static void test_no_map(void **state)
{
	(void)state;
	jit_note(jit);
	assert_string_equal(name(0x1000), "");
}

static void test_growing(void **state)
{
	(void)state;
	put("1000 100 first\n", O_TRUNC);
	assert_string_equal(name(0x1010), "first+16");
	assert_string_equal(name(0x1100), "");
	put("2000 100 sec", O_APPEND); /* written in two parts */
	assert_string_equal(name(0x2000), "");
	put("ond\n3000 10 third\n", O_APPEND);
	assert_string_equal(name(0x2000), "second+0");
	assert_string_equal(name(0x300f), "third+15");
	assert_string_equal(name(0x1010), "first+16");
}

/* Code was compiled into memory that was used before. */
static void test_later_wins(void **state)
{
	(void)state;
	put("1000 100 old\n1080 10 inside\n", O_TRUNC);
	assert_string_equal(name(0x1088), "inside+8");
	put("1000 100 new\n", O_APPEND);
	assert_string_equal(name(0x1088), "new+136");
	assert_string_equal(name(0x1000), "new+0");
}

/* Of a process that had this number before. */
static void test_older_than_the_process(void **state)
{
	struct timespec past[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };

	(void)state;
	clock_gettime(CLOCK_REALTIME, &past[1]);
	past[1].tv_sec -= 3600; /* no test takes so long */
	put("1000 100 old\n", O_TRUNC);
	assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
	assert_string_equal(name(0x1000), "");
	put("1000 100 new\n", O_TRUNC);
	assert_string_equal(name(0x1000), "new+0");
}

static void test_stale(void **state)
{
	(void)state;
	put("1000 100 old\n", O_TRUNC);
	assert_string_equal(name(0x1000), "old+0");
	put("1000 100 other\n2000 10 more\n", O_TRUNC); /* longer, but not a continuation */
	assert_string_equal(name(0x1000), "other+0");
	put("1000 10 s\n", O_TRUNC);
	assert_string_equal(name(0x1000), "s+0");
	assert_string_equal(name(0x2000), "");
	unlink(path);
	put("1000 10 replaced\n", O_EXCL);
	assert_string_equal(name(0x1000), "replaced+0");
	jit_drop(jit);
	assert_string_equal(name(0x1000), "replaced+0");
	unlink(path); /* what is held can still be read */
	jit_drop(jit);
	assert_string_equal(name(0x1000), "replaced+0");
}

/* Others can write to /tmp too: their files are not believed, links not followed. */
static void test_not_ours(void **state)
{
	char target[80];

	(void)state;
	if (geteuid() != 0)
		skip();
	put("1000 100 f\n", O_TRUNC);
	assert_int_equal(chown(path, 4711, 4711), 0);
	assert_string_equal(name(0x1000), "");
	assert_int_equal(chown(path, 0, 0), 0);
	assert_string_equal(name(0x1000), "f+0");
	jit_free(jit);
	snprintf(target, sizeof(target), "%s.target", path);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	jit = jit_new((u32)getpid());
	assert_string_equal(name(0x1000), "");
	unlink(path);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_string_equal(name(0x1000), "");
	unlink(target);
}

/* A large map that is another one each time it is looked at: after a while it is not read any more
 * for each address. Without that limit no name is ever outdated. */
static void test_written_all_the_time(void **state)
{
	char last[64], want[64];
	bool outdated = false;
	struct buf b = { 0 };

	(void)state;
	for (u32 i = 0; i < 300000; i++)
		buf_printf(&b, "%x 8 name%u\n", 0x100000 + i * 16, i);
	for (u32 round = 0; round < 2000 && !outdated; round++) {
		size_t n = b.n;

		snprintf(last, sizeof(last), "1000 100 last%u\n", round);
		snprintf(want, sizeof(want), "last%u+0", round);
		buf_puts(&b, last);
		put(buf_text(&b), O_TRUNC);
		b.n = n;
		outdated = strcmp(name(0x1000), want) != 0;
	}
	assert_true(outdated);
	buf_free(&b);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines), CASE(test_no_map),
		CASE(test_growing),           CASE(test_older_than_the_process),
		CASE(test_later_wins),        CASE(test_stale),
		CASE(test_not_ours),          CASE(test_written_all_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
