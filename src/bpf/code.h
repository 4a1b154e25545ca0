/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A BPF program under construction: instructions appended in order, labels
 * bound later, and for every instruction the place in the script it came from.
 * No kernel, no script types: only the instruction set
 * (Documentation/bpf/standardization/instruction-set.rst in the kernel tree).
 */
#ifndef BPF_CODE_H
#define BPF_CODE_H

#include "base/arena.h"
#include "base/err.h"
#include "bpf/uapi.h"

/* Registers by role: r0 result, r1-r5 arguments and lost over calls, r6-r9 kept, r10 frame. */
enum reg { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

struct code_fixup {
	u32 insn, label;
};

struct code {
	struct arena *arena;
	VEC(struct bpf_insn) insns;
	VEC(u32) locs;   /* per instruction: `loc` when it was added */
	VEC(s32) labels; /* instruction index, -1 while unbound */
	VEC(struct code_fixup) fixups;
	VEC(u32) funcs; /* instruction indexes where callbacks and functions start, ascending */
	u32 loc;        /* source offset given to instructions added from now on */
	bool no_fetch;  /* the kernel is before 5.12: no atomic says what was there before */
};

void code_init(struct code *c, struct arena *a);
void code_add(struct code *c, struct bpf_insn insn);

/* 64-bit dst = dst op src / imm; op is BPF_ADD ... BPF_ARSH, BPF_MOV. */
void code_alu(struct code *c, u8 op, enum reg dst, enum reg src);
void code_alu_imm(struct code *c, u8 op, enum reg dst, s32 imm);
/* The same on the low 32 bits; the upper half becomes zero. */
void code_alu32(struct code *c, u8 op, enum reg dst, enum reg src);
void code_alu32_imm(struct code *c, u8 op, enum reg dst, s32 imm);
void code_mov(struct code *c, enum reg dst, enum reg src); /* nothing when dst == src */
/* Any 64-bit constant, in one or two instruction slots. */
void code_const(struct code *c, enum reg dst, u64 value);
/* Swap bytes of the low `bits` (16, 32, 64) from host to big-endian order. */
void code_bswap(struct code *c, enum reg dst, u32 bits);
/* size is 1, 2, 4 or 8 bytes; loads zero-extend. */
void code_load(struct code *c, u32 size, enum reg dst, enum reg base, s32 off);
void code_store(struct code *c, u32 size, enum reg base, s32 off, enum reg src);
void code_store_imm(struct code *c, u32 size, enum reg base, s32 off, s32 imm);
/* 8-byte atomic: op BPF_ADD or BPF_CMPXCHG (compares with r0). */
void code_atomic(struct code *c, u32 op, enum reg base, s32 off, enum reg src);
/*
 * old = the word, which n is added to (which becomes n). With no_fetch it is several instructions,
 * which may be interrupted: of two that add at once both may get the later number, and of two that
 * exchange both the same one; what is added is never lost.
 */
void code_fetch_add(struct code *c, enum reg base, s32 off, enum reg old, s32 n);
void code_exchange(struct code *c, enum reg base, s32 off, enum reg old, s32 n);
void code_call(struct code *c, u32 helper);
void code_exit(struct code *c);

/* dst = map number `map` of the unit; the loader replaces it by the descriptor. */
void code_map(struct code *c, enum reg dst, u32 map);
/* dst = address of byte `off` in the value of the one-element array map `map`. */
void code_map_value(struct code *c, enum reg dst, u32 map, u32 off);

/* dst = the callback that starts at `label`. */
void code_func(struct code *c, enum reg dst, u32 label);
/* r0 = the function that starts at `label`, of the number in r1. */
void code_call_func(struct code *c, u32 label);
/* A callback or function starts here; what is before must not run into it. */
void code_func_start(struct code *c, u32 label);

/* A reference to a callback, or a call of a function: imm is the distance to its first instruction
 * from the next slot. */
static inline bool code_names_func(const struct bpf_insn *in)
{
	return (in->code == (BPF_LD | BPF_IMM | BPF_DW) && in->src_reg == BPF_PSEUDO_FUNC) ||
	       (in->code == (BPF_JMP | BPF_CALL) && in->src_reg == BPF_PSEUDO_CALL);
}

u32 code_label(struct code *c);
void code_bind(struct code *c, u32 label);
void code_goto(struct code *c, u32 label);
/* if (dst op src/imm) goto label; op is BPF_JEQ, BPF_JGT, BPF_JSGT, ... on 64 bits. */
void code_if(struct code *c, u8 op, enum reg dst, enum reg src, u32 label);
void code_if_imm(struct code *c, u8 op, enum reg dst, s32 imm, u32 label);

/* Patches all jumps and references to callbacks. False when a jump is longer than 32767
 * instructions. */
bool code_finish(struct code *c, struct err *e);
/* What the kernel loads a program with at most (MAX_USED_MAPS). */
#define CODE_MAPS_MAX 64u
bool code_fits_maps(const struct code *c);

#endif
