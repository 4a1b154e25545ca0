/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Disassembly. The opcode's low three bits choose the class, each class has one function that
 * either prints the whole instruction or says it is not one. 32-bit operations name their
 * registers w0...w10. Does not judge the program: that is check.c.
 */
#include "bpf/dis.h"

#include "bpf/helper.h"

#define OP(code) ((code) >> 4)

/* Operators of BPF_ALU and BPF_ALU64, by the opcode's upper half. */
static const char *const alu_ops[16] = {
	"+=",
	"-=",
	"*=",
	"/=",
	"|=",
	"&=",
	"<<=",
	">>=",
	[OP(BPF_MOD)] = "%=",
	[OP(BPF_XOR)] = "^=",
	[OP(BPF_MOV)] = "=",
	[OP(BPF_ARSH)] = "s>>=",
};

static const char *const jump_ops[16] = {
	[OP(BPF_JEQ)] = "==", [OP(BPF_JGT)] = ">",   [OP(BPF_JGE)] = ">=",   [OP(BPF_JSET)] = "&",
	[OP(BPF_JNE)] = "!=", [OP(BPF_JSGT)] = "s>", [OP(BPF_JSGE)] = "s>=", [OP(BPF_JLT)] = "<",
	[OP(BPF_JLE)] = "<=", [OP(BPF_JSLT)] = "s<", [OP(BPF_JSLE)] = "s<=",
};

static const char *size_name(u8 code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return "u8";
	case BPF_H:
		return "u16";
	case BPF_W:
		return "u32";
	default:
		return "u64";
	}
}

/* "*(u64 *)(r1 +8)" without the star. */
static void print_place(struct buf *b, u8 code, u8 base, s16 off)
{
	buf_printf(b, "(%s *)(r%u %+d)", size_name(code), base, off);
}

static bool print_alu(struct buf *b, const struct bpf_insn *i)
{
	char r = BPF_CLASS(i->code) == BPF_ALU64 ? 'r' : 'w';
	u8 op = BPF_OP(i->code);

	if (op == BPF_END) {
		if (r == 'r')
			return false;
		buf_printf(b, "r%u = %s%d r%u", i->dst_reg,
		           BPF_SRC(i->code) == BPF_TO_BE ? "be" : "le", i->imm, i->dst_reg);
		return true;
	}
	if (op == BPF_NEG) {
		buf_printf(b, "%c%u = -%c%u", r, i->dst_reg, r, i->dst_reg);
		return true;
	}
	if (!alu_ops[OP(op)])
		return false;
	buf_printf(b, "%c%u %s ", r, i->dst_reg, alu_ops[OP(op)]);
	if (BPF_SRC(i->code) == BPF_X)
		buf_printf(b, "%c%u", r, i->src_reg);
	else
		buf_printf(b, "%d", i->imm);
	return true;
}

static void print_call(struct buf *b, const struct bpf_insn *i)
{
	const char *name = helper_name((u32)i->imm);

	if (i->src_reg == BPF_PSEUDO_CALL)
		buf_printf(b, "call %+d", i->imm);
	else if (i->src_reg == BPF_PSEUDO_KFUNC_CALL)
		buf_printf(b, "call kfunc#%d", i->imm);
	else
		buf_printf(b, "call %s#%d", name ? name : "helper", i->imm);
}

static bool print_jump(struct buf *b, const struct bpf_insn *i)
{
	char r = BPF_CLASS(i->code) == BPF_JMP ? 'r' : 'w';
	u8 op = BPF_OP(i->code);

	if (i->code == (BPF_JMP | BPF_CALL)) {
		print_call(b, i);
	} else if (i->code == (BPF_JMP | BPF_EXIT)) {
		buf_puts(b, "exit");
	} else if (i->code == (BPF_JMP | BPF_JA)) {
		buf_printf(b, "goto %+d", i->off);
	} else if (jump_ops[OP(op)]) {
		buf_printf(b, "if %c%u %s ", r, i->dst_reg, jump_ops[OP(op)]);
		if (BPF_SRC(i->code) == BPF_X)
			buf_printf(b, "%c%u", r, i->src_reg);
		else
			buf_printf(b, "%d", i->imm);
		buf_printf(b, " goto %+d", i->off);
	} else {
		return false;
	}
	return true;
}

static const char *atomic_name(s32 op)
{
	switch (op & ~BPF_FETCH) {
	case BPF_ADD:
		return "add";
	case BPF_AND:
		return "and";
	case BPF_OR:
		return "or";
	case BPF_XOR:
		return "xor";
	default:
		return NULL;
	}
}

static bool print_atomic(struct buf *b, const struct bpf_insn *i)
{
	const char *name = atomic_name(i->imm);

	if (i->imm == BPF_XCHG || i->imm == BPF_CMPXCHG) {
		bool swap = i->imm == BPF_XCHG;

		buf_printf(b, "r%u = %s(", swap ? i->src_reg : 0, swap ? "xchg" : "cmpxchg");
		print_place(b, i->code, i->dst_reg, i->off);
		buf_printf(b, ", %sr%u)", swap ? "" : "r0, ", i->src_reg);
	} else if (name && (i->imm & BPF_FETCH)) {
		buf_printf(b, "r%u = atomic_fetch_%s(", i->src_reg, name);
		print_place(b, i->code, i->dst_reg, i->off);
		buf_printf(b, ", r%u)", i->src_reg);
	} else if (name) {
		buf_puts(b, "lock *");
		print_place(b, i->code, i->dst_reg, i->off);
		buf_printf(b, " %s r%u", alu_ops[OP(i->imm)], i->src_reg);
	} else {
		return false;
	}
	return true;
}

static bool print_memory(struct buf *b, const struct bpf_insn *i)
{
	u8 class = BPF_CLASS(i->code);

	if (class == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC)
		return print_atomic(b, i);
	if (BPF_MODE(i->code) != BPF_MEM)
		return false;
	if (class == BPF_LDX) {
		buf_printf(b, "r%u = *", i->dst_reg);
		print_place(b, i->code, i->src_reg, i->off);
		return true;
	}
	buf_putc(b, '*');
	print_place(b, i->code, i->dst_reg, i->off);
	if (class == BPF_STX)
		buf_printf(b, " = r%u", i->src_reg);
	else
		buf_printf(b, " = %d", i->imm);
	return true;
}

/* A 64-bit constant; src_reg says what it stands for. */
static bool print_wide(struct buf *b, const struct bpf_insn *i, u32 left)
{
	u64 value;

	if (i->code != (BPF_LD | BPF_IMM | BPF_DW) || left < 2)
		return false;
	value = (u64)(u32)i[1].imm << 32 | (u32)i[0].imm;
	buf_printf(b, "r%u = ", i->dst_reg);
	if (i->src_reg == BPF_PSEUDO_MAP_FD)
		buf_printf(b, "map[%d]", i[0].imm);
	else if (i->src_reg == BPF_PSEUDO_MAP_VALUE)
		buf_printf(b, "map_value[%d]%+d", i[0].imm, i[1].imm);
	else if (i->src_reg == BPF_PSEUDO_FUNC)
		buf_printf(b, "func %+d", i[0].imm);
	else
		buf_printf(b, "0x%llx", (unsigned long long)value);
	return true;
}

static bool print_any(struct buf *b, const struct bpf_insn *i, u32 left)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return print_alu(b, i);
	case BPF_JMP:
	case BPF_JMP32:
		return print_jump(b, i);
	case BPF_LD:
		return print_wide(b, i, left);
	default:
		return print_memory(b, i);
	}
}

u32 dis_insn(struct buf *b, const struct bpf_insn *i, u32 left)
{
	if (!print_any(b, i, left)) {
		buf_printf(b, ".insn 0x%02x r%u r%u %d %d", i->code, i->dst_reg, i->src_reg, i->off,
		           i->imm);
		return 1;
	}
	return BPF_CLASS(i->code) == BPF_LD ? 2 : 1;
}
