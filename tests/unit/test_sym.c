/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names for addresses of this process, of one that has ended, and of the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "read/kallsyms.h"
#include "sym/frames.h"
#include "sym/symfile.h"

#ifdef __SANITIZE_ADDRESS__ /* which has an allocator of its own */
#define SANITIZED true
#else
#define SANITIZED false
#endif

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
	sym_user(sym, &text, SYM_EXACT, pid, addr, module);
	return buf_text(&text);
}

static int setup(void **state)
{
	(void)state;
	sym = sym_new(NULL);
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

static size_t in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* What names take goes, and they come again. */
static void test_rest(void **state)
{
	size_t held;

	(void)state;
	if (SANITIZED)
		skip();
	assert_string_equal(user_name((u32)getpid(), marker(), NULL), "sym_test_marker+0");
	held = in_use();
	sym_rest(sym);
	assert_true(in_use() + 10000 < held);
	assert_string_equal(user_name((u32)getpid(), marker(), NULL), "sym_test_marker+0");
	assert_true(in_use() + 10000 > held);
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

/* The kernel's own image in every process: functions by name, the rest by place. */
static void test_vdso(void **state)
{
	u64 vdso = getauxval(AT_SYSINFO_EHDR);
	const char *module;
	u64 at = 0;

	(void)state;
	if (!vdso)
		skip();
	assert_string_equal(user_name((u32)getpid(), vdso + 0x10, &module), "[vdso]+0x10");
	assert_string_equal(module, "[vdso]");
	while (at < 4096 && strcmp(user_name((u32)getpid(), vdso + at, NULL), "clock_gettime+0"))
		at++;
	assert_true(at < 4096);
}

/* Memory that is no code, code that is in no file. */
static void test_no_function(void **state)
{
	u64 page = (u64)(uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char want[64];
	const char *module;
	int stack = 0;

	(void)state;
	/* The mapping may have grown together with another. */
	assert_memory_equal(user_name((u32)getpid(), page + 4, &module), "[anon]+0x", 9);
	assert_string_equal(module, "[anon]");
	assert_memory_equal(user_name((u32)getpid(), (u64)(uintptr_t)&stack, NULL), "[stack]+0x",
	                    10);
	/* Data of this program: by the address its headers give it. */
	snprintf(want, sizeof(want), "test_sym+0x");
	assert_memory_equal(user_name((u32)getpid(), (u64)(uintptr_t) "a string here", NULL), want,
	                    strlen(want));
	munmap((void *)(uintptr_t)page, 4096);
}

/* The call of a function that never returns may be the last instruction of its caller. */
static void test_return_address(void **state)
{
	(void)state;
	buf_reset(&text);
	sym_user(sym, &text, SYM_RETURN, (u32)getpid(), marker() + 1, NULL);
	assert_string_equal(buf_text(&text), "sym_test_marker+1");
	buf_reset(&text);
	sym_user(sym, &text, SYM_RETURN, (u32)getpid(), marker(), NULL);
	assert_null(strstr(buf_text(&text), "sym_test_marker"));
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
	sym_kernel(sym, &text, SYM_EXACT, 1, NULL);
	assert_string_equal(buf_text(&text), "0x1");
	kallsyms_close(k);
	if (!addr)
		skip(); /* addresses are hidden from this user */
	buf_reset(&text);
	sym_kernel(sym, &text, SYM_EXACT, addr + 2, NULL);
	assert_string_equal(buf_text(&text), "vfs_read+2");
	buf_reset(&text);
	sym_kernel_name(sym, &text, addr + 2);
	assert_string_equal(buf_text(&text), "vfs_read");
}

static void print_frames(struct buf *b, enum frames_mode mode, s64 p, const u64 *ips, u32 n)
{
	buf_putc(b, '\n');
	frames_add(b, sym, mode, p, &(struct stack_frames){ ips, n, NULL });
}

static void test_frames(void **state)
{
	u64 ips[] = { marker() + 2, 0x10, 0, marker() };
	char expected[8192], exe[4096] = { 0 };
	u32 pid = (u32)getpid();

	(void)state;
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	buf_reset(&text);
	print_frames(&text, FRAMES_BPFTRACE, pid, ips, 4);
	assert_string_equal(buf_text(&text), "\n        sym_test_marker+2\n        0x10\n");
	buf_reset(&text);
	print_frames(&text, FRAMES_PERF, pid, ips, 4);
	snprintf(expected, sizeof(expected),
	         "\n\t%llx sym_test_marker+2 (%s)\n\t10 0x10 ([unknown])\n",
	         (unsigned long long)ips[0], exe);
	assert_string_equal(buf_text(&text), expected);
	buf_reset(&text);
	print_frames(&text, FRAMES_RAW, FRAMES_KERNEL, (u64[]){ 0xffff0001, 2 }, 2);
	assert_string_equal(buf_text(&text), "\nffff0001\n2\n");
	buf_reset(&text);
	print_frames(&text, FRAMES_PERF, FRAMES_KERNEL, (u64[]){ 1 }, 1);
	assert_string_equal(buf_text(&text), "\n\t1 0x1\n");
}

static void test_bad_files(void **state)
{
	(void)state;
	assert_null(symfile_read("/nonexistent/file", NULL));
	assert_null(symfile_read("/etc/passwd", NULL));
	assert_null(symfile_read("/proc/self/maps", NULL));
	symfile_free(NULL);
	sym_free(NULL);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_own_function),   CASE(test_rest),          CASE(test_dynamic_symbol),
		CASE(test_unknown),        CASE(test_vdso),          CASE(test_no_function),
		CASE(test_return_address), CASE(test_ended_process), CASE(test_many_processes),
		CASE(test_kernel),         CASE(test_frames),        CASE(test_bad_files),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	buf_free(&text);
	return failed;
}
