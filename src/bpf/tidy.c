/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a tree walk leaves on the table. Each expression leaves its value in r0, whoever wants it
 * elsewhere copies it, and a value that waits is copied to and fro. Three small steps, repeated
 * until nothing changes, work on straight pieces of code:
 *
 *     r0 = *(r6 +8)      forward   where r7 is read r0 is read instead, while both are the same
 *     r7 = r0            backward  what made r0 makes r7 at once when r0 is not needed any more
 *     *(r8 +0) = r7      unneeded  a register that nobody reads is not written
 *
 * and a word of the frame is not loaded back while the register it was stored from still has it.
 *
 * Calls, jumps and memory are never moved or dropped (a load may be: it has no effect). The copies
 * tested by conditional jumps stay, because the kernel's verifier learns bounds there.
 */
#include "bpf/tidy.h"

#include "bpf/flow.h"
#include "bpf/prune.h"

#define ROUNDS 8u

static bool is_copy(const struct bpf_insn *in)
{
	return in->code == (BPF_ALU64 | BPF_MOV | BPF_X) && in->off == 0;
}

static bool touches(const struct bpf_insn *in, u32 reg)
{
	return (flow_reads(in) | flow_writes(in)) >> reg & 1;
}

/* ---- unneeded ------------------------------------------------------------------------------- */

static bool drop_unneeded(struct flow *f)
{
	bool changed = false;

	for (u32 i = 0; i < f->c->insns.n; i++) {
		const struct bpf_insn *in = &f->c->insns.v[i];
		bool wide = flow_is_wide(in);

		/* The second half of a wide instruction passes on what is live after it. */
		if (flow_is_pure(in) && !(flow_writes(in) & f->live[i])) {
			flow_remove(f, i);
			changed = true;
		}
		i += wide;
	}
	return changed;
}

/* ---- forward -------------------------------------------------------------------------------- */

static bool is_plain_store(const struct bpf_insn *in)
{
	u8 class = BPF_CLASS(in->code);

	return class == BPF_ST || (class == BPF_STX && (BPF_MODE(in->code) != BPF_ATOMIC ||
	                                                !((u32)in->imm & BPF_FETCH)));
}

/* Reads of `copy` become reads of `from` where an instruction can read any register. */
static bool replace_reads(struct bpf_insn *in, u32 copy, u32 from)
{
	u8 class = BPF_CLASS(in->code);
	bool changed = false, alu = class == BPF_ALU || class == BPF_ALU64;

	if ((class == BPF_LDX || is_plain_store(in) ||
	     (alu && BPF_SRC(in->code) == BPF_X && BPF_OP(in->code) != BPF_END)) &&
	    class != BPF_ST && in->src_reg == copy) {
		in->src_reg = from & 0xf;
		changed = true;
	}
	if (is_plain_store(in) && in->dst_reg == copy) {
		in->dst_reg = from & 0xf;
		changed = true;
	}
	return changed;
}

/* Instruction i is `copy = from`: uses `from` instead of `copy` as far as both are the same. */
static bool propagate(struct flow *f, u32 i)
{
	u32 copy = f->c->insns.v[i].dst_reg, from = f->c->insns.v[i].src_reg;
	bool changed = false;

	for (u32 k = i + 1; k < f->c->insns.n && !f->target[k]; k++) {
		struct bpf_insn *in = &f->c->insns.v[k];
		bool tests = flow_is_jump(in) && !flow_is_nothing(in);

		if (tests && (flow_is_goto(in) || touches(in, copy) || touches(in, from)))
			break;
		changed |= replace_reads(in, copy, from);
		if ((flow_writes(in) >> copy | flow_writes(in) >> from) & 1)
			break;
	}
	return changed;
}

static bool go_forward(struct flow *f)
{
	bool changed = false;

	for (u32 i = 0; i < f->c->insns.n; i++) {
		const struct bpf_insn *in = &f->c->insns.v[i];

		if (is_copy(in) && in->src_reg != R10)
			changed |= propagate(f, i);
		i += flow_is_wide(in);
	}
	return changed;
}

/* ---- backward ------------------------------------------------------------------------------- */

/* Where the value of `reg` that instruction i copies to `to` is made from nothing older, with
 * nothing between that would notice if it were made in `to`. -1: there is no such place. */
static s64 find_origin(const struct flow *f, u32 i, u32 reg, u32 to)
{
	for (u32 k = i; k-- > 0;) {
		const struct bpf_insn *in = &f->c->insns.v[k];
		bool half = k > 0 && flow_is_wide(&f->c->insns.v[k - 1]);

		if (f->target[k + 1])
			return -1;
		if (half || flow_is_nothing(in))
			continue;
		if (flow_is_pure(in) && in->dst_reg == reg) {
			bool again = flow_reads(in) >> reg & 1 && BPF_CLASS(in->code) != BPF_LDX;

			if (!again)
				return k;
			if (flow_reads(in) >> to & 1)
				return -1;
			continue;
		}
		if (touches(in, to) || flow_writes(in) >> reg & 1 || flow_is_jump(in) ||
		    BPF_CLASS(in->code) == BPF_JMP)
			return -1;
		if (flow_reads(in) >> reg & 1 && !is_plain_store(in) &&
		    BPF_CLASS(in->code) != BPF_LDX)
			return -1;
	}
	return -1;
}

/* Instructions [first, last) work in `to` instead of `reg`. */
static void rename_between(struct flow *f, u32 first, u32 last, u32 reg, u32 to)
{
	for (u32 k = first; k < last; k++) {
		struct bpf_insn *in = &f->c->insns.v[k];
		bool pure = flow_is_pure(in);

		f->live[k] = (u16)((f->live[k] & ~(1u << reg)) | 1u << to);
		if (flow_is_nothing(in) || !in->code)
			continue;
		if (k > first)
			replace_reads(in, reg, to);
		if (pure && in->dst_reg == reg)
			in->dst_reg = to & 0xf;
	}
}

static bool go_backward(struct flow *f)
{
	bool changed = false;

	for (u32 i = 0; i < f->c->insns.n; i++) {
		struct bpf_insn in = f->c->insns.v[i];
		s64 origin;

		if (is_copy(&in) && in.src_reg != R10 && in.src_reg != in.dst_reg &&
		    !(f->live[i] >> in.src_reg & 1)) {
			origin = find_origin(f, i, in.src_reg, in.dst_reg);
			if (origin >= 0) {
				rename_between(f, (u32)origin, i, in.src_reg, in.dst_reg);
				flow_remove(f, i);
				changed = true;
			}
		}
		i += flow_is_wide(&in);
	}
	return changed;
}

/* ---- stored words --------------------------------------------------------------------------- */

static bool is_word_of_frame(const struct bpf_insn *in, u8 code)
{
	return in->code == code &&
	       (code == (BPF_LDX | BPF_MEM | BPF_DW) ? in->src_reg : in->dst_reg) == R10;
}

/* Instruction i stores a register in a word of the frame: where the word is loaded while both are
 * the same, the register is taken. */
static bool use_stored(struct flow *f, u32 i)
{
	struct bpf_insn store = f->c->insns.v[i];
	bool changed = false;

	for (u32 k = i + 1; k < f->c->insns.n && !f->target[k]; k++) {
		struct bpf_insn *in = &f->c->insns.v[k];
		u8 class = BPF_CLASS(in->code);

		if (is_word_of_frame(in, BPF_LDX | BPF_MEM | BPF_DW) && in->off == store.off) {
			*in = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,
				                 .dst_reg = in->dst_reg,
				                 .src_reg = store.src_reg };
			if (in->dst_reg == in->src_reg)
				*in = FLOW_NOTHING;
			changed = true;
		}
		if (class == BPF_ST || class == BPF_STX || flow_writes(in) >> store.src_reg & 1 ||
		    (class == BPF_JMP && !flow_is_nothing(in)))
			break;
	}
	return changed;
}

static bool use_all_stored(struct flow *f)
{
	bool changed = false;

	for (u32 i = 0; i < f->c->insns.n; i++) {
		const struct bpf_insn *in = &f->c->insns.v[i];

		if (is_word_of_frame(in, BPF_STX | BPF_MEM | BPF_DW))
			changed |= use_stored(f, i);
		i += flow_is_wide(in);
	}
	return changed;
}

/* ---- jumps ---------------------------------------------------------------------------------- */

static u8 inverse(u8 op)
{
	static const u8 pairs[][2] = { { BPF_JEQ, BPF_JNE },
		                       { BPF_JGT, BPF_JLE },
		                       { BPF_JGE, BPF_JLT },
		                       { BPF_JSGT, BPF_JSLE },
		                       { BPF_JSGE, BPF_JSLT } };

	for (u32 i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (op == pairs[i][0])
			return pairs[i][1];
		if (op == pairs[i][1])
			return pairs[i][0];
	}
	return 0;
}

/* "if (c) goto over; goto there; over:" is "if (!c) goto there". */
static bool turn_jumps(struct flow *f)
{
	bool changed = false;

	for (u32 i = 0; i + 1 < f->c->insns.n; i++) {
		struct bpf_insn *in = &f->c->insns.v[i];
		s32 there = in[1].off + 1;

		if (flow_is_wide(in)) {
			i++;
			continue;
		}
		if (!flow_is_jump(in) || flow_is_goto(in) || in->off != 1 ||
		    !flow_is_goto(&in[1]) || flow_is_nothing(&in[1]) || f->target[i + 1] ||
		    there != (s16)there || !inverse(BPF_OP(in->code)))
			continue;
		in->code = (u8)((in->code & ~0xf0) | inverse(BPF_OP(in->code)));
		in->off = (s16)there;
		in[1] = FLOW_NOTHING;
		changed = true;
	}
	return changed;
}

/* A jump to a jump goes where that one goes, which nobody may come to any more. */
static bool follow_jumps(struct code *c)
{
	bool changed = false;

	for (u32 i = 0; i < c->insns.n; i++) {
		struct bpf_insn *in = &c->insns.v[i];

		if (flow_is_wide(in)) {
			i++;
			continue;
		}
		for (u32 k = 0; k < ROUNDS && flow_is_jump(in) && !flow_is_nothing(in); k++) {
			const struct bpf_insn *at = in + 1 + in->off;
			s32 far = in->off + 1 + at->off;

			if (!flow_is_goto(at) || far != (s16)far || far == 0 || at == in)
				break;
			in->off = (s16)far;
			changed = true;
		}
	}
	return changed;
}

/* ---- all of it ------------------------------------------------------------------------------ */

void tidy_code(struct code *c)
{
	struct flow f;
	bool changed = true, stale = true;

	flow_open(&f, c);
	for (u32 round = 0; changed && round < ROUNDS; round++) {
		changed = use_all_stored(&f);
		changed |= go_forward(&f);
		if (changed || stale)
			flow_update(&f);
		changed |= go_backward(&f);
		stale = drop_unneeded(&f); /* forward asks for jumps only, not for what is live */
		changed |= stale;
	}
	prune_code(c);
	flow_targets(&f);
	if (turn_jumps(&f))
		prune_code(c);
	if (follow_jumps(c))
		prune_code(c);
}
