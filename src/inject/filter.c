/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Classic BPF (linux/filter.h), as far as seccomp has it: an accumulator, an index register, 16
 * words of memory, and struct seccomp_data to read. Jumps lead forward only, so a filter ends.
 */
#include "inject/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "arch/thread.h"

struct state {
	u32 a, x, mem[BPF_MEMWORDS];
	struct seccomp_data data;
};

static void load(struct state *s, const struct sock_filter *i, u32 *to)
{
	switch (BPF_MODE(i->code)) {
	case BPF_IMM:
		*to = i->k;
		break;
	case BPF_ABS:
		*to = 0;
		if (i->k <= sizeof(s->data) - 4)
			memcpy(to, (const char *)&s->data + i->k, 4);
		break;
	case BPF_MEM:
		*to = s->mem[i->k % BPF_MEMWORDS];
		break;
	default: /* BPF_LEN */
		*to = sizeof(s->data);
	}
}

static u32 compute(u32 a, u16 op, u32 b)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	case BPF_XOR:
		return a ^ b;
	default: /* BPF_NEG */
		return -a;
	}
}

/* How many instructions are passed over. */
static u32 jump(const struct sock_filter *i, u32 a, u32 b)
{
	switch (BPF_OP(i->code)) {
	case BPF_JA:
		return i->k;
	case BPF_JEQ:
		return a == b ? i->jt : i->jf;
	case BPF_JGT:
		return a > b ? i->jt : i->jf;
	case BPF_JGE:
		return a >= b ? i->jt : i->jf;
	default: /* BPF_JSET */
		return a & b ? i->jt : i->jf;
	}
}

static struct seccomp_data data_of(const struct filter_call *c)
{
	struct seccomp_data d = {
		.nr = (int)c->number,
		.arch = thread_machine.audit,
		.instruction_pointer = c->ip + thread_machine.call_length,
	};

	memcpy(d.args, c->args, sizeof(d.args));
	return d;
}

u32 filter_run(const struct sock_filter *f, u32 n, const struct filter_call *c)
{
	struct state s = { .data = data_of(c) };

	for (u32 at = 0; at < n; at++) {
		const struct sock_filter *i = &f[at];
		u32 b = BPF_SRC(i->code) == BPF_X ? s.x : i->k;

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			load(&s, i, &s.a);
			break;
		case BPF_LDX:
			load(&s, i, &s.x);
			break;
		case BPF_ST:
			s.mem[i->k % BPF_MEMWORDS] = s.a;
			break;
		case BPF_STX:
			s.mem[i->k % BPF_MEMWORDS] = s.x;
			break;
		case BPF_ALU:
			s.a = compute(s.a, BPF_OP(i->code), b);
			break;
		case BPF_JMP:
			at += MIN(jump(i, s.a, b), n - 1 - at);
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? s.a : i->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(i->code) == BPF_TAX)
				s.x = s.a;
			else
				s.a = s.x;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static bool passes(u32 action)
{
	action &= SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

/* The i-th filter; *more false after the last. */
static bool check_one(pid_t tid, u64 i, const struct filter_call *c, bool *more, struct err *e)
{
	long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, NULL);
	struct sock_filter *f;
	bool ok = false;

	*more = n >= 0 || errno != ENOENT;
	if (!*more)
		return true;
	if (n < 0)
		return err_sys(e, errno, "its filter of system calls (seccomp) can not be read");
	f = calloc((size_t)n + 1, sizeof(*f));
	if (!f)
		base_no_memory();
	if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, f) == n)
		ok = passes(filter_run(f, (u32)n, c));
	free(f);
	return ok ||
	       err_set(e, "its filter of system calls (seccomp) forbids call %u", (u32)c->number);
}

bool filter_allows(pid_t tid, u64 mode, const struct filter_call *c, struct err *e)
{
	bool more = true;

	if (mode == SECCOMP_MODE_STRICT)
		return err_set(e, "its filter of system calls (seccomp) forbids call %u",
		               (u32)c->number);
	for (u64 i = 0; mode && more; i++)
		if (!check_one(tid, i, c, &more, e))
			return false;
	return true;
}
