/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The self-check: mistakes of the code generator that need no knowledge of types or memory are
 * found here, with a short sentence, on any machine and without privilege.
 *
 * Three steps: every instruction by itself (shape), the edges between them (flow), and a fixpoint
 * over the set of registers that are surely written when an instruction is reached (reads).
 * It is not a verifier: pointers, bounds and helper argument kinds are the kernel's business.
 */
#include "interp/check.h"

#include <stdio.h>

#include "base/arena.h"
#include "bpf/dis.h"
#include "bpf/helper.h"

#define N_REGS      11u
#define FRAME       10u
#define STACK_BYTES 512
#define MAX_INSNS   1000000u

#define BIT(r)        ((u16)(1u << (r)))
#define CALL_CLOBBERS ((u16)0x3e) /* r1-r5 */

struct checker {
	const struct bpf_insn *insns;
	u32 n, n_maps;
	bool *tail;    /* per slot: second half of a 64-bit constant */
	u16 *written;  /* per instruction: registers written on every way to it */
	bool *reached; /* per instruction: some way leads here */
	u32 *todo;     /* reached, and its successors are to be visited */
	bool *queued;
	u32 n_todo;
	u32 at;
	struct err *e;
};

static bool fail(struct checker *c, u32 at, const char *why)
{
	struct buf text = { 0 };

	c->at = at;
	dis_insn(&text, &c->insns[at], c->n - at);
	err_set(c->e, "instruction %u (%s): %s", at, buf_text(&text), why);
	buf_free(&text);
	return false;
}

static bool is_wide(const struct bpf_insn *i)
{
	return i->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_func(const struct bpf_insn *i)
{
	return is_wide(i) && i->src_reg == BPF_PSEUDO_FUNC;
}

static bool is_call(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL);
}

/* Of a function of the program itself. */
static bool is_own_call(const struct bpf_insn *i)
{
	return is_call(i) && i->src_reg == BPF_PSEUDO_CALL;
}

static bool is_exit(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_EXIT);
}

static bool is_goto(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_JA);
}

static bool is_jump_class(const struct bpf_insn *i)
{
	return BPF_CLASS(i->code) == BPF_JMP || BPF_CLASS(i->code) == BPF_JMP32;
}

static bool is_branch(const struct bpf_insn *i)
{
	return is_jump_class(i) && !is_call(i) && !is_exit(i) && !is_goto(i);
}

/* ---- shape: one instruction by itself ------------------------------------------------------- */

/* The operand field that the source bit leaves unused must be zero. */
static bool operand_ok(const struct bpf_insn *i)
{
	return BPF_SRC(i->code) == BPF_X ? i->imm == 0 : i->src_reg == 0;
}

static const char *alu_problem(const struct bpf_insn *i)
{
	bool wide = BPF_CLASS(i->code) == BPF_ALU64;
	bool constant = BPF_SRC(i->code) == BPF_K;

	if (i->off)
		return "the offset of an arithmetic instruction must be 0";
	switch (BPF_OP(i->code)) {
	case BPF_END:
		if (wide || i->src_reg || (i->imm != 16 && i->imm != 32 && i->imm != 64))
			return "a byte swap is of 16, 32 or 64 bits";
		return NULL;
	case BPF_NEG:
		return i->src_reg || i->imm || !constant ? "negation takes no operand" : NULL;
	case BPF_DIV:
	case BPF_MOD:
		if (constant && i->imm == 0)
			return "division by the constant 0";
		break;
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		if (constant && (u32)i->imm >= (wide ? 64 : 32))
			return "the shift is wider than the register";
		break;
	case 0xe0:
	case 0xf0:
		return "unknown operation";
	}
	return operand_ok(i) ? NULL : "an unused field is not 0";
}

static const char *jump_problem(const struct bpf_insn *i)
{
	if (is_exit(i) || is_goto(i))
		return i->dst_reg || i->src_reg || i->imm ? "an unused field is not 0" : NULL;
	if (is_call(i)) {
		if (i->dst_reg || i->off || (i->src_reg && !is_own_call(i)))
			return "an unused field is not 0";
		return is_own_call(i) || (helper_name((u32)i->imm) && i->imm) ? NULL
		                                                              : "unknown helper";
	}
	if (BPF_OP(i->code) > BPF_JSLE || BPF_OP(i->code) == BPF_JA ||
	    BPF_OP(i->code) == BPF_CALL || BPF_OP(i->code) == BPF_EXIT)
		return "unknown operation";
	return operand_ok(i) ? NULL : "an unused field is not 0";
}

static const char *atomic_problem(const struct bpf_insn *i)
{
	if (BPF_SIZE(i->code) != BPF_W && BPF_SIZE(i->code) != BPF_DW)
		return "an atomic operation is on 4 or 8 bytes";
	switch (i->imm) {
	case BPF_ADD:
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
	case BPF_ADD | BPF_FETCH:
	case BPF_AND | BPF_FETCH:
	case BPF_OR | BPF_FETCH:
	case BPF_XOR | BPF_FETCH:
	case BPF_XCHG:
	case BPF_CMPXCHG:
		return NULL;
	default:
		return "unknown atomic operation";
	}
}

static u32 access_size(const struct bpf_insn *i)
{
	static const u8 sizes[] = { 4, 2, 1, 8 }; /* BPF_W, BPF_H, BPF_B, BPF_DW */

	return sizes[BPF_SIZE(i->code) >> 3];
}

static const char *memory_problem(const struct bpf_insn *i)
{
	u8 class = BPF_CLASS(i->code);
	u8 base = class == BPF_LDX ? i->src_reg : i->dst_reg;
	s32 size = (s32)access_size(i);

	if (class == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC) {
		const char *problem = atomic_problem(i);

		if (problem)
			return problem;
	} else if (BPF_MODE(i->code) != BPF_MEM) {
		return "unknown addressing mode";
	} else if (class == BPF_ST ? i->src_reg != 0 : i->imm != 0) {
		return "an unused field is not 0";
	}
	if (base != FRAME)
		return NULL;
	if (i->off < -STACK_BYTES || i->off + size > 0)
		return "outside the stack";
	return i->off % size ? "misaligned on the stack" : NULL;
}

static const char *wide_problem(const struct checker *c, u32 at)
{
	const struct bpf_insn *i = &c->insns[at], *next = i + 1;

	if (!is_wide(i))
		return "unknown operation";
	if (at + 1 >= c->n || next->code || next->dst_reg || next->src_reg || next->off)
		return "the second half of the constant is missing";
	if (i->off)
		return "an unused field is not 0";
	switch (i->src_reg) {
	case 0:
		return NULL;
	case BPF_PSEUDO_MAP_FD:
		if (next->imm)
			return "an unused field is not 0";
		break;
	case BPF_PSEUDO_MAP_VALUE:
		break;
	case BPF_PSEUDO_FUNC: /* check_jumps looks where it leads */
		return next->imm ? "an unused field is not 0" : NULL;
	default:
		return "unknown kind of constant";
	}
	return (u32)i->imm < c->n_maps ? NULL : "there is no such map";
}

static bool writes_dst(const struct bpf_insn *i)
{
	u8 class = BPF_CLASS(i->code);

	return class == BPF_ALU || class == BPF_ALU64 || class == BPF_LDX || class == BPF_LD;
}

static bool is_fetch(const struct bpf_insn *i)
{
	return BPF_CLASS(i->code) == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC &&
	       i->imm != BPF_CMPXCHG && (i->imm & BPF_FETCH);
}

static const char *insn_problem(const struct checker *c, u32 at)
{
	const struct bpf_insn *i = &c->insns[at];

	if (i->dst_reg >= N_REGS || (i->src_reg >= N_REGS && BPF_CLASS(i->code) != BPF_LD))
		return "there is no such register";
	if ((writes_dst(i) && i->dst_reg == FRAME) || (is_fetch(i) && i->src_reg == FRAME))
		return "r10 can not be written";
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return alu_problem(i);
	case BPF_JMP:
	case BPF_JMP32:
		return jump_problem(i);
	case BPF_LD:
		return wide_problem(c, at);
	default:
		return memory_problem(i);
	}
}

static bool check_shapes(struct checker *c)
{
	for (u32 at = 0; at < c->n; at++) {
		const char *problem = insn_problem(c, at);

		if (problem)
			return fail(c, at, problem);
		if (is_wide(&c->insns[at]))
			c->tail[++at] = true;
	}
	return true;
}

/* ---- flow: where each instruction goes ------------------------------------------------------ */

static bool check_jumps(struct checker *c)
{
	const struct bpf_insn *last = &c->insns[c->n - 1];

	for (u32 at = 0; at < c->n; at++) {
		const struct bpf_insn *i = &c->insns[at];
		bool names = is_func(i) || is_own_call(i);
		s64 target = (s64)at + 1 + (names ? i->imm : i->off);

		if (c->tail[at] || !(is_branch(i) || is_goto(i) || names))
			continue;
		if (target < 0 || target >= c->n)
			return fail(c, at, "the jump leaves the program");
		if (c->tail[target])
			return fail(c, at, "the jump lands inside a 64-bit constant");
	}
	if (c->tail[c->n - 1] || !(is_exit(last) || is_goto(last)))
		return fail(c, c->n - 1 - c->tail[c->n - 1], "the program runs past its end");
	return true;
}

/* ---- reads: registers that are surely written ----------------------------------------------- */

bool check_gives_nothing(u32 helper)
{
	return helper == BPF_FUNC_ringbuf_submit || helper == BPF_FUNC_ringbuf_discard ||
	       helper == BPF_FUNC_spin_lock || helper == BPF_FUNC_spin_unlock;
}

static u16 call_reads(const struct bpf_insn *i)
{
	u8 n = is_own_call(i) ? 1 : helper_get((u32)i->imm)->n_args;

	return n == HELPER_ARGS_UNKNOWN ? 0 : (u16)(((1u << n) - 1) << 1);
}

static u16 alu_reads(const struct bpf_insn *i)
{
	u8 op = BPF_OP(i->code);
	u16 reads = op == BPF_MOV ? 0 : BIT(i->dst_reg);

	if (op != BPF_END && BPF_SRC(i->code) == BPF_X)
		reads |= BIT(i->src_reg);
	return reads;
}

static u16 insn_reads(const struct bpf_insn *i)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return alu_reads(i);
	case BPF_LDX:
		return BIT(i->src_reg);
	case BPF_ST:
		return BIT(i->dst_reg);
	case BPF_STX:
		return BIT(i->dst_reg) | BIT(i->src_reg) | (i->imm == BPF_CMPXCHG ? BIT(0) : 0);
	case BPF_JMP:
	case BPF_JMP32:
		if (is_call(i))
			return call_reads(i);
		if (is_exit(i))
			return BIT(0);
		if (is_goto(i))
			return 0;
		return BIT(i->dst_reg) | (BPF_SRC(i->code) == BPF_X ? BIT(i->src_reg) : 0);
	default:
		return 0;
	}
}

static u16 written_after(const struct bpf_insn *i, u16 before)
{
	if (is_call(i)) {
		bool gives = is_own_call(i) || !check_gives_nothing((u32)i->imm);

		before &= (u16) ~(CALL_CLOBBERS | BIT(0));
		return gives ? before | BIT(0) : before;
	}
	if (writes_dst(i))
		return before | BIT(i->dst_reg);
	if (is_fetch(i))
		return before | BIT(i->src_reg);
	return before;
}

/* One more way to `to`, on which `written` is written. */
static void arrive(struct checker *c, u32 to, u16 written)
{
	u16 both = c->reached[to] ? c->written[to] & written : written;

	if (c->reached[to] && both == c->written[to])
		return;
	c->written[to] = both;
	c->reached[to] = true;
	if (!c->queued[to]) {
		c->queued[to] = true;
		c->todo[c->n_todo++] = to;
	}
}

static bool step(struct checker *c, u32 at)
{
	const struct bpf_insn *i = &c->insns[at];
	u16 missing = insn_reads(i) & (u16)~c->written[at];
	u16 after = written_after(i, c->written[at]);
	char why[48];

	if (missing) {
		snprintf(why, sizeof(why), "r%d is read before it is written",
		         __builtin_ctz(missing));
		return fail(c, at, why);
	}
	if (is_func(i)) /* a callback starts with its own registers: r1 to r5 and the frame */
		arrive(c, (u32)((s64)at + 1 + i->imm), (u16)(0x3e | BIT(FRAME)));
	if (is_own_call(i))
		arrive(c, (u32)((s64)at + 1 + i->imm), (u16)(BIT(1) | BIT(FRAME)));
	if (is_goto(i) || is_branch(i))
		arrive(c, (u32)((s64)at + 1 + i->off), after);
	if (!is_goto(i) && !is_exit(i))
		arrive(c, at + 1 + is_wide(i), after);
	return true;
}

static bool check_reads(struct checker *c)
{
	arrive(c, 0, BIT(1) | BIT(FRAME));
	while (c->n_todo) {
		u32 at = c->todo[--c->n_todo];

		c->queued[at] = false;
		if (!step(c, at))
			return false;
	}
	for (u32 at = 0; at < c->n; at++)
		if (!c->reached[at] && !c->tail[at])
			return fail(c, at, "it can not be reached");
	return true;
}

bool check_insns(const struct bpf_insn *insns, u32 n, u32 n_maps, u32 *at, struct err *e)
{
	struct arena arena = { 0 };
	struct checker c = { .insns = insns, .n = n, .n_maps = n_maps, .e = e };
	bool ok;

	*at = 0;
	if (n == 0 || n > MAX_INSNS)
		return err_set(e, "a program of %u instructions; 1 to %u are possible", n,
		               MAX_INSNS);
	c.tail = arena_array(&arena, bool, n);
	c.written = arena_array(&arena, u16, n);
	c.reached = arena_array(&arena, bool, n);
	c.queued = arena_array(&arena, bool, n);
	c.todo = arena_array(&arena, u32, n);
	ok = check_shapes(&c) && check_jumps(&c) && check_reads(&c);
	*at = c.at;
	arena_free(&arena);
	return ok;
}
