/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program's entry (AT_ENTRY): the dynamic loader has mapped and made ready all libraries, and of
 * the program nothing has run. A trap stands there until the first thread comes.
 */
#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "arch/thread.h"
#include "run/tracee.h"

static bool word_at(pid_t pid, u64 at, u64 *word)
{
	struct iovec here = { word, sizeof(*word) };
	struct iovec there = { (void *)(uintptr_t)at, sizeof(*word) };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof(*word);
}

static bool put_word(pid_t pid, u64 at, u64 word)
{
	return ptrace(PTRACE_POKEDATA, pid, at, word) == 0;
}

/* True when it stands right after the trap, and then at it. */
static bool at_trap(pid_t pid, u64 entry)
{
	struct thread_regs r;
	struct iovec io = { r.v, sizeof(r.v) };

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io) < 0)
		return false;
	r.n = io.iov_len;
	if (thread_ip(&r) != entry + thread_machine.trap_back)
		return false;
	thread_set_ip(&r, entry);
	return ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io) == 0;
}

/* Signals go their way meanwhile. */
static bool run_to(struct tracee *t, u64 entry)
{
	long signal = 0;

	for (;;) {
		if (ptrace(PTRACE_CONT, t->pid, 0, signal) < 0)
			return false;
		while (waitpid(t->pid, &t->status, 0) < 0)
			if (errno != EINTR)
				return false;
		t->reaped = !WIFSTOPPED(t->status);
		if (t->reaped)
			return false;
		signal = t->status >> 16 ? 0 : WSTOPSIG(t->status);
		if (signal == SIGTRAP && at_trap(t->pid, entry))
			return true;
	}
}

bool tracee_to_entry(struct tracee *t, struct err *e)
{
	u64 entry = tracee_auxv(t->pid, AT_ENTRY), old, new;
	int status;

	if (!thread_machine.known)
		return err_set(e, "memtap can not put code into processes on this machine");
	if (!t->attached || !t->stands || !entry || !word_at(t->pid, entry, &old))
		return err_set(e, "process %d can not be stopped at its program's entry", t->pid);
	new = old;
	memcpy(&new, thread_machine.trap, MIN(thread_machine.trap_length, sizeof(new)));
	if (!put_word(t->pid, entry, new) || !run_to(t, entry) || !put_word(t->pid, entry, old)) {
		t->attached = t->attached && !t->reaped;
		return err_set(e, "process %d does not come to its program's entry", t->pid);
	}
	t->attached = t->stands = false;
	return (ptrace(PTRACE_DETACH, t->pid, 0, SIGSTOP) == 0 &&
	        waitpid(t->pid, &status, WUNTRACED) == t->pid && WIFSTOPPED(status)) ||
	       err_set(e, "process %d does not stop at its program's entry", t->pid);
}
