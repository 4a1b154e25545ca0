/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Moving values between registers and places in memory. What a place is based on decides which
 * register its address is in (emit.h); no place costs more than one load to get at.
 */
#include "gen/emit.h"

struct mem mem_at(struct mem m, s32 off)
{
	m.off += off;
	return m;
}

/* The register to address m with; `tmp` may be loaded for it. */
static enum reg base_reg(struct gen *g, struct mem m, enum reg tmp)
{
	switch (m.base) {
	case MEM_STACK:
		return g->frame;
	case MEM_OWN:
		return R10;
	case MEM_SCRATCH:
		if (g->scratch != R0)
			return g->scratch;
		g->found.scratch_home |= g->frame != R10;
		code_load(&g->c, 8, tmp, g->frame, SCRATCH_HOME);
		return tmp;
	case MEM_POINTER:
		if (m.reg != R0)
			return m.reg;
		code_load(&g->c, 8, tmp, g->frame, m.home);
		return tmp;
	}
	unreachable();
}

void mem_addr(struct gen *g, struct mem m, enum reg dst)
{
	code_mov(&g->c, dst, base_reg(g, m, dst));
	if (m.off)
		code_alu_imm(&g->c, BPF_ADD, dst, m.off);
}

/* The kernel copies it onto itself. Other memory than the stack it does not follow. */
void mem_forget(struct gen *g, struct mem m, u32 size)
{
	if (m.base != MEM_STACK)
		return;
	mem_addr(g, m, R1);
	code_const(&g->c, R2, size);
	code_mov(&g->c, R3, R1);
	code_call(&g->c, BPF_FUNC_probe_read_kernel);
}

void mem_load(struct gen *g, u32 size, enum reg dst, struct mem m)
{
	code_load(&g->c, size, dst, base_reg(g, m, dst), m.off);
}

void mem_store(struct gen *g, u32 size, struct mem m, enum reg src)
{
	code_store(&g->c, size, base_reg(g, m, R5), m.off, src);
}

void mem_store_imm(struct gen *g, u32 size, struct mem m, s32 imm)
{
	code_store_imm(&g->c, size, base_reg(g, m, R5), m.off, imm);
}

void mem_store_const(struct gen *g, struct mem m, u64 value)
{
	code_const(&g->c, R0, value);
	mem_store(g, 8, m, R0);
}

#define ZERO_INLINE 128u

/*
 * Long runs are zeroed by asking the kernel to read address 0: the read is refused at
 * once and the helper clears the whole destination, which costs one call for any length.
 */
void mem_zero(struct gen *g, struct mem m, u32 from, u32 to)
{
	enum reg base;

	if (from >= to)
		return;
	if (to - from > ZERO_INLINE) {
		mem_addr(g, mem_at(m, (s32)from), R1);
		code_const(&g->c, R2, to - from);
		code_const(&g->c, R3, 0);
		code_call(&g->c, BPF_FUNC_probe_read_kernel);
		return;
	}
	base = base_reg(g, m, R5);
	while (from < to) {
		u32 size = from % 8 == 0 && to - from >= 8   ? 8
		           : from % 4 == 0 && to - from >= 4 ? 4
		                                             : 1;

		code_store_imm(&g->c, size, base, m.off + (s32)from, 0);
		from += size;
	}
}

void mem_copy(struct gen *g, struct mem dst, struct mem src, u32 size)
{
	enum reg from, to;

	if (size > ZERO_INLINE) {
		mem_addr(g, dst, R1);
		code_const(&g->c, R2, size);
		mem_addr(g, src, R3);
		code_call(&g->c, BPF_FUNC_probe_read_kernel);
		return;
	}
	from = base_reg(g, src, R4);
	to = base_reg(g, dst, R5);
	for (u32 i = 0; i < size; i += 8) {
		code_load(&g->c, 8, R3, from, src.off + (s32)i);
		code_store(&g->c, 8, to, dst.off + (s32)i, R3);
	}
}

void mem_load_any(struct gen *g, u32 size, enum reg dst, struct mem m)
{
	if (m.base != MEM_STACK || (u32)-m.off % size == 0) {
		mem_load(g, size, dst, m);
		return;
	}
	mem_load(g, 1, dst, mem_at(m, (s32)size - 1));
	for (u32 i = size - 1; i-- > 0;) {
		code_alu_imm(&g->c, BPF_LSH, dst, 8);
		mem_load(g, 1, R1, mem_at(m, (s32)i));
		code_alu(&g->c, BPF_OR, dst, R1);
	}
}

void mem_copy_any(struct gen *g, struct mem dst, struct mem src, u32 size)
{
	u32 step = 8, i = 0;
	enum reg from, to;

	if (size > ZERO_INLINE) {
		mem_copy(g, dst, src, size);
		return;
	}
	while (src.base == MEM_STACK && (u32)-src.off % step)
		step /= 2;
	from = base_reg(g, src, R4);
	to = base_reg(g, dst, R5);
	for (; i < size; i += step) {
		while (i + step > size)
			step /= 2;
		code_load(&g->c, step, R3, from, src.off + (s32)i);
		code_store(&g->c, step, to, dst.off + (s32)i, R3);
	}
}

struct mem mem_of_pointer(struct gen *g, enum reg src)
{
	struct mem m = { .base = MEM_POINTER, .reg = frame_reg(g) };

	if (m.reg == R0) {
		m.home = frame_pointer(g);
		code_store(&g->c, 8, g->frame, m.home, src);
	} else {
		code_mov(&g->c, m.reg, src);
	}
	return m;
}
