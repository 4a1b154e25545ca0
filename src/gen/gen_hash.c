/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hash(value): 64 bits that are the same for the same value, evenly spread, to choose some of many
 * keys or to name one in a small record. Word by word a multiplication and a shift; words that are
 * zero are passed over, so that what stands after the end of a string does not matter. Who wants to
 * find two values with one hash will find them.
 */
#include "gen/emit.h"

#define START  0x243f6a8885a308d3u /* digits of pi */
#define FACTOR 0x9e3779b97f4a7c15u /* 2^64 / the golden ratio */

/* r0 = mixed r0; r4 is FACTOR, r3 is lost. */
static void mix(struct code *c)
{
	code_alu(c, BPF_MUL, R0, R4);
	code_mov(c, R3, R0);
	code_alu_imm(c, BPF_RSH, R3, 32);
	code_alu(c, BPF_XOR, R0, R3);
}

/* r0 = hash of the words of m. */
static void hash_words(struct gen *g, struct mem m, u32 size)
{
	struct code *c = &g->c;
	u32 top = code_label(c), next = code_label(c);

	mem_addr(g, m, R1);
	code_const(c, R2, 0);
	code_const(c, R4, FACTOR);
	code_const(c, R0, START);
	code_bind(c, top);
	code_load(c, 8, R3, R1, 0);
	code_if_imm(c, BPF_JEQ, R3, 0, next);
	code_alu(c, BPF_XOR, R0, R3);
	code_alu(c, BPF_ADD, R0, R2);
	mix(c);
	code_bind(c, next);
	code_alu_imm(c, BPF_ADD, R1, 8);
	code_alu_imm(c, BPF_ADD, R2, 8);
	code_if_imm(c, BPF_JLT, R2, (s32)size, top);
}

void gen_hash(struct gen *g, const struct node *n)
{
	const struct node *what = n->call.args;
	const struct type *t = what->type;
	struct code *c = &g->c;

	if (type_is_scalar(t)) {
		gen_value(g, what);
		code_const(c, R4, FACTOR);
		code_const(c, R3, START);
		code_alu(c, BPF_XOR, R0, R3);
		mix(c);
	} else {
		struct mem copy = frame_alloc(g, type_slot(t));

		gen_store(g, what, t, copy, true);
		hash_words(g, copy, type_slot(t));
	}
	mix(c);
	mix(c);
}
