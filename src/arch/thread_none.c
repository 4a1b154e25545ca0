/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A machine whose threads nobody has taught memtap to steer: it says so, and nothing is tried. */
#include "arch/move.h"
#include "arch/thread.h"

#if !defined(__x86_64__)

const struct thread_machine thread_machine = { .known = false };

u64 thread_cycles(void)
{
	return 0;
}

u64 thread_ip(const struct thread_regs *r)
{
	(void)r;
	return 0;
}

void thread_set_ip(struct thread_regs *r, u64 ip)
{
	(void)r;
	(void)ip;
}

u64 thread_sp(const struct thread_regs *r)
{
	(void)r;
	return 0;
}

bool thread_is_native(const struct thread_regs *r)
{
	(void)r;
	return false;
}

bool thread_in_call(const struct thread_regs *r, u64 *number)
{
	(void)r;
	(void)number;
	return false;
}

s64 thread_result(const struct thread_regs *r)
{
	(void)r;
	return 0;
}

u64 thread_data(const struct thread_regs *r)
{
	(void)r;
	return 0;
}

void thread_restart(struct thread_regs *r)
{
	(void)r;
}

void thread_set_call(struct thread_regs *r, u64 ip, u64 number, const u64 args[6])
{
	(void)r;
	(void)ip;
	(void)number;
	(void)args;
}

size_t thread_find_signaled(const u64 *words, size_t n, struct thread_signaled *s)
{
	(void)words;
	(void)s;
	return n;
}

bool move_jump(u64 from, u64 to, u8 out[MOVE_JUMP])
{
	(void)from;
	(void)to;
	(void)out;
	return false;
}

const char *move_insn(const struct insn_decoder *d, const u8 *p, size_t n, u64 from, u64 to,
                      u8 out[MOVE_LONGEST], struct move *m)
{
	(void)d;
	(void)p;
	(void)n;
	(void)from;
	(void)to;
	(void)out;
	(void)m;
	return "this machine's instructions can not be moved";
}

#endif
