/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names for addresses of this process, of one that has ended, and of the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "read/kallsyms.h"
#include "sym/frames.h"
#include "sym/symtab.h"

int sym_test_marker(int n);

__attribute__((noinline)) int sym_test_marker(int n)
{
	return n * 3 + 1;
}

static struct sym *sym;
static struct buf text;

static u64 marker(void)
{
	return (u64)(uintptr_t)sym_test_marker;
}

static const char *user_name(u32 pid, u64 addr, const char **module)
{
	buf_reset(&text);
	sym_user(sym, &text, pid, addr, module);
	return buf_text(&text);
}

static int setup(void **state)
{
	(void)state;
	sym = sym_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sym_free(sym);
	return 0;
}

static void test_own_function(void **state)
{
	u32 pid = (u32)getpid();
	const char *module;

	(void)state;
	assert_string_equal(user_name(pid, marker(), &module), "sym_test_marker+0");
	assert_non_null(strstr(module, "test_sym"));
	assert_string_equal(user_name(pid, marker() + 3, NULL), "sym_test_marker+3");
	buf_reset(&text);
	sym_user_name(sym, &text, pid, marker() + 3);
	assert_string_equal(buf_text(&text), "sym_test_marker");
}

/* The C library has no .symtab on most systems; of several names the plain one is chosen. */
static void test_dynamic_symbol(void **state)
{
	u64 addr = (u64)(uintptr_t)dlsym(RTLD_NEXT, "getppid");
	const char *module;

	(void)state;
	if (!addr)
		skip();
	assert_string_equal(user_name((u32)getpid(), addr, &module), "getppid+0");
	assert_non_null(strstr(module, "libc"));
}

static void test_unknown(void **state)
{
	const char *module;

	(void)state;
	assert_string_equal(user_name((u32)getpid(), 0x10, &module), "0x10");
	assert_string_equal(module, "");
	assert_string_equal(user_name(0, 0x7f0000001234, NULL), "0x7f0000001234");
	/* A pid above any that can exist. */
	assert_memory_equal(user_name(0x7fffffff, marker(), &module), "0x", 2);
	assert_string_equal(module, "");
}

static void test_vdso(void **state)
{
	u64 vdso = getauxval(AT_SYSINFO_EHDR);

	(void)state;
	if (!vdso)
		skip();
	assert_string_equal(user_name((u32)getpid(), vdso + 0x123, NULL), "[vdso]+291");
}

static void test_ended_process(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	sym_note_process(sym, (u32)pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* The file is not known otherwise: this is a new struct sym. */
	assert_string_equal(user_name((u32)pid, marker() + 1, NULL), "sym_test_marker+1");
	sym_note_process(sym, (u32)pid);
	assert_string_equal(user_name((u32)pid, marker(), NULL), "sym_test_marker+0");
}

/* More processes than are kept: the oldest are forgotten, nothing else happens. */
static void test_many_processes(void **state)
{
	(void)state;
	for (u32 pid = 0x40000000; pid < 0x40000400; pid++)
		sym_note_process(sym, pid);
	assert_string_equal(user_name((u32)getpid(), marker(), NULL), "sym_test_marker+0");
}

static void test_kernel(void **state)
{
	struct err e;
	struct kallsyms *k = kallsyms_open("/proc/kallsyms", &e);
	u64 addr = k ? kallsyms_addr(k, "vfs_read") : 0;

	(void)state;
	buf_reset(&text);
	sym_kernel(sym, &text, 1);
	assert_string_equal(buf_text(&text), "0x1");
	kallsyms_close(k);
	if (!addr)
		skip(); /* addresses are hidden from this user */
	buf_reset(&text);
	sym_kernel(sym, &text, addr + 2);
	assert_string_equal(buf_text(&text), "vfs_read+2");
	buf_reset(&text);
	sym_kernel_name(sym, &text, addr + 2);
	assert_string_equal(buf_text(&text), "vfs_read");
}

static void test_frames(void **state)
{
	u64 ips[] = { marker() + 2, 0x10, 0, marker() };
	char expected[8192], exe[4096] = { 0 };
	u32 pid = (u32)getpid();

	(void)state;
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	buf_reset(&text);
	frames_print(&text, sym, FRAMES_BPFTRACE, pid, ips, 4);
	assert_string_equal(buf_text(&text), "\n        sym_test_marker+2\n        0x10\n");
	buf_reset(&text);
	frames_print(&text, sym, FRAMES_PERF, pid, ips, 4);
	snprintf(expected, sizeof(expected),
	         "\n\t%llx sym_test_marker+2 (%s)\n\t10 0x10 ([unknown])\n",
	         (unsigned long long)ips[0], exe);
	assert_string_equal(buf_text(&text), expected);
	buf_reset(&text);
	frames_print(&text, sym, FRAMES_RAW, FRAMES_KERNEL, (u64[]){ 0xffff0001, 2 }, 2);
	assert_string_equal(buf_text(&text), "\nffff0001\n2\n");
	buf_reset(&text);
	frames_print(&text, sym, FRAMES_PERF, FRAMES_KERNEL, (u64[]){ 1 }, 1);
	assert_string_equal(buf_text(&text), "\n\t1 0x1\n");
}

static void test_bad_files(void **state)
{
	(void)state;
	assert_null(symtab_read("/nonexistent/file"));
	assert_null(symtab_read("/etc/passwd"));
	assert_null(symtab_read("/proc/self/maps"));
	symtab_free(NULL);
	sym_free(NULL);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_own_function), CASE(test_dynamic_symbol), CASE(test_unknown),
		CASE(test_vdso),         CASE(test_ended_process),  CASE(test_many_processes),
		CASE(test_kernel),       CASE(test_frames),         CASE(test_bad_files),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	buf_free(&text);
	return failed;
}
