/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Places: the stack frame, scratch memory, and saved values. All are given out and
 * taken back in stack order by marks.
 *
 *    r10-8                 address of the scratch slot (programs that use one)
 *    r10-16 ... downwards  variables, then temporaries
 *    scratch+8 ... upwards what is too big or does not fit
 *
 * Small things prefer the stack: blobs leave BLOB_REST of it, words WORD_REST.
 */
#include "gen/emit.h"

#define BLOB_MAX   136u /* a larger piece goes to scratch at once */
#define BLOB_REST  128u /* left for words ... */
#define WORD_REST  64u  /* ... and for what can not rest in scratch */
#define CALL_BYTES 32u  /* what a callback takes of the 512 bytes at least */
#define CALLS_MAX  5u   /* callbacks in callbacks */

static u32 stack_room(const struct gen *g)
{
	return g->assume.callbacks ? STACK_BYTES - CALLS_MAX * CALL_BYTES : STACK_BYTES;
}

struct mark frame_mark(struct gen *g)
{
	return g->used;
}

void frame_release(struct gen *g, struct mark m)
{
	g->used = m;
}

static struct mem scratch_alloc(struct gen *g, u32 size)
{
	struct mem m = { .base = MEM_SCRATCH, .off = (s32)g->used.scratch };

	g->found.scratch = true;
	g->used.scratch += size;
	if (g->used.scratch > SCRATCH_LIMIT) {
		g->used.scratch = SCRATCH_LIMIT;
		m.off = SCRATCH_FIRST;
		if (!g->failed)
			gen_error(g, (struct loc){ g->c.loc, 1 },
			          "this probe needs more than %u bytes of memory for its strings "
			          "and tuples",
			          SCRATCH_LIMIT);
	}
	g->scratch_peak = MAX(g->scratch_peak, g->used.scratch);
	return m;
}

struct mem frame_alloc(struct gen *g, u32 size)
{
	u32 limit = stack_room(g) - (size > 8 ? BLOB_REST : WORD_REST);

	size = ROUND_UP(MAX(size, 8u), 8u);
	if (size > BLOB_MAX || g->used.stack + size > limit)
		return scratch_alloc(g, size);
	g->used.stack += size;
	return (struct mem){ .base = MEM_STACK, .off = -(s32)g->used.stack };
}

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

/* A free one of r7-r9, or R0. */
static enum reg take_reg(struct gen *g)
{
	for (enum reg r = R7; r <= R9; r++) {
		if (!(g->used.regs & (1u << (r - R7)))) {
			g->used.regs |= (u8)(1u << (r - R7));
			return r;
		}
	}
	return R0;
}

struct temp temp_of_reg(struct gen *g)
{
	enum reg r = take_reg(g);

	return (struct temp){ .in_reg = r != R0, .reg = r };
}

struct temp temp_save(struct gen *g, enum reg src)
{
	enum reg r = take_reg(g);
	struct temp t = { .in_reg = r != R0, .reg = r };

	if (t.in_reg) {
		code_mov(&g->c, r, src);
	} else {
		t.mem = frame_alloc(g, 8);
		mem_store(g, 8, t.mem, src);
	}
	return t;
}

void temp_load(struct gen *g, struct temp t, enum reg dst)
{
	if (t.in_reg)
		code_mov(&g->c, dst, t.reg);
	else
		mem_load(g, 8, dst, t.mem);
}

static s32 take_word(struct gen *g, u32 *used, u32 room)
{
	*used += 8;
	if (*used > room) {
		*used = room;
		if (!g->failed)
			gen_error(g, (struct loc){ g->c.loc, 1 }, "this is nested too deeply");
	}
	return -(s32)*used;
}

s32 frame_pointer(struct gen *g)
{
	return take_word(g, &g->used.stack, stack_room(g));
}

struct mem mem_behind(struct gen *g, enum reg src)
{
	struct mem m = { .base = MEM_POINTER, .reg = take_reg(g) };

	if (m.reg == R0) {
		m.home = frame_pointer(g);
		code_store(&g->c, 8, g->frame, m.home, src);
	} else {
		code_mov(&g->c, m.reg, src);
	}
	return m;
}

struct mem frame_counter(struct gen *g)
{
	if (g->frame == R10)
		return (struct mem){ .base = MEM_STACK, .off = frame_pointer(g) };
	return (struct mem){ .base = MEM_OWN, .off = take_word(g, &g->used.own, CALL_BYTES) };
}
