/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ptrace(2), used for two moments only. Behind exec a program is mapped and nothing of it has
 * run; at its end (PTRACE_EVENT_EXIT) all it ever mapped is still mapped, however short it lived.
 * In between the kernel reports each signal to us before it is delivered; we pass it on.
 *
 *   attached --> exec stop --> running --> end stop --> detached, it exits
 *                                ^  |
 *                  signal, stop  +--+  passed on, obeyed
 *
 * Only the first thread is attached to: the others run as always, and where one of them ends the
 * whole, the first one still comes by its own end. PTRACE_O_EXITKILL is not set: when we die, the
 * kernel detaches and the process runs on.
 */
#include "run/tracee.h"

#include <errno.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

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

bool tracee_attach(struct tracee *t, pid_t pid, bool to_end)
{
	long options = PTRACE_O_TRACEEXEC | (to_end ? PTRACE_O_TRACEEXIT : 0);

	*t = (struct tracee){ .pid = pid, .to_end = to_end, .fd = -1 };
	t->attached = ptrace(PTRACE_SEIZE, pid, 0, options) == 0;
	if (t->attached && to_end)
		listen(t);
	return t->attached;
}

static u32 event_of(int status)
{
	return (u32)status >> 16;
}

/* Only a stop without an event is a signal on its way; of an event the number says nothing. */
static long signal_of(int status)
{
	return event_of(status) ? 0 : WSTOPSIG(status);
}

/* Ctrl-Z and SIGSTOP: it stays stopped until SIGCONT, as it would without us. */
static bool is_group_stop(int status)
{
	return event_of(status) == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
}

/* One status of waitpid(). True at the two moments; then it stands still. */
static bool take(struct tracee *t, int status)
{
	if (!WIFSTOPPED(status)) {
		t->reaped = true;
		t->status = status;
		detached(t);
		return false;
	}
	t->stands = event_of(status) == PTRACE_EVENT_EXEC || event_of(status) == PTRACE_EVENT_EXIT;
	if (event_of(status) == PTRACE_EVENT_EXIT)
		t->to_end = false;
	if (is_group_stop(status))
		ptrace(PTRACE_LISTEN, t->pid, 0, 0);
	else if (!t->stands)
		ptrace(PTRACE_CONT, t->pid, 0, signal_of(status));
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

bool tracee_next(struct tracee *t)
{
	int status;

	if (!t->attached || t->stands)
		return t->stands;
	if (t->fd >= 0)
		read_all(t->fd);
	while (t->attached && waitpid(t->pid, &status, WNOHANG) == t->pid)
		if (take(t, status))
			return true;
	return false;
}

void tracee_continue(struct tracee *t)
{
	if (!t->stands)
		return;
	t->stands = false;
	if (t->to_end) {
		ptrace(PTRACE_CONT, t->pid, 0, 0);
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
	t->to_end = false;
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
