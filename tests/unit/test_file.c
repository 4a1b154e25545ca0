/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading and mapping files: whole, empty, growing without a size, missing, too large. */
#include "base/file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),          cmocka_unit_test(test_read_proc),
		cmocka_unit_test(test_read_failures), cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_empty),     cmocka_unit_test(test_write_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
