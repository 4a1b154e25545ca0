/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls by a thread of another process.
 *
 *      stop A: found here          registers and mask kept, all signals blocked
 *        |  registers set to a call instruction that the process has anyway
 *        v
 *      call begins, call ends      once for each call
 *        |  interrupted again
 *        v
 *      stop B: as stop A           registers and mask back
 *
 * Stops A and B are of one kind: the thread is on its way out of the kernel, and what it comes to
 * there (start a system call again, a signal's handler) follows from the registers, which are the
 * same. Neither its stack nor any other memory of it is touched.
 *
 * Not every thread will do. One that waits with another mask of signals for the time (sigsuspend,
 * ppoll) loses it here, which is the same to it as long as no signal waits that only that mask
 * blocks: its call sets the mask again. One that is in a restartable sequence (rseq) would not be
 * told that it was interrupted, for it is elsewhere when the kernel looks.
 */
#include <elf.h>
#include <errno.h>
#include <linux/rseq.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "inject/filter.h"
#include "inject/hold.h"

#define GET_DISPATCH 0x4210 /* PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG */
#define TRIES        64u    /* stops of other kinds before one of a call */
#define CPU_ASKED    4u     /* threads: a C library has it for all or for none */

static bool read_memory(pid_t pid, u64 at, void *to, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool in_sequence(const struct hold *h, const struct hold_thread *t)
{
	struct __ptrace_rseq_configuration c = { 0 };
	struct rseq_cs cs;
	u64 at;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, sizeof(c), &c) < 0)
		return true; /* before Linux 5.13 nobody can tell */
	if (!c.rseq_abi_pointer)
		return false;
	if (!read_memory(h->pid, c.rseq_abi_pointer + offsetof(struct rseq, rseq_cs), &at,
	                 sizeof(at)))
		return true;
	return at && (!read_memory(h->pid, at, &cs, sizeof(cs)) ||
	              thread_ip(&t->regs) - cs.start_ip < cs.post_commit_offset);
}

bool hold_cpu(const struct hold *h, s64 *offset)
{
	for (u32 i = 0; i < MIN(h->n, CPU_ASKED); i++) {
		struct __ptrace_rseq_configuration c = { 0 };
		u64 at;

		if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, h->v[i].tid, sizeof(c), &c) < 0 ||
		    !c.rseq_abi_pointer)
			return false;
		at = c.rseq_abi_pointer + offsetof(struct rseq, cpu_id) -
		     thread_data(&h->v[i].regs);
		if (i && (s64)at != *offset)
			return false;
		*offset = (s64)at;
	}
	return true;
}

/* Its calls may be handled by itself (prctl(2), PR_SET_SYSCALL_USER_DISPATCH). Kernels that can not
 * tell (before 6.4) have it for emulators alone. */
static bool dispatches(const struct hold_thread *t)
{
	struct {
		u64 mode, selector, offset, length;
	} c = { 0 };

	return ptrace(GET_DISPATCH, t->tid, sizeof(c), &c) == 0 && c.mode;
}

enum place {
	PLACE_BAD,
	PLACE_OTHER_MASK, /* in a call that has set another mask of signals for the time */
	PLACE_CODE,       /* in its own code */
	PLACE_CALL,
};

static enum place place_of(const struct hold *h, const struct hold_thread *t)
{
	u64 number, mask, blocked, pending, shared;

	if (dispatches(t))
		return PLACE_BAD;
	if (!thread_in_call(&t->regs, &number))
		return in_sequence(h, t) ? PLACE_BAD : PLACE_CODE;
	if (ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask) < 0 ||
	    !hold_status(h->pid, t->tid, "SigBlk", &blocked) ||
	    !hold_status(h->pid, t->tid, "SigPnd", &pending) ||
	    !hold_status(h->pid, t->tid, "ShdPnd", &shared))
		return PLACE_BAD;
	if (blocked == mask)
		return PLACE_CALL;
	return (pending | shared) & ~mask ? PLACE_BAD : PLACE_OTHER_MASK;
}

static u32 choose(const struct hold *h)
{
	enum place best = PLACE_BAD;
	u32 found = HOLD_NOBODY;

	for (u32 i = 0; i < h->n && best != PLACE_CALL; i++) {
		enum place p = place_of(h, &h->v[i]);

		if (p > best) {
			best = p;
			found = i;
		}
	}
	return found;
}

static bool nobody(const struct hold *h, struct err *e)
{
	struct __ptrace_rseq_configuration c;
	pid_t tid = h->n ? h->v[0].tid : 0;

	err_set(e, "no thread of process %d stands where it could make a call", h->pid);
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(c), &c) < 0)
		err_hint(e, "before Linux 5.13 only one that waits in a system call does");
	return false;
}

static bool ended(const struct hold *h, struct err *e)
{
	return err_set(e, "process %d ended while it was stopped", h->pid);
}

/* Until the caller stops. Where the process is killed instead, the end of its first thread is
 * reported only after those of all others, so these are taken too. */
static bool wait_caller(pid_t tid, int *status)
{
	pid_t got;

	do
		got = waitpid(-1, status, __WALL);
	while (got != tid && (got > 0 || errno == EINTR));
	return got == tid && WIFSTOPPED(*status);
}

/* Lets the caller run to a stop of that kind: a system call's, or (call false) one like the first.
 * Of the signals that can not be blocked, one that stops the process takes its way. */
static bool run_to(const struct hold *h, bool call, struct err *e)
{
	pid_t tid = h->v[h->caller].tid;
	int signal = 0, status;

	for (u32 i = 0; i < TRIES; i++) {
		if (ptrace(call ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0, signal) < 0 ||
		    !wait_caller(tid, &status))
			return ended(h, e);
		signal = 0;
		if (status >> 16 == PTRACE_EVENT_STOP) {
			if (!call)
				return true;
		} else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			if (call)
				return true;
		} else {
			signal = WSTOPSIG(status);
		}
	}
	return err_set(e, "thread %d of process %d makes no system call", tid, h->pid);
}

static bool begin_calls(struct hold *h, struct err *e)
{
	u64 all = UINT64_MAX;
	pid_t tid;

	h->caller = choose(h);
	if (h->caller == HOLD_NOBODY)
		return nobody(h, e);
	tid = h->v[h->caller].tid;
	if (!hold_status(h->pid, tid, "Seccomp", &h->filtered))
		return err_set(e,
		               "process %d: it can not be seen whether it has a filter of system "
		               "calls",
		               h->pid);
	return (ptrace(PTRACE_GETSIGMASK, tid, sizeof(h->caller_mask), &h->caller_mask) == 0 &&
	        ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all) == 0) ||
	       ended(h, e);
}

bool hold_may_call(struct hold *h, u64 number, const u64 args[6], struct err *e)
{
	const struct filter_call c = { number, h->call_at, args };

	if (h->caller == HOLD_NOBODY && !begin_calls(h, e))
		return false;
	return filter_allows(h->v[h->caller].tid, h->filtered, &c, e) ||
	       err_wrap(e, "process %d", h->pid);
}

bool hold_call(struct hold *h, u64 number, const u64 args[6], s64 *result, struct err *e)
{
	struct thread_regs r;
	struct iovec io = { r.v, sizeof(r.v) };
	pid_t tid;

	if (!hold_may_call(h, number, args, e))
		return false;
	tid = h->v[h->caller].tid;
	r = h->v[h->caller].regs;
	io.iov_len = r.n;
	thread_set_call(&r, h->call_at, number, args);
	if (ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &io) < 0)
		return ended(h, e);
	if (!run_to(h, true, e)) /* where it begins */
		return false;
	if (!run_to(h, true, e)) /* and ends */
		return false;
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) < 0)
		return ended(h, e);
	*result = thread_result(&r);
	h->has_maps = false;
	return true;
}

bool hold_end_calls(struct hold *h, struct err *e)
{
	struct hold_thread *t;
	struct iovec io;

	if (h->caller == HOLD_NOBODY)
		return true;
	t = &h->v[h->caller];
	io = (struct iovec){ t->regs.v, t->regs.n };
	t->stands = ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) == 0 && run_to(h, false, e) &&
	            ptrace(PTRACE_SETREGSET, t->tid, NT_PRSTATUS, &io) == 0 &&
	            ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(h->caller_mask), &h->caller_mask) == 0;
	h->caller = HOLD_NOBODY;
	return t->stands || ended(h, e);
}
