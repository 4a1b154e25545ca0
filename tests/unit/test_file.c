/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading and mapping files: whole, empty, growing without a size, missing, too large.
 *
 * Needs the machine itself: openat2().
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A new file with these bytes; the caller unlinks it. */
static const char *file_with(const void *p, size_t n)
{
	static char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/test_file.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	close(fd);
	return path;
}

static void test_read(void **state)
{
	static char bytes[40000];
	const char *path;
	struct buf b = { 0 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	path = file_with(bytes, sizeof(bytes));
	buf_puts(&b, "> ");
	assert_true(file_read(path, &b, 1 << 20, &e));
	assert_int_equal(b.n, sizeof(bytes) + 2);
	assert_memory_equal(b.p + 2, bytes, sizeof(bytes));
	buf_reset(&b);
	assert_true(file_read(path, &b, sizeof(bytes), &e));
	buf_reset(&b);
	assert_false(file_read(path, &b, sizeof(bytes) - 1, &e));
	assert_int_equal(e.code, EFBIG);
	unlink(path);
	buf_free(&b);
}

static void test_write_all(void **state)
{
	const char *path = file_with("", 0);
	FILE *full = fopen("/dev/full", "w");
	struct buf b = { 0 };
	struct err e;
	FILE *f = fopen(path, "w");

	(void)state;
	assert_non_null(f);
	assert_true(file_write_all(fileno(f), "one ", 4));
	assert_true(file_write_all(fileno(f), "two", 3));
	assert_true(file_write_all(fileno(f), NULL, 0));
	fclose(f);
	assert_true(file_read(path, &b, 1 << 20, &e));
	assert_string_equal(buf_text(&b), "one two");
	assert_non_null(full);
	assert_false(file_write_all(fileno(full), "x", 1));
	assert_int_equal(errno, ENOSPC);
	fclose(full);
	unlink(path);
	buf_free(&b);
}

/* Files of /proc say they have no size. */
static void test_read_proc(void **state)
{
	struct buf b = { 0 };
	struct err e;

	(void)state;
	assert_true(file_read("/proc/self/status", &b, 1 << 20, &e));
	assert_non_null(strstr(buf_text(&b), "Pid:"));
	buf_free(&b);
}

static void test_read_failures(void **state)
{
	struct buf b = { 0 };
	struct err e;

	(void)state;
	assert_false(file_read("/nowhere/at/all", &b, 10, &e));
	assert_int_equal(e.code, ENOENT);
	assert_non_null(strstr(e.text, "/nowhere/at/all"));
	assert_false(file_read("/tmp", &b, 10, &e));
	assert_int_equal(e.code, EISDIR);
	buf_free(&b);
}

static void test_map(void **state)
{
	const char *path = file_with("hello", 5);
	struct file_map m;
	struct err e;

	(void)state;
	assert_true(file_map(path, &m, &e));
	assert_int_equal(m.n, 5);
	assert_memory_equal(m.p, "hello", 5);
	file_unmap(&m);
	assert_null(m.p);
	unlink(path);
	assert_false(file_map(path, &m, &e));
	assert_int_equal(e.code, ENOENT);
	assert_false(file_map("/tmp", &m, &e));
	assert_int_equal(e.code, EISDIR);
}

static void test_map_empty(void **state)
{
	const char *path = file_with("", 0);
	struct file_map m;
	struct err e;

	(void)state;
	assert_true(file_map(path, &m, &e));
	assert_int_equal(m.n, 0);
	assert_non_null(m.p);
	file_unmap(&m);
	unlink(path);
}

/* A mapped file that is cut short is no end: what is gone reads as zeros, and is counted. */
static void test_map_cut(void **state)
{
	static char bytes[3 * 4096];
	const char *path;
	struct file_map m;
	struct err e;
	u32 times;

	(void)state;
	file_lacked(FILE_HOLES, &times);
	memset(bytes, 'x', sizeof(bytes));
	path = file_with(bytes, sizeof(bytes));
	assert_true(file_map(path, &m, &e));
	assert_int_equal(m.p[4096], 'x');
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(m.p[4096], 0);
	assert_int_equal(m.p[8192 + 100], 0);
	assert_non_null(strstr(file_lacked(FILE_HOLES, &times), "were cut off"));
	assert_int_equal(times, 2);
	assert_null(file_lacked(FILE_HOLES, &times));
	assert_null(file_lacked(FILE_NAMES, &times));
	file_unmap(&m);
	unlink(path);
}

/* Also one that fills its last page. */
static void test_map_ends_strings(void **state)
{
	static char bytes[4096];
	const char *path;
	struct file_map m;
	struct err e;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	path = file_with(bytes, sizeof(bytes));
	assert_true(file_map(path, &m, &e));
	assert_int_equal(strlen((const char *)m.p), sizeof(bytes));
	file_unmap(&m);
	unlink(path);
}

static void test_only_regular(void **state)
{
	const char *path = file_with("", 0);
	struct buf b = { 0 };
	struct file_map m;
	struct err e;

	(void)state;
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(file_map(path, &m, &e));
	assert_non_null(strstr(e.text, "is not a regular file"));
	assert_false(file_read_regular(path, &b, 100, &e));
	assert_non_null(strstr(e.text, "is not a regular file"));
	assert_int_equal(file_open("/dev/null", &e), -1);
	assert_string_equal(e.text, "/dev/null is not a regular file");
	unlink(path);
}

/* What is no regular file is written to, and stays what it is. */
static void test_save(void **state)
{
	const char *path = file_with("before", 6);
	struct buf b = { 0 };
	struct stat st;
	struct err e;
	char c;
	int fd;

	(void)state;
	assert_int_equal(file_save(path, "after", 5), 0);
	assert_true(file_read(path, &b, 100, &e));
	assert_string_equal(buf_text(&b), "after");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR);
	assert_int_equal(file_save(path, "x", 1), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(c, 'x');
	close(fd);
	unlink(path);
	assert_int_equal(file_save("/no/such/directory/x", "x", 1), ENOENT);
	buf_free(&b);
}

static void test_refuses_holes(void **state)
{
	const char *path = file_with("\177ELF", 4);
	struct file_map m;
	struct err e;

	(void)state;
	assert_int_equal(truncate(path, 64 << 20), 0);
	assert_true(file_map(path, &m, &e));
	file_unmap(&m);
	assert_int_equal(truncate(path, 200ll << 30), 0);
	assert_false(file_map(path, &m, &e));
	assert_non_null(strstr(e.text, "is all but empty: of its 214748364800 bytes"));
	unlink(path);
}

static void must_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A process with a root of its own, in which /abs is a link to /inside. */
static pid_t in_root(char *root)
{
	char path[64];
	int ready[2];
	pid_t pid;

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/inside", root);
	must_write(path, "inner");
	snprintf(path, sizeof(path), "%s/abs", root);
	assert_int_equal(symlink("/inside", path), 0);
	snprintf(path, sizeof(path), "%s/up", root);
	assert_int_equal(symlink("../../../../etc/passwd", path), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (chroot(root) == 0 && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], path, 1), 1);
	close(ready[0]);
	return pid;
}

static void test_stays_in_root(void **state)
{
	char root[] = "/tmp/test_file.XXXXXX", path[64];
	struct buf b = { 0 };
	struct err e;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = in_root(root);
	snprintf(path, sizeof(path), "/proc/%d/root/abs", (int)pid);
	assert_true(file_read_regular(path, &b, 100, &e));
	assert_string_equal(buf_text(&b), "inner");
	snprintf(path, sizeof(path), "/proc/%d/root/up", (int)pid);
	assert_int_equal(file_open(path, &e), -1);
	assert_int_equal(e.code, ENOENT);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	buf_free(&b);
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0); /* NOLINT(cert-env33-c) */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_cut),       cmocka_unit_test(test_map_ends_strings),
		cmocka_unit_test(test_only_regular),  cmocka_unit_test(test_save),
		cmocka_unit_test(test_refuses_holes), cmocka_unit_test(test_stays_in_root),
		cmocka_unit_test(test_read),          cmocka_unit_test(test_read_proc),
		cmocka_unit_test(test_read_failures), cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_empty),     cmocka_unit_test(test_write_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
