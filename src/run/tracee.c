/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ptrace(2), used for two moments only. After exec a program is mapped and nothing of it has
 * run; at its end (PTRACE_EVENT_EXIT) all it ever mapped is still mapped, however short it lived.
 * In between the kernel reports each signal to us before it is delivered; we pass it on.
 *
 *   attached --> exec stop --> running --> end stop --> detached, it exits
 *                                ^  |
 *                  signal, stop  +--+  passed on, obeyed
 *
 * On request it also stands still whenever the dynamic loader has mapped code: it stops at each of
 * its system calls until the first one that is not the loader's.
 *
 * Only the first thread is attached to: the others run as always, and where one of them ends the
 * whole, the first one still comes by its own end. When we die, the kernel detaches and kills the
 * process (child.c).
 */
#include "run/tracee.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "read/procmaps.h"

#define LOADER_MS 20  /* without a stop, then other things get their turn */
#define LET_GO_MS 100 /* a process deep in the kernel does not stop; our end detaches it then */

/* The loop of the session sleeps in poll(), so what happens to the process must be readable. */
static void listen(struct tracee *t)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &t->old_mask);
	t->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void read_all(int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) > 0)
		;
}

static void detached(struct tracee *t)
{
	t->attached = t->stands = false;
	if (t->fd < 0)
		return;
	read_all(t->fd);
	close(t->fd);
	t->fd = -1;
	sigprocmask(SIG_SETMASK, &t->old_mask, NULL);
}

bool tracee_attach(struct tracee *t, pid_t pid, bool to_end, bool loader)
{
	long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD |
	               (to_end ? PTRACE_O_TRACEEXIT : 0);

	*t = (struct tracee){ .pid = pid, .to_end = to_end, .loader = loader, .fd = -1 };
	t->attached = ptrace(PTRACE_SEIZE, pid, 0, options) == 0;
	if (t->attached && (to_end || loader))
		listen(t);
	return t->attached;
}

/* ---- the dynamic loader ---- */

u64 tracee_auxv(pid_t pid, u64 type)
{
	struct buf b = { 0 };
	char path[64];
	struct err e;
	u64 value = 0;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	if (file_read(path, &b, 65536, &e)) {
		for (size_t i = 0; i + sizeof(Elf64_auxv_t) <= b.n; i += sizeof(Elf64_auxv_t)) {
			Elf64_auxv_t a;

			memcpy(&a, b.p + i, sizeof(a));
			if (a.a_type == type)
				value = a.a_un.a_val;
		}
	}
	buf_free(&b);
	return value;
}

/* After exec: from now on the loader runs, if there is one (AT_BASE is where it was mapped). */
static void find_loader(struct tracee *t)
{
	u64 base = t->loader ? tracee_auxv(t->pid, AT_BASE) : 0;
	const struct procmap *first;
	struct arena arena = { 0 };
	struct procmaps maps;
	struct err e;

	t->loading = false;
	if (base && procmaps_read(&arena, t->pid, &maps, &e) &&
	    (first = procmaps_find(&maps, base))) {
		t->loading = true;
		t->loader_start = t->loader_end = first->start;
		for (u32 i = 0; i < maps.n; i++)
			if (maps.v[i].start >= base && maps.v[i].inode == first->inode)
				t->loader_end = maps.v[i].end;
	}
	arena_free(&arena);
}

/* A stop at a system call. True when code has been mapped by it. */
static bool at_system_call(struct tracee *t)
{
	struct __ptrace_syscall_info info = { 0 };
	bool mapped;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof(info), &info) <= 0) {
		t->loading = false;
		return false;
	}
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		t->maps_code = (info.entry.nr == SYS_mmap || info.entry.nr == SYS_mprotect) &&
		               (info.entry.args[2] & PROT_EXEC);
		if (info.instruction_pointer < t->loader_start ||
		    info.instruction_pointer >= t->loader_end)
			t->loading = false;
		return false;
	}
	mapped = t->maps_code;
	t->maps_code = false;
	return mapped;
}

static void go_on(struct tracee *t, long signal)
{
	ptrace(t->loading ? PTRACE_SYSCALL : PTRACE_CONT, t->pid, 0, signal);
}

static u32 event_of(int status)
{
	return (u32)status >> 16;
}

static bool is_system_call(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* Only a stop without an event is a signal on its way; of an event the number says nothing, and at
 * a system call it is none, with which the kernel would not detach. */
static long signal_of(int status)
{
	return event_of(status) || is_system_call(status) ? 0 : WSTOPSIG(status);
}

/* Ctrl-Z and SIGSTOP: it stays stopped until SIGCONT, as it would without us. */
static bool is_group_stop(int status)
{
	return event_of(status) == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
}

/* One status of waitpid(). True at the two moments, and when the loader has mapped code; then it
 * stands still. */
static bool take(struct tracee *t, int status)
{
	if (!WIFSTOPPED(status)) {
		t->reaped = true;
		t->status = status;
		detached(t);
		return false;
	}
	t->stands = event_of(status) == PTRACE_EVENT_EXEC || event_of(status) == PTRACE_EVENT_EXIT;
	if (event_of(status) == PTRACE_EVENT_EXEC)
		find_loader(t);
	if (event_of(status) == PTRACE_EVENT_EXIT)
		t->to_end = t->loading = false;
	if (is_system_call(status)) {
		t->stands = at_system_call(t) || !t->loading;
		return t->stands;
	}
	if (is_group_stop(status))
		ptrace(PTRACE_LISTEN, t->pid, 0, 0);
	else if (!t->stands)
		go_on(t, signal_of(status));
	return t->stands;
}

bool tracee_attach_stopped(struct tracee *t, pid_t pid, bool to_end, bool loader)
{
	int status;

	if (!tracee_attach(t, pid, to_end, loader))
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSTOPPED(status))
		t->stands = true;
	else
		take(t, status);
	return t->stands;
}

bool tracee_wait_exec(struct tracee *t)
{
	int status;

	while (t->attached) {
		if (waitpid(t->pid, &status, 0) != t->pid) {
			if (errno != EINTR)
				detached(t);
		} else if (take(t, status)) {
			if (event_of(status) == PTRACE_EVENT_EXEC)
				return true;
			tracee_continue(t);
		}
	}
	return false;
}

/* The loader makes its calls one after the other: no need to go around the session's loop. */
static bool stops_soon(const struct tracee *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	if (t->fd < 0 || poll(&p, 1, LOADER_MS) != 1)
		return false;
	read_all(t->fd);
	return true;
}

bool tracee_next(struct tracee *t)
{
	int status;

	if (!t->attached || t->stands)
		return t->stands;
	if (t->fd >= 0)
		read_all(t->fd);
	do {
		while (t->attached && waitpid(t->pid, &status, WNOHANG) == t->pid) {
			if (take(t, status))
				return true;
			if (t->loading && is_system_call(status))
				go_on(t, 0);
		}
	} while (t->attached && t->loading && stops_soon(t));
	return false;
}

void tracee_continue(struct tracee *t)
{
	if (!t->stands)
		return;
	t->stands = false;
	if (t->to_end || t->loading) {
		go_on(t, 0);
		return;
	}
	ptrace(PTRACE_DETACH, t->pid, 0, 0);
	detached(t);
}

void tracee_let_go(struct tracee *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	int status;

	if (!t->attached)
		return;
	t->to_end = t->loading = false;
	tracee_continue(t);
	if (!t->attached)
		return;
	ptrace(PTRACE_INTERRUPT, t->pid, 0, 0);
	for (u32 ms = 0; t->attached && ms < LET_GO_MS; ms++) {
		if (waitpid(t->pid, &status, WNOHANG) != t->pid) {
			poll(&p, 1, 1);
			read_all(t->fd);
		} else if (WIFSTOPPED(status)) {
			ptrace(PTRACE_DETACH, t->pid, 0, signal_of(status));
			detached(t);
		} else {
			take(t, status);
		}
	}
}
