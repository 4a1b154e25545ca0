/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process all of whose threads stand still, and what one of them can be made to do meanwhile.
 *
 * ptrace(2) belongs to one thread of the tracer, and a thread that does not stop can be let go only
 * by the tracer's end. So all of this runs in a process of its own (apart.h).
 */
#ifndef INJECT_HOLD_H
#define INJECT_HOLD_H

#include <sys/types.h>

#include "arch/thread.h"
#include "base/err.h"
#include "read/procmaps.h"

struct hold_thread {
	pid_t tid;
	bool stands;
	bool paused; /* by a signal (SIGSTOP and its kin): it does not go on when it is let go */
	bool moves;  /* its registers are not what they were */
	struct thread_regs regs; /* it goes on with them; as it was found, but for `moves` */
};

struct hold {
	pid_t pid;
	struct hold_thread *v;
	u32 n, room;
	/* The thread of v that makes system calls (HOLD_NOBODY: none yet), the signals that it
	 * blocks by itself, and where the process has the instruction for calls. */
	u32 caller;
	u64 caller_mask;
	u64 call_at;
	u64 filtered; /* of the caller: which filters of calls it has (SECCOMP_MODE_*) */
	struct arena arena;
	struct procmaps maps; /* of hold_maps(), while has_maps */
	bool has_maps;
	u64 since;    /* from when on threads stand, in nanoseconds; 0: none does */
	u64 stood_ns; /* after hold_let_go(), and when hold_all() failed: for how long they did */
};

#define HOLD_NOBODY UINT32_MAX

/*
 * Stops all threads, those too that start meanwhile. Signals that come are delivered as always. In
 * `ms`, or false and *e: then all go on, those that did not stop at this process's end at the
 * latest.
 */
bool hold_all(struct hold *h, pid_t pid, u32 ms, struct err *e);
/*
 * One of the threads makes a system call; *result is what the kernel says, -errno for an error.
 * False and *e when no thread can make one now, or the process ended.
 */
bool hold_call(struct hold *h, u64 number, const u64 args[6], s64 *result, struct err *e);
/* Whether filters of system calls (seccomp) would let it make that one: asked, not tried. */
bool hold_may_call(struct hold *h, u64 number, const u64 args[6], struct err *e);
/* Thread v[i] goes on there, with all else as it is. */
void hold_go_on_at(struct hold *h, u32 i, u64 ip);
/* Whether a signal has stopped the process, so that it stands still after hold_let_go(), too. */
bool hold_is_paused(const struct hold *h);
/*
 * All run, in spite of that, until hold_stand_again(). Before any call is made. Meanwhile
 * hold_keep_running() is to be called again and again: a thread that stood already when it was
 * asked to stop comes to that stop as soon as it runs.
 */
void hold_run_on(struct hold *h);
void hold_keep_running(struct hold *h);
/* False and *e: as of hold_all(), but that hold_let_go() is to be called. */
bool hold_stand_again(struct hold *h, struct err *e);
/* All go on where they stood, and system calls that were interrupted are started again. Frees what
 * h has. False and *e when the process has ended. */
bool hold_let_go(struct hold *h, struct err *e);

/* Its mappings, read once between two calls that it makes. NULL and *e when that fails. */
const struct procmaps *hold_maps(struct hold *h, struct err *e);
/* True when the kernel tells threads the number of their CPU (rseq), in four bytes that are
 * *offset bytes from the thread pointer. */
bool hold_cpu(const struct hold *h, s64 *offset);

/* The state of a thread as in /proc/PID/stat, 0 when it is gone. */
char hold_state(pid_t pid, pid_t tid);
/* A number in base 16 of /proc/PID/task/TID/status, such as "SigBlk". False when there is none. */
bool hold_status(pid_t pid, pid_t tid, const char *name, u64 *value);
/* Puts the registers of the thread that makes calls back; part of hold_let_go(). */
bool hold_end_calls(struct hold *h, struct err *e);

#endif
