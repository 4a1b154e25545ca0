/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread that stands still under ptrace: its registers, and how it is made to carry out a system
 * call. A machine that has no file for this says so (thread_none.c).
 */
#ifndef ARCH_THREAD_H
#define ARCH_THREAD_H

#include "base/base.h"

#define THREAD_WORDS 64u

/* As PTRACE_GETREGSET has them (NT_PRSTATUS). */
struct thread_regs {
	u64 v[THREAD_WORDS];
	size_t n; /* bytes */
};

struct thread_machine {
	bool known;         /* false: nothing else here may be used */
	u32 audit;          /* its name in filters of system calls (AUDIT_ARCH_*) */
	const u8 *call;     /* the instruction that makes a system call */
	size_t call_length; /* bytes */
	const u8 *trap;     /* stops a thread `trap_back` bytes after its start */
	size_t trap_length, trap_back;
	const char *shadow; /* of "Features:" in /proc/PID/status, a stack of return addresses */
};

extern const struct thread_machine thread_machine;

/* The processor's counter of time, whatever it counts. */
u64 thread_cycles(void);

u64 thread_ip(const struct thread_regs *r);
void thread_set_ip(struct thread_regs *r, u64 ip);
u64 thread_sp(const struct thread_regs *r);
/* The thread pointer, which thread-local data are found by. */
u64 thread_data(const struct thread_regs *r);
/* True when it runs this machine's 64-bit code. */
bool thread_is_native(const struct thread_regs *r);
/* True when it stands at the end of a system call, whose number *number is. */
bool thread_in_call(const struct thread_regs *r, u64 *number);
/* What the call returned, -errno for an error. */
s64 thread_result(const struct thread_regs *r);
/* Makes the kernel start that call again, unless a signal's handler comes first: then it returns
 * EINTR. */
void thread_restart(struct thread_regs *r);
/* Makes it carry out a call next: `ip` is where the instruction is. */
void thread_set_call(struct thread_regs *r, u64 ip, u64 number, const u64 args[6]);

#define THREAD_SIGNALED 64u /* words of a signal's frame that are looked at, at most */

/* Where a signal came: where it goes on after it, which is kept `ip_offset` bytes into the frame,
 * and its stack. The thread's stack for handlers, 0 bytes when it has none. */
struct thread_signaled {
	u64 ip, ip_offset, sp;
	u64 stack, stack_size;
};

/* The first of n words, at addresses that 16 divides, from which on they may be a signal's frame,
 * from its flags on; n when there is none. May say so of other words, seldom. */
size_t thread_find_signaled(const u64 *words, size_t n, struct thread_signaled *s);

#endif
