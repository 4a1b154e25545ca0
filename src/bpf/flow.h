/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What instructions read and write, where jumps lead, and which registers are still needed
 * after each instruction. For passes over finished code (after code_finish).
 */
#ifndef BPF_FLOW_H
#define BPF_FLOW_H

#include "bpf/code.h"

/* A jump to the next instruction does nothing: passes put it where they take one away, and
 * prune_code drops it. */
#define FLOW_NOTHING ((struct bpf_insn){ .code = BPF_JMP | BPF_JA })

struct flow {
	struct code *c;
	bool *target; /* control may come from elsewhere than the instruction before; n + 1 */
	bool loops;   /* a jump goes back */
	u16 *live;    /* registers (bit 0 is r0) needed after the instruction */
	u16 *needs;   /* and before it, at the last update; n + 1 */
};

/* Here and not in flow.c, because the passes ask these of every instruction again and again. */

/* Takes two slots. */
static inline bool flow_is_wide(const struct bpf_insn *in)
{
	return in->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static inline bool flow_is_goto(const struct bpf_insn *in)
{
	return in->code == (BPF_JMP | BPF_JA);
}

static inline bool flow_is_nothing(const struct bpf_insn *in)
{
	return flow_is_goto(in) && in->off == 0;
}

/* What an opcode does to its registers, and whether it is a jump. OTHER: calls, exit and atomics,
 * which say more elsewhere. */
enum {
	FLOW_READS_DST = 1,
	FLOW_READS_SRC = 2,
	FLOW_WRITES_DST = 4,
	FLOW_OTHER = 8,
	FLOW_JUMP = 16,
};
extern const u8 flow_shapes[256];

/* A conditional or unconditional jump, not a call and not exit. */
static inline bool flow_is_jump(const struct bpf_insn *in)
{
	return flow_shapes[in->code] & FLOW_JUMP;
}

/* Writes a register and does nothing else. */
static inline bool flow_is_pure(const struct bpf_insn *in)
{
	return flow_shapes[in->code] & FLOW_WRITES_DST &&
	       !(flow_is_wide(in) && in->src_reg == BPF_PSEUDO_FUNC);
}

u16 flow_reads_other(const struct bpf_insn *in);
u16 flow_writes_other(const struct bpf_insn *in);

/* Bits of the registers. A call writes r0 to r5. */
static inline u16 flow_reads(const struct bpf_insn *in)
{
	u8 shape = flow_shapes[in->code];

	if (shape & FLOW_OTHER)
		return flow_reads_other(in);
	return (u16)((shape & FLOW_READS_DST ? 1u << in->dst_reg : 0) |
	             (shape & FLOW_READS_SRC ? 1u << in->src_reg : 0));
}

static inline u16 flow_writes(const struct bpf_insn *in)
{
	u8 shape = flow_shapes[in->code];

	if (shape & FLOW_OTHER)
		return flow_writes_other(in);
	return (u16)(shape & FLOW_WRITES_DST ? 1u << in->dst_reg : 0);
}

/* Finds `target`; what is live is known after flow_update. */
void flow_open(struct flow *f, struct code *c);
/* Computes `live` anew after instructions changed. Targets stay as they were. */
void flow_update(struct flow *f);
/* Finds `target` anew, when instructions were taken out. */
void flow_targets(struct flow *f);
/* Takes away instruction i. */
void flow_remove(struct flow *f, u32 i);

#endif
