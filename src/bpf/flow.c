/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads, writes, targets and liveness. Liveness goes backwards over the instructions, again and
 * again until nothing changes: programs are short and their loops few, so two or three rounds.
 */
#include "bpf/flow.h"

#include <string.h>

#include "bpf/helper.h"

#define ARGS 0x3eu /* r1 to r5 */

/* ---- registers of an instruction -------------------------------------------------------------- */

/* Passes ask this of every instruction many times, so it is worked out for all opcodes at once. */
#define SRC(code) (BPF_SRC(code) == BPF_X ? FLOW_READS_SRC : 0)
#define ALU(code)                                                                                  \
	(FLOW_WRITES_DST | (BPF_OP(code) == BPF_MOV ? 0 : FLOW_READS_DST) |                        \
	 (BPF_OP(code) == BPF_END ? 0 : SRC(code)))
#define STX(code) (BPF_MODE(code) == BPF_ATOMIC ? FLOW_OTHER : FLOW_READS_DST | FLOW_READS_SRC)
#define JUMP(code)                                                                                 \
	(BPF_OP(code) == BPF_JA                                 ? 0                                \
	 : BPF_OP(code) == BPF_EXIT || BPF_OP(code) == BPF_CALL ? FLOW_OTHER                       \
	                                                        : FLOW_READS_DST | SRC(code))
#define SHAPE(code)                                                                                \
	(BPF_CLASS(code) == BPF_ALU || BPF_CLASS(code) == BPF_ALU64 ? ALU(code)                    \
	 : BPF_CLASS(code) == BPF_LDX ? FLOW_WRITES_DST | FLOW_READS_SRC                           \
	 : BPF_CLASS(code) == BPF_ST  ? FLOW_READS_DST                                             \
	 : BPF_CLASS(code) == BPF_STX ? STX(code)                                                  \
	 : BPF_CLASS(code) == BPF_LD  ? ((code) ? FLOW_WRITES_DST : 0)                             \
	                              : JUMP(code))
#define SHAPES4(code)  SHAPE(code), SHAPE((code) + 1), SHAPE((code) + 2), SHAPE((code) + 3)
#define SHAPES16(code) SHAPES4(code), SHAPES4((code) + 4), SHAPES4((code) + 8), SHAPES4((code) + 12)
#define SHAPES64(code)                                                                             \
	SHAPES16(code), SHAPES16((code) + 16), SHAPES16((code) + 32), SHAPES16((code) + 48)

const u8 flow_shapes[256] = { SHAPES64(0), SHAPES64(64), SHAPES64(128), SHAPES64(192) };

static u16 reads_call(const struct bpf_insn *in)
{
	u32 n = in->src_reg ? HELPER_ARGS_UNKNOWN : helper_get((u32)in->imm)->n_args;

	return n >= 5 ? ARGS : (u16)(((1u << n) - 1) << 1);
}

u16 flow_reads_other(const struct bpf_insn *in)
{
	if (BPF_CLASS(in->code) == BPF_STX)
		return (u16)(1u << in->dst_reg | 1u << in->src_reg |
		             (in->imm == BPF_CMPXCHG ? 1u << R0 : 0));
	return BPF_OP(in->code) == BPF_EXIT ? 1u << R0 : reads_call(in);
}

u16 flow_writes_other(const struct bpf_insn *in)
{
	if (BPF_CLASS(in->code) == BPF_STX) {
		if (!(in->imm & BPF_FETCH))
			return 0;
		return (u16)(1u << (in->imm == BPF_CMPXCHG ? R0 : in->src_reg));
	}
	return BPF_OP(in->code) == BPF_CALL ? ARGS | 1u << R0 : 0;
}

/* ---- jumps and liveness ----------------------------------------------------------------------- */

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

/* One way through the program from its end. True when a jump back has not heard of a change. */
static bool update_once(struct flow *f)
{
	bool jumps_back = false, changed = false;

	for (u32 i = f->c->insns.n; i-- > 0;) {
		const struct bpf_insn *in = &f->c->insns.v[i];
		bool ends = flow_is_goto(in) || in->code == (BPF_JMP | BPF_EXIT);
		u16 live = ends ? 0 : f->needs[i + 1], needs;

		if (flow_is_jump(in)) {
			u32 to = jump_target(i, in);

			/* Of a jump back, what the way before this one found. */
			live |= f->needs[to];
			jumps_back |= to <= i;
		}
		needs = (u16)((live & ~flow_writes(in)) | flow_reads(in));
		changed |= f->target[i] && needs != f->needs[i];
		f->live[i] = live;
		f->needs[i] = needs;
	}
	return jumps_back && changed;
}

void flow_update(struct flow *f)
{
	memset(f->needs, 0, (f->c->insns.n + 1) * sizeof(*f->needs));
	while (update_once(f))
		;
}

void flow_open(struct flow *f, struct code *c)
{
	f->c = c;
	f->target = arena_array(c->arena, bool, c->insns.n + 1);
	f->live = arena_array(c->arena, u16, c->insns.n + 1);
	f->needs = arena_array(c->arena, u16, c->insns.n + 1);
	flow_targets(f);
}

void flow_remove(struct flow *f, u32 i)
{
	struct bpf_insn *in = &f->c->insns.v[i];

	if (flow_is_wide(in))
		in[1] = FLOW_NOTHING;
	*in = FLOW_NOTHING;
}
