/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Appending instructions and patching jumps. One constructor per instruction
 * shape; see code.h. Does not check types or memory: the kernel does.
 */
#include "bpf/code.h"

#include <assert.h>

#define CODE_FIRST 64u

void code_init(struct code *c, struct arena *a)
{
	*c = (struct code){ .arena = a };
	c->insns.cap = c->locs.cap = CODE_FIRST;
	c->insns.v = arena_array(a, struct bpf_insn, CODE_FIRST);
	c->locs.v = arena_array(a, u32, CODE_FIRST);
}

void code_add(struct code *c, struct bpf_insn insn)
{
	vec_add(c->arena, &c->insns, insn);
	vec_add(c->arena, &c->locs, c->loc);
}

static void add(struct code *c, u8 opcode, u8 dst, u8 src, s16 off, s32 imm)
{
	code_add(c,
	         (struct bpf_insn){
			 .code = opcode, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm });
}

void code_alu(struct code *c, u8 op, enum reg dst, enum reg src)
{
	add(c, BPF_ALU64 | BPF_X | op, dst, src, 0, 0);
}

void code_alu_imm(struct code *c, u8 op, enum reg dst, s32 imm)
{
	add(c, BPF_ALU64 | BPF_K | op, dst, 0, 0, imm);
}

void code_alu32(struct code *c, u8 op, enum reg dst, enum reg src)
{
	add(c, BPF_ALU | BPF_X | op, dst, src, 0, 0);
}

void code_alu32_imm(struct code *c, u8 op, enum reg dst, s32 imm)
{
	add(c, BPF_ALU | BPF_K | op, dst, 0, 0, imm);
}

void code_mov(struct code *c, enum reg dst, enum reg src)
{
	if (dst != src)
		code_alu(c, BPF_MOV, dst, src);
}

/* The two-slot load of a 64-bit constant; src says what the constant means. */
static void load_imm64(struct code *c, u8 dst, u8 src, u32 low, u32 high)
{
	add(c, BPF_LD | BPF_IMM | BPF_DW, dst, src, 0, (s32)low);
	add(c, 0, 0, 0, 0, (s32)high);
}

void code_const(struct code *c, enum reg dst, u64 value)
{
	if ((s64)value == (s32)value)
		code_alu_imm(c, BPF_MOV, dst, (s32)value);
	else if (value <= UINT32_MAX)
		code_alu32_imm(c, BPF_MOV, dst, (s32)value);
	else
		load_imm64(c, dst, 0, (u32)value, (u32)(value >> 32));
}

void code_bswap(struct code *c, enum reg dst, u32 bits)
{
	add(c, BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, (s32)bits);
}

static u8 width(u32 size)
{
	switch (size) {
	case 1:
		return BPF_B;
	case 2:
		return BPF_H;
	case 4:
		return BPF_W;
	default:
		assert(size == 8);
		return BPF_DW;
	}
}

void code_load(struct code *c, u32 size, enum reg dst, enum reg base, s32 off)
{
	assert(off == (s16)off);
	add(c, BPF_LDX | BPF_MEM | width(size), dst, base, (s16)off, 0);
}

void code_store(struct code *c, u32 size, enum reg base, s32 off, enum reg src)
{
	assert(off == (s16)off);
	add(c, BPF_STX | BPF_MEM | width(size), base, src, (s16)off, 0);
}

void code_store_imm(struct code *c, u32 size, enum reg base, s32 off, s32 imm)
{
	assert(off == (s16)off);
	add(c, BPF_ST | BPF_MEM | width(size), base, 0, (s16)off, imm);
}

void code_atomic(struct code *c, u32 op, enum reg base, s32 off, enum reg src)
{
	assert(off == (s16)off);
	add(c, BPF_STX | BPF_ATOMIC | BPF_DW, base, src, (s16)off, (s32)op);
}

void code_fetch_add(struct code *c, enum reg base, s32 off, enum reg old, s32 n)
{
	code_const(c, old, (u64)(s64)n);
	code_atomic(c, BPF_ADD | (c->no_fetch ? 0 : BPF_FETCH), base, off, old);
	if (!c->no_fetch)
		return;
	code_load(c, 8, old, base, off);
	code_alu_imm(c, BPF_SUB, old, n);
}

void code_exchange(struct code *c, enum reg base, s32 off, enum reg old, s32 n)
{
	if (c->no_fetch) {
		code_load(c, 8, old, base, off);
		code_store_imm(c, 8, base, off, n);
		return;
	}
	code_const(c, old, (u64)(s64)n);
	code_atomic(c, BPF_XCHG, base, off, old);
}

void code_call(struct code *c, u32 helper)
{
	add(c, BPF_JMP | BPF_CALL, 0, 0, 0, (s32)helper);
}

void code_exit(struct code *c)
{
	add(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

void code_map(struct code *c, enum reg dst, u32 map)
{
	load_imm64(c, dst, BPF_PSEUDO_MAP_FD, map, 0);
}

void code_map_value(struct code *c, enum reg dst, u32 map, u32 off)
{
	load_imm64(c, dst, BPF_PSEUDO_MAP_VALUE, map, off);
}

void code_func(struct code *c, enum reg dst, u32 label)
{
	struct code_fixup f = { c->insns.n, label };

	vec_add(c->arena, &c->fixups, f);
	load_imm64(c, dst, BPF_PSEUDO_FUNC, 0, 0);
}

void code_call_func(struct code *c, u32 label)
{
	struct code_fixup f = { c->insns.n, label };

	vec_add(c->arena, &c->fixups, f);
	add(c, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0);
}

void code_func_start(struct code *c, u32 label)
{
	vec_add(c->arena, &c->funcs, c->insns.n);
	code_bind(c, label);
}

u32 code_label(struct code *c)
{
	vec_add(c->arena, &c->labels, -1);
	return c->labels.n - 1;
}

void code_bind(struct code *c, u32 label)
{
	assert(c->labels.v[label] < 0);
	c->labels.v[label] = (s32)c->insns.n;
}

static void jump(struct code *c, u8 opcode, u8 dst, u8 src, s32 imm, u32 label)
{
	struct code_fixup f = { c->insns.n, label };

	vec_add(c->arena, &c->fixups, f);
	add(c, opcode, dst, src, 0, imm);
}

void code_goto(struct code *c, u32 label)
{
	jump(c, BPF_JMP | BPF_JA, 0, 0, 0, label);
}

void code_if(struct code *c, u8 op, enum reg dst, enum reg src, u32 label)
{
	jump(c, BPF_JMP | BPF_X | op, dst, src, 0, label);
}

void code_if_imm(struct code *c, u8 op, enum reg dst, s32 imm, u32 label)
{
	jump(c, BPF_JMP | BPF_K | op, dst, 0, imm, label);
}

static bool names_map(const struct bpf_insn *in)
{
	return in->code == (BPF_LD | BPF_IMM | BPF_DW) &&
	       (in->src_reg == BPF_PSEUDO_MAP_FD || in->src_reg == BPF_PSEUDO_MAP_VALUE);
}

bool code_fits_maps(const struct code *c)
{
	s32 maps[CODE_MAPS_MAX];
	u32 n = 0;

	for (u32 i = 0; i < c->insns.n; i++) {
		const struct bpf_insn *in = &c->insns.v[i];
		u32 k = 0;

		if (!names_map(in))
			continue;
		while (k < n && maps[k] != in->imm)
			k++;
		if (k == CODE_MAPS_MAX)
			return false;
		if (k == n)
			maps[n++] = in->imm;
	}
	return true;
}

bool code_finish(struct code *c, struct err *e)
{
	for (u32 i = 0; i < c->fixups.n; i++) {
		struct code_fixup f = c->fixups.v[i];
		s32 target = c->labels.v[f.label];
		s32 distance = target - (s32)f.insn - 1;

		assert(target >= 0);
		if (code_names_func(&c->insns.v[f.insn])) {
			c->insns.v[f.insn].imm = distance;
			continue;
		}
		if (distance != (s16)distance)
			return err_set(e,
			               "the program is too long: a jump spans %d instructions, "
			               "at most 32767 are possible",
			               distance);
		c->insns.v[f.insn].off = (s16)distance;
	}
	return true;
}
