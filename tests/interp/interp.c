/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interpreter's loop and its face to the tests. One instruction is one call of step(); the
 * run stops at exit, at the first thing the verifier would not allow, or when it has taken
 * too many steps. Arithmetic follows the instruction set's rules: division by 0 gives 0,
 * modulo by 0 leaves the value, shift counts are masked, 32-bit results are zero-extended.
 */
#include "interp/interp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/machine.h"

void *machine_fail(struct interp *in, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (in->failed)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(in->e, "%s, instruction %u: %s", in->prog->name, in->pc, text);
	in->failed = true;
	return NULL;
}

/* ---- registers ------------------------------------------------------------------------------ */

static u64 get(struct interp *in, u8 r)
{
	if (r > 10 || !(in->written >> r & 1)) {
		machine_fail(in, "r%u is read before it is written", r);
		return 0;
	}
	return in->regs[r];
}

static void set(struct interp *in, u8 r, u64 value)
{
	if (r > 9) {
		machine_fail(in, "r%u can not be written", r);
		return;
	}
	in->regs[r] = value;
	in->written |= (u16)(1u << r);
}

/* The second operand: a register or the sign-extended constant. */
static u64 operand(struct interp *in, const struct bpf_insn *i)
{
	return BPF_SRC(i->code) == BPF_X ? get(in, i->src_reg) : (u64)(s64)i->imm;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static u64 arsh(u64 a, u64 b, bool wide)
{
	return wide ? (u64)((s64)a >> (b & 63)) : (u64)(s64)((s32)a >> (b & 31));
}

static u64 alu(struct interp *in, u8 op, u64 a, u64 b, bool wide)
{
	u64 mask = wide ? 63 : 31;

	if (!wide) {
		a = (u32)a;
		b = (u32)b;
	}
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_MOD:
		return b ? a % b : a;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & mask);
	case BPF_RSH:
		return a >> (b & mask);
	case BPF_ARSH:
		return arsh(a, b, wide);
	case BPF_MOV:
		return b;
	case BPF_NEG:
		return -a;
	default:
		machine_fail(in, "unknown arithmetic 0x%x", op);
		return 0;
	}
}

static u64 swap_bytes(struct interp *in, const struct bpf_insn *i, u64 v)
{
	bool big = BPF_SRC(i->code) == BPF_TO_BE;

	switch (i->imm) {
	case 16:
		return big ? __builtin_bswap16((u16)v) : (u16)v;
	case 32:
		return big ? __builtin_bswap32((u32)v) : (u32)v;
	case 64:
		return big ? __builtin_bswap64(v) : v;
	default:
		machine_fail(in, "a swap of %d bits", i->imm);
		return 0;
	}
}

static void step_alu(struct interp *in, const struct bpf_insn *i)
{
	bool wide = BPF_CLASS(i->code) == BPF_ALU64;
	u8 op = BPF_OP(i->code);
	u64 a = op == BPF_MOV ? 0 : get(in, i->dst_reg);
	u64 r;

	if (op == BPF_END)
		r = swap_bytes(in, i, a);
	else
		r = alu(in, op, a, op == BPF_NEG ? 0 : operand(in, i), wide);
	set(in, i->dst_reg, wide || op == BPF_END ? r : (u32)r);
}

/* ---- memory --------------------------------------------------------------------------------- */

static u32 access_size(const struct bpf_insn *i)
{
	static const u8 sizes[] = { 4, 2, 1, 8 }; /* BPF_W, BPF_H, BPF_B, BPF_DW */

	return sizes[BPF_SIZE(i->code) >> 3];
}

static void step_atomic(struct interp *in, const struct bpf_insn *i)
{
	u64 addr = get(in, i->dst_reg) + (u64)(s64)i->off, src = get(in, i->src_reg), old;
	u32 size = access_size(i);

	if (size < 4 || addr % size)
		machine_fail(in, "misaligned or narrow atomic operation");
	if (!memory_load(in, addr, size, &old))
		return;
	if (i->imm == BPF_CMPXCHG) {
		if (old == get(in, 0))
			memory_store(in, addr, size, src);
		set(in, 0, old);
	} else if (i->imm == BPF_XCHG) {
		memory_store(in, addr, size, src);
		set(in, i->src_reg, old);
	} else {
		memory_store(in, addr, size,
		             alu(in, (u8)(i->imm & ~BPF_FETCH), old, src, size == 8));
		if (i->imm & BPF_FETCH)
			set(in, i->src_reg, old);
	}
}

static void step_memory(struct interp *in, const struct bpf_insn *i)
{
	u8 class = BPF_CLASS(i->code);
	u64 value;

	if (class == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC) {
		step_atomic(in, i);
	} else if (BPF_MODE(i->code) != BPF_MEM) {
		machine_fail(in, "unknown addressing mode in 0x%x", i->code);
	} else if (class == BPF_LDX) {
		if (memory_load(in, get(in, i->src_reg) + (u64)(s64)i->off, access_size(i), &value))
			set(in, i->dst_reg, value);
	} else {
		value = class == BPF_STX ? get(in, i->src_reg) : (u64)(s64)i->imm;
		memory_store(in, get(in, i->dst_reg) + (u64)(s64)i->off, access_size(i), value);
	}
}

/* A 64-bit constant: a number, a map's handle, or an address in an array map's value. */
static void step_wide(struct interp *in, const struct bpf_insn *i)
{
	u64 value = (u64)(u32)i[1].imm << 32 | (u32)i[0].imm;

	if (i->code != (BPF_LD | BPF_IMM | BPF_DW)) {
		machine_fail(in, "unknown instruction 0x%x", i->code);
		return;
	}
	if (i->src_reg == BPF_PSEUDO_FUNC)
		value = FUNC_BASE + in->pc + 1 + (u32)i->imm;
	else if (i->src_reg && (u32)i->imm >= in->u->maps.n)
		machine_fail(in, "there is no map %d", i->imm);
	if (i->src_reg == BPF_PSEUDO_MAP_FD)
		value = MAP_BASE + (u32)i->imm;
	else if (i->src_reg == BPF_PSEUDO_MAP_VALUE)
		value = VALUE_BASE + (u32)i->imm * VALUE_STEP + (u32)i[1].imm;
	set(in, i->dst_reg, value);
	in->pc++;
}

/* ---- jumps ---------------------------------------------------------------------------------- */

static bool compare(struct interp *in, u8 op, u64 a, u64 b, bool wide)
{
	s64 sa = wide ? (s64)a : (s32)a, sb = wide ? (s64)b : (s32)b;

	if (!wide) {
		a = (u32)a;
		b = (u32)b;
	}
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JSET:
		return a & b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	default:
		machine_fail(in, "unknown jump 0x%x", op);
		return false;
	}
}

/* A function of the program, of the number in r1. */
static void own_call(struct interp *in, s32 distance)
{
	u64 args[4] = { get(in, 1) };
	u64 result = machine_callback(in, FUNC_BASE + in->pc + 1 + (u64)(s64)distance, args);

	in->written &= (u16)~0x3eu;
	set(in, 0, result);
}

static void step_jump(struct interp *in, const struct bpf_insn *i)
{
	bool wide = BPF_CLASS(i->code) == BPF_JMP;

	if (i->code == (BPF_JMP | BPF_CALL) && !i->src_reg)
		helper_call(in, (u32)i->imm);
	else if (i->code == (BPF_JMP | BPF_CALL))
		own_call(in, i->imm);
	else if (i->code == (BPF_JMP | BPF_JA))
		in->pc += (u32)(s32)i->off;
	else if (compare(in, BPF_OP(i->code), get(in, i->dst_reg), operand(in, i), wide))
		in->pc += (u32)(s32)i->off;
}

/* ---- a run ---------------------------------------------------------------------------------- */

/* False at exit and after a failure. */
static bool step(struct interp *in)
{
	const struct bpf_insn *i;

	if (in->pc >= in->prog->n_insns) {
		machine_fail(in, "outside of the program");
		return false;
	}
	i = &in->prog->insns[in->pc];
	if (i->code == (BPF_JMP | BPF_EXIT)) {
		get(in, 0);
		return false;
	}
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		step_alu(in, i);
		break;
	case BPF_JMP:
	case BPF_JMP32:
		step_jump(in, i);
		break;
	case BPF_LD:
		step_wide(in, i);
		break;
	default:
		step_memory(in, i);
	}
	in->pc += !in->failed;
	if (++in->steps >= in->env.max_steps)
		machine_fail(in, "more than %llu instructions",
		             (unsigned long long)in->env.max_steps);
	return !in->failed;
}

u64 machine_callback(struct interp *in, u64 func, const u64 *args)
{
	u32 pc = in->pc;
	u16 written = in->written;
	u64 regs[11];

	memcpy(regs, in->regs, sizeof(regs));
	memcpy(in->regs + 1, args, 4 * sizeof(u64));
	in->regs[10] -= STACK_BYTES;
	if (in->regs[10] < STACK_BASE + STACK_BYTES)
		machine_fail(in, "more than 8 calls in each other");
	else
		memset(in->stack_written + (in->regs[10] - STACK_BYTES - STACK_BASE), false,
		       STACK_BYTES);
	in->written = 0x41e; /* r1-r4, r10 */
	in->pc = (u32)(func - FUNC_BASE);
	while (!in->failed && step(in))
		;
	regs[0] = in->regs[0];
	memcpy(in->regs, regs, sizeof(regs));
	in->written = written;
	in->pc = pc;
	return regs[0];
}

static void start(struct interp *in, u32 prog, const void *ctx, u32 ctx_size)
{
	static const u8 nothing;

	in->prog = &in->u->progs.v[prog];
	in->ctx = ctx ? ctx : &nothing;
	in->ctx_size = ctx ? ctx_size : 0;
	in->regs[1] = CTX_BASE;
	in->regs[10] = STACK_BASE + STACKS_BYTES;
	in->written = 1u << 1 | 1u << 10;
	memset(in->stack, 0xa5, sizeof(in->stack));
	memset(in->stack_written, false, sizeof(in->stack_written));
	in->pc = 0;
	in->steps = 0;
	in->failed = false;
}

bool interp_run(struct interp *in, u32 prog, const void *ctx, u32 ctx_size, struct err *e)
{
	in->e = e;
	start(in, prog, ctx, ctx_size);
	while (step(in))
		;
	for (u32 i = 0; i < in->ring.n; i++)
		if (in->ring.v[i].state == SLOT_RESERVED)
			machine_fail(in, "a reserved record was neither submitted nor discarded");
	return !in->failed;
}

/* ---- what tests see ------------------------------------------------------------------------- */

struct interp *interp_new(const struct unit *u)
{
	struct interp *in = calloc(1, sizeof(*in));

	if (!in)
		abort();
	in->u = u;
	in->env = (struct interp_env){ .boot_ns = 1000000000,
		                       .tick_ns = 1000,
		                       .comm = "interp",
		                       .pid_tgid = 42ull << 32 | 43,
		                       .max_steps = 1000000 };
	in->maps = arena_array(&in->arena, struct map_state, u->maps.n);
	for (u32 i = 0; i < u->maps.n; i++)
		map_state_init(in, i);
	return in;
}

void interp_free(struct interp *in)
{
	if (!in)
		return;
	arena_free(&in->arena);
	buf_free(&in->trace);
	free(in);
}

struct interp_env *interp_env(struct interp *in)
{
	return &in->env;
}

void interp_memory(struct interp *in, u64 addr, const void *bytes, u32 n)
{
	struct outside o = { addr, (u8 *)arena_strndup(&in->arena, bytes, n), n };

	vec_add(&in->arena, &in->outside, o);
}

u64 interp_result(const struct interp *in)
{
	return in->regs[0];
}

u64 interp_steps(const struct interp *in)
{
	return in->steps;
}

void *interp_find(struct interp *in, u32 map, const void *key)
{
	s64 slot = map_slot(&in->maps[map], key);

	return slot < 0 ? NULL : map_value_at(&in->maps[map], (u32)slot);
}

void interp_each(struct interp *in, u32 map,
                 bool (*cb)(void *ctx, const void *key, const void *value), void *ctx)
{
	const struct map_state *m = &in->maps[map];
	/* Without key the second element is the other generation. */
	u32 n = m->def->turn && !m->def->key ? 1 : m->def->max_entries;

	for (u32 i = 0; i < n; i++)
		if (m->used[i] &&
		    !cb(ctx, m->keys + (size_t)i * m->def->key_size, map_value_at(m, i)))
			return;
}

u32 interp_count(const struct interp *in, u32 map)
{
	return in->maps[map].n;
}

bool interp_put(struct interp *in, u32 map, const void *key, const void *value)
{
	return map_update(&in->maps[map], key, value, BPF_ANY) == 0;
}

void interp_clear(struct interp *in, u32 map, bool keep_keys)
{
	map_clear(&in->maps[map], keep_keys);
}

u64 interp_data(struct interp *in, u32 word)
{
	s32 map = unit_map(in->u, UMAP_DATA);
	u64 value = 0;

	if (map >= 0 && word * 8 < in->maps[map].def->value_size)
		memcpy(&value, map_value_at(&in->maps[map], 0) + (size_t)word * 8, 8);
	return value;
}

u32 interp_n_records(const struct interp *in)
{
	u32 n = 0;

	for (u32 i = 0; i < in->ring.n; i++)
		n += in->ring.v[i].state == SLOT_SUBMITTED;
	return n;
}

struct interp_record interp_record(const struct interp *in, u32 n)
{
	for (u32 i = 0; i < in->ring.n; i++)
		if (in->ring.v[i].state == SLOT_SUBMITTED && n-- == 0)
			return (struct interp_record){ in->ring.v[i].bytes, in->ring.v[i].size };
	return (struct interp_record){ NULL, 0 };
}

const char *interp_trace(struct interp *in)
{
	return buf_text(&in->trace);
}

void interp_drain(struct interp *in)
{
	buf_reset(&in->trace);
	in->ring.n = 0;
	in->ring_used = 0;
}
