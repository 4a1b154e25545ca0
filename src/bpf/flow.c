/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads, writes, targets and liveness. Liveness goes backwards over the instructions: once, and
 * again until nothing changes where a jump goes back, so two or three times.
 */
#include "bpf/flow.h"

#include <string.h>

#include "bpf/helper.h"

#define ARGS 0x3eu /* r1 to r5 */

/* ---- registers of an instruction ------------------------------------------------------------ */

/* Passes ask this of every instruction many times, so it is worked out for all opcodes at once. */
#define SRC(code) (BPF_SRC(code) == BPF_X ? FLOW_READS_SRC : 0)
#define ALU(code)                                                                                  \
	(FLOW_WRITES_DST | (BPF_OP(code) == BPF_MOV ? 0 : FLOW_READS_DST) |                        \
	 (BPF_OP(code) == BPF_END ? 0 : SRC(code)))
#define STX(code) (BPF_MODE(code) == BPF_ATOMIC ? FLOW_OTHER : FLOW_READS_DST | FLOW_READS_SRC)
#define JUMP(code)                                                                                 \
	(BPF_OP(code) == BPF_JA ? FLOW_JUMP                                                        \
	 : BPF_OP(code) == BPF_EXIT || BPF_OP(code) == BPF_CALL                                    \
	         ? FLOW_OTHER                                                                      \
	         : FLOW_JUMP | FLOW_READS_DST | SRC(code))
#define SHAPE(code)                                                                                \
	(BPF_CLASS(code) == BPF_ALU || BPF_CLASS(code) == BPF_ALU64 ? ALU(code)                    \
	 : BPF_CLASS(code) == BPF_LDX ? FLOW_WRITES_DST | FLOW_READS_SRC                           \
	 : BPF_CLASS(code) == BPF_ST  ? FLOW_READS_DST                                             \
	 : BPF_CLASS(code) == BPF_STX ? STX(code)                                                  \
	 : BPF_CLASS(code) == BPF_LD                                                               \
	         ? ((code) == (BPF_LD | BPF_IMM | BPF_DW) ? FLOW_WRITES_DST : 0)                   \
	         : JUMP(code))
#define SHAPES4(code)  SHAPE(code), SHAPE((code) + 1), SHAPE((code) + 2), SHAPE((code) + 3)
#define SHAPES16(code) SHAPES4(code), SHAPES4((code) + 4), SHAPES4((code) + 8), SHAPES4((code) + 12)
#define SHAPES64(code)                                                                             \
	SHAPES16(code), SHAPES16((code) + 16), SHAPES16((code) + 32), SHAPES16((code) + 48)

const u8 flow_shapes[256] = { SHAPES64(0), SHAPES64(64), SHAPES64(128), SHAPES64(192) };

static u16 reads_call(const struct bpf_insn *in)
{
	const struct helper *h = helper_get((u32)in->imm);

	if (in->src_reg == BPF_PSEUDO_CALL) /* the program's own: code_call_func() */
		return 1u << R1;
	if (in->src_reg || h->is_variadic || h->n_args >= 5)
		return ARGS;
	return (u16)(((1u << h->n_args) - 1) << 1);
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

/* ---- jumps and liveness --------------------------------------------------------------------- */

static u32 jump_target(u32 i, const struct bpf_insn *in)
{
	return (u32)((s32)i + 1 + in->off);
}

void flow_targets(struct flow *f)
{
	const struct code *c = f->c;

	memset(f->target, 0, (c->insns.n + 1) * sizeof(*f->target));
	f->target[0] = true;
	f->loops = false;
	for (u32 i = 0; i < c->insns.n; i++) {
		const struct bpf_insn *in = &c->insns.v[i];

		if (flow_is_jump(in) && !flow_is_nothing(in)) {
			f->target[jump_target(i, in)] = true;
			f->loops |= in->off < 0;
		}
	}
	for (u32 i = 0; i < c->funcs.n; i++)
		f->target[c->funcs.v[i]] = true;
}

/* Instruction i is a jump, a call or exit: what is needed after it, when the next one needs
 * that. */
static u16 live_behind(const struct flow *f, u32 i, u16 next)
{
	const struct bpf_insn *in = &f->c->insns.v[i];

	if (flow_is_goto(in) || in->code == (BPF_JMP | BPF_EXIT))
		next = 0;
	/* Of a jump back, what the way before this one found. */
	return flow_is_jump(in) ? next | f->needs[jump_target(i, in)] : next;
}

/* What instruction i needs of the registers that are needed after it. */
static inline u16 needs_before(const struct bpf_insn *in, u8 shape, u16 live)
{
	u32 dst = 1u << in->dst_reg, src = 1u << in->src_reg;

	if (shape & FLOW_OTHER)
		return (u16)((live & ~flow_writes_other(in)) | flow_reads_other(in));
	if (shape & FLOW_WRITES_DST)
		live = (u16)(live & ~dst);
	return (u16)(live | (shape & FLOW_READS_DST ? dst : 0) |
	             (shape & FLOW_READS_SRC ? src : 0));
}

/* One way through the program from its end. True when a jump back has not heard of a change. */
static bool update_once(struct flow *f)
{
	const struct bpf_insn *insns = f->c->insns.v;
	const bool *target = f->loops ? f->target : NULL;
	u16 *live_at = f->live, *needs_at = f->needs, needs = 0;
	bool changed = false;

	for (u32 i = f->c->insns.n; i-- > 0;) {
		u8 shape = flow_shapes[insns[i].code];

		if (shape & (FLOW_JUMP | FLOW_OTHER))
			needs = live_behind(f, i, needs);
		live_at[i] = needs;
		needs = needs_before(&insns[i], shape, needs);
		if (target && target[i] && needs != needs_at[i])
			changed = true;
		needs_at[i] = needs;
	}
	return changed;
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
