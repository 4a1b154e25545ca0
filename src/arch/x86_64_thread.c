/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * x86-64's registers under ptrace.
 *
 * The kernel keeps the number of the system call that a thread is in in orig_rax, -1 when it came
 * in by an interrupt. A thread that is stopped at the end of an interrupted call has an error in
 * rax that no program ever sees (-ERESTARTSYS and its kin); when it goes on, the kernel sets it
 * back to the call instruction, or makes EINTR of it where a handler runs first. What writes the
 * same two registers again, in the same kind of stop, changes nothing of that.
 */
#include "arch/thread.h"

#if defined(__x86_64__)

#include <linux/audit.h>
#include <sys/ucontext.h>
#include <sys/user.h>

#define CODE_64        0x33 /* the user's segment of 64-bit code */
#define ERESTARTNOHAND 514  /* include/linux/errno.h: restart if there is no handler */

#define UC_FLAGS_ALL 7 /* arch/x86/include/uapi/asm/ucontext.h: all that there are */

static const u8 call_insn[] = { 0x0f, 0x05 }, trap_insn[] = { 0xcc };

const struct thread_machine thread_machine = {
	.known = true,
	.audit = AUDIT_ARCH_X86_64,
	.call = call_insn,
	.call_length = sizeof(call_insn),
	.trap = trap_insn,
	.trap_length = sizeof(trap_insn),
	.trap_back = 1,
	.shadow = "shstk",
};

_Static_assert(sizeof(struct user_regs_struct) <= THREAD_WORDS * 8, "there is room");

static struct user_regs_struct get(const struct thread_regs *r)
{
	struct user_regs_struct u;

	memcpy(&u, r->v, sizeof(u));
	return u;
}

static void set(struct thread_regs *r, const struct user_regs_struct *u)
{
	memcpy(r->v, u, sizeof(*u));
}

u64 thread_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

u64 thread_ip(const struct thread_regs *r)
{
	return get(r).rip;
}

void thread_set_ip(struct thread_regs *r, u64 ip)
{
	struct user_regs_struct u = get(r);

	u.rip = ip;
	set(r, &u);
}

u64 thread_sp(const struct thread_regs *r)
{
	return get(r).rsp;
}

u64 thread_data(const struct thread_regs *r)
{
	return get(r).fs_base;
}

bool thread_is_native(const struct thread_regs *r)
{
	return r->n == sizeof(struct user_regs_struct) && get(r).cs == CODE_64;
}

bool thread_in_call(const struct thread_regs *r, u64 *number)
{
	*number = get(r).orig_rax;
	return (s64)*number >= 0;
}

s64 thread_result(const struct thread_regs *r)
{
	return (s64)get(r).rax;
}

void thread_restart(struct thread_regs *r)
{
	struct user_regs_struct u = get(r);

	u.rax = (unsigned long long)-ERESTARTNOHAND;
	set(r, &u);
}

void thread_set_call(struct thread_regs *r, u64 ip, u64 number, const u64 args[6])
{
	struct user_regs_struct u = get(r);

	u.rip = ip;
	u.rax = number;
	u.orig_rax = (unsigned long long)-1;
	u.rdi = args[0];
	u.rsi = args[1];
	u.rdx = args[2];
	u.r10 = args[3];
	u.r8 = args[4];
	u.r9 = args[5];
	set(r, &u);
}

/* What the kernel writes: uc_flags, uc_link (0), uc_stack (3 words), then the registers. */
#define FRAME_STACK 2
#define FRAME_REGS  5

size_t thread_find_signaled(const u64 *words, size_t n, struct thread_signaled *s)
{
	for (size_t i = 0; i + FRAME_REGS + REG_CSGSFS < n; i += 2) {
		const u64 *w = words + i, *regs = w + FRAME_REGS;

		if ((regs[REG_CSGSFS] & 0xffff) != CODE_64 || w[0] > UC_FLAGS_ALL || w[1])
			continue;
		*s = (struct thread_signaled){ .ip = regs[REG_RIP],
			                       .ip_offset = (FRAME_REGS + REG_RIP) * 8,
			                       .sp = regs[REG_RSP],
			                       .stack = w[FRAME_STACK],
			                       .stack_size = w[FRAME_STACK + 2] };
		return i;
	}
	return n;
}

#endif
