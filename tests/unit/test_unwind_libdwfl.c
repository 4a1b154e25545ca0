/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A copied stack walked by our rows, and the same process walked by libdwfl: the same frames.
 *
 * Only on x86_64: its registers are read and walked.
 */
#include <elfutils/libdwfl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/procmaps.h"
#include "sym/unwind_table.h"
#include "sym/unwind_walk.h"
#include "unit/ehframe_rule.h"

#define FRAMES_MAX 127u
#define COPY_BYTES 65536u
#define TABLES_MAX 32u

/* ---- the process: stopped in a signal handler, below a callback of the C library ---- */

static int (*volatile next)(int n);

static void on_signal(int number)
{
	(void)number;
	raise(SIGSTOP);
	__asm__ volatile("" : : : "memory");
}

static int compare(const void *a, const void *b)
{
	raise(SIGUSR1);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int deep(int n)
{
	int v[2] = { 2, 1 };

	if (n)
		return next(n - 1) + 1;
	qsort(v, 2, sizeof(v[0]), compare);
	return v[0];
}

static pid_t stopped_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		signal(SIGUSR1, on_signal);
		next = deep;
		_exit(deep(5));
	}
	/* Each signal stops it; the first one is passed on, at the second it stays. */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WSTOPSIG(status), SIGUSR1);
	assert_int_equal(ptrace(PTRACE_CONT, pid, 0, SIGUSR1), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WSTOPSIG(status), SIGSTOP);
	return pid;
}

/* ---- ours ---- */

struct mapped {
	u64 start, end;
	u64 bias; /* address - bias is a row's pc */
	struct unwind_table table;
};

struct tables {
	struct mapped v[TABLES_MAX];
	u32 n;
};

static bool rule_at(void *ctx, u64 pc, u32 *rule)
{
	const struct tables *t = ctx;

	for (u32 i = 0; i < t->n; i++) {
		const struct mapped *m = &t->v[i];

		if (pc < m->start || pc >= m->end || !m->table.rows.n)
			continue;
		*rule = ehframe_rule(&m->table.rows, (u32)(pc - m->bias));
		return true;
	}
	return false;
}

static void read_tables(pid_t pid, struct tables *t)
{
	struct arena arena = { 0 };
	struct procmaps maps;
	struct err e;
	u64 vaddr;

	assert_true(procmaps_read(&arena, pid, &maps, &e));
	for (u32 i = 0; i < maps.n && t->n < TABLES_MAX; i++) {
		const struct procmap *p = &maps.v[i];
		struct mapped *m = &t->v[t->n];

		if (!p->exec || !unwind_table_read(p->path, NULL, &m->table, &e))
			continue;
		assert_true(unwind_table_vaddr(&m->table, p->offset, &vaddr));
		m->start = p->start;
		m->end = p->end;
		m->bias = p->start - (vaddr - m->table.base);
		t->n++;
	}
	arena_free(&arena);
}

static u32 our_frames(pid_t pid, u64 *ips)
{
	static u8 bytes[COPY_BYTES];
	struct tables t = { .n = 0 };
	struct user_regs_struct regs;
	struct unwind_stack s = { .rule = rule_at, .ctx = &t, .bytes = bytes };
	bool whole;
	u32 n;

	read_tables(pid, &t);
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	s.pc = regs.rip;
	s.sp = s.start = regs.rsp;
	s.fp = regs.rbp;
	for (s.n = 0; s.n < COPY_BYTES; s.n += 64) {
		struct iovec to = { bytes + s.n, 64 }, from = { (void *)(regs.rsp + s.n), 64 };

		if (process_vm_readv(pid, &to, 1, &from, 1, 0) != 64)
			break;
	}
	n = unwind_walk(&s, ips, FRAMES_MAX, &whole);
	assert_true(whole);
	for (u32 i = 0; i < t.n; i++)
		unwind_table_free(&t.v[i].table);
	return n;
}

/* ---- theirs ---- */

struct theirs {
	u64 ips[FRAMES_MAX];
	u32 n;
};

static int on_frame(Dwfl_Frame *frame, void *ctx)
{
	struct theirs *t = ctx;
	Dwarf_Addr pc;

	if (t->n == FRAMES_MAX || !dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	t->ips[t->n++] = pc;
	return DWARF_CB_OK;
}

/* Unwinding needs no debug information, and none is to be fetched. */
static int no_debuginfo(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
                        const char *file, const char *link, GElf_Word crc, char **out)
{
	(void)mod, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc;
	*out = NULL;
	return -1;
}

static void their_frames(pid_t pid, struct theirs *t)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = no_debuginfo,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	assert_non_null(dwfl);
	assert_int_equal(dwfl_linux_proc_report(dwfl, pid), 0);
	assert_int_equal(dwfl_report_end(dwfl, NULL, NULL), 0);
	assert_int_equal(dwfl_linux_proc_attach(dwfl, pid, true), 0);
	dwfl_getthread_frames(dwfl, pid, on_frame, t);
	dwfl_end(dwfl);
}

static void test_same_frames(void **state)
{
	pid_t pid = stopped_child();
	struct theirs theirs = { .n = 0 };
	u64 ours[FRAMES_MAX];
	u32 n = our_frames(pid, ours);
	int status;

	(void)state;
	their_frames(pid, &theirs);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_true(n > 15);
	assert_int_equal(n, theirs.n);
	for (u32 i = 0; i < n; i++)
		assert_int_equal(ours[i], theirs.ips[i]);
}

/* A copy that ends early ends the walk, not us. */
static void test_cut(void **state)
{
	static const u8 bytes[64];
	struct tables none = { .n = 0 };
	struct unwind_stack s = { .pc = 1, .rule = rule_at, .ctx = &none, .bytes = bytes };
	u64 ips[4];
	bool whole;

	(void)state;
	s.sp = s.start = 0x1000;
	s.fp = 0x1010;
	for (s.n = 0; s.n < 0x20; s.n++) {
		assert_int_equal(unwind_walk(&s, ips, 4, &whole), 1);
		assert_false(whole);
	}
	assert_int_equal(unwind_walk(&s, ips, 4, &whole), 1);
	assert_true(whole); /* a return address of 0 */
	s.fp = 0;
	assert_int_equal(unwind_walk(&s, ips, 4, &whole), 1);
	assert_true(whole);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_frames),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
