/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads, writes, targets and liveness. Liveness goes backwards over the instructions, again and
 * again until nothing changes: programs are short and their loops few, so two or three rounds.
 */
#include "bpf/flow.h"

#include <string.h>

#include "bpf/helper.h"

#define ARGS 0x3eu /* r1 to r5 */

static u16 bit(u32 reg)
{
	return (u16)(1u << reg);
}

static bool is_atomic(const struct bpf_insn *in)
{
	return BPF_CLASS(in->code) == BPF_STX && BPF_MODE(in->code) == BPF_ATOMIC;
}

static u16 reads_alu(const struct bpf_insn *in)
{
	u8 op = BPF_OP(in->code);
	u16 src = BPF_SRC(in->code) == BPF_X && op != BPF_END ? bit(in->src_reg) : 0;

	return (u16)(op == BPF_MOV ? src : src | bit(in->dst_reg));
}

static u16 reads_call(const struct bpf_insn *in)
{
	u32 n = in->src_reg ? HELPER_ARGS_UNKNOWN : helper_get((u32)in->imm)->n_args;

	return n >= 5 ? ARGS : (u16)(((1u << n) - 1) << 1);
}

static u16 reads_jump(const struct bpf_insn *in)
{
	u8 op = BPF_OP(in->code);

	if (op == BPF_JA)
		return 0;
	if (op == BPF_EXIT)
		return bit(R0);
	if (op == BPF_CALL)
		return reads_call(in);
	return (u16)(bit(in->dst_reg) | (BPF_SRC(in->code) == BPF_X ? bit(in->src_reg) : 0));
}

u16 flow_reads(const struct bpf_insn *in)
{
	switch (BPF_CLASS(in->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return reads_alu(in);
	case BPF_LDX:
		return bit(in->src_reg);
	case BPF_ST:
		return bit(in->dst_reg);
	case BPF_STX:
		return (u16)(bit(in->dst_reg) | bit(in->src_reg) |
		             (is_atomic(in) && in->imm == BPF_CMPXCHG ? bit(R0) : 0));
	case BPF_JMP:
	case BPF_JMP32:
		return reads_jump(in);
	default:
		return 0;
	}
}

u16 flow_writes(const struct bpf_insn *in)
{
	switch (BPF_CLASS(in->code)) {
	case BPF_ALU:
	case BPF_ALU64:
	case BPF_LDX:
		return bit(in->dst_reg);
	case BPF_LD:
		return in->code ? bit(in->dst_reg) : 0;
	case BPF_STX:
		if (!is_atomic(in) || !(in->imm & BPF_FETCH))
			return 0;
		return in->imm == BPF_CMPXCHG ? bit(R0) : bit(in->src_reg);
	case BPF_JMP:
		return BPF_OP(in->code) == BPF_CALL ? ARGS | bit(R0) : 0;
	default:
		return 0;
	}
}

static u32 jump_target(u32 i, const struct bpf_insn *in)
{
	return (u32)((s32)i + 1 + in->off);
}

void flow_targets(struct flow *f)
{
	const struct code *c = f->c;

	memset(f->target, 0, (c->insns.n + 1) * sizeof(*f->target));
	f->target[0] = true;
	for (u32 i = 0; i < c->insns.n; i++) {
		const struct bpf_insn *in = &c->insns.v[i];

		if (flow_is_jump(in) && !flow_is_nothing(in))
			f->target[jump_target(i, in)] = true;
		if (flow_is_wide(in))
			i++;
	}
	for (u32 i = 0; i < c->funcs.n; i++)
		f->target[c->funcs.v[i]] = true;
}

static enum flow_next next_of(const struct bpf_insn *in)
{
	if (in->code == (BPF_JMP | BPF_EXIT))
		return FLOW_ENDS;
	if (flow_is_goto(in))
		return FLOW_GOES;
	return flow_is_jump(in) ? FLOW_MAY_GO : FLOW_GOES_ON;
}

static void note_insn(struct flow *f, u32 i)
{
	const struct bpf_insn *in = &f->c->insns.v[i];

	f->notes[i] = (struct flow_note){ flow_reads(in), flow_writes(in), next_of(in) };
}

/* What is needed before instruction i, with `live` needed behind it. */
static u16 live_before(const struct flow *f, u32 i, u16 live)
{
	return (u16)((live & ~f->notes[i].writes) | f->notes[i].reads);
}

/* One way through the program from its end. True when a jump back must hear of a change. */
static bool update_once(struct flow *f)
{
	u16 before = 0; /* needed before the instruction behind this one */
	bool again = false;

	for (u32 i = f->c->insns.n; i-- > 0;) {
		enum flow_next next = f->notes[i].next;
		u16 live = next == FLOW_GOES_ON || next == FLOW_MAY_GO ? before : 0;

		if (next == FLOW_GOES || next == FLOW_MAY_GO) {
			u32 to = jump_target(i, &f->c->insns.v[i]);

			/* Of a jump back, what the way before this one found. */
			live |= live_before(f, to, f->live[to]);
			again |= to <= i;
		}
		f->changed |= live != f->live[i];
		f->live[i] = live;
		before = live_before(f, i, live);
	}
	return again;
}

void flow_update(struct flow *f)
{
	memset(f->live, 0, f->c->insns.n * sizeof(*f->live));
	for (u32 i = 0; i < f->c->insns.n; i++)
		note_insn(f, i);
	do {
		f->changed = false;
	} while (update_once(f) && f->changed);
}

void flow_open(struct flow *f, struct code *c)
{
	f->c = c;
	f->target = arena_array(c->arena, bool, c->insns.n + 1);
	f->live = arena_array(c->arena, u16, c->insns.n + 1);
	f->notes = arena_array(c->arena, struct flow_note, c->insns.n + 1);
	flow_targets(f);
}

void flow_remove(struct flow *f, u32 i)
{
	struct bpf_insn *in = &f->c->insns.v[i];

	if (flow_is_wide(in))
		in[1] = FLOW_NOTHING;
	*in = FLOW_NOTHING;
}
