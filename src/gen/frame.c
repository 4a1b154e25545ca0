/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Places: registers, the stack frame, and scratch memory. All are given out and taken back in stack
 * order by marks.
 *
 *    r10-8                 address of the scratch slot (programs that use one)
 *    r10-16 ... downwards  variables, then temporaries
 *    scratch+8 ... upwards what is too big or does not fit
 *
 * Small things prefer the stack: blobs leave BLOB_REST of it, words WORD_REST. A program with
 * functions of its own has pointers and counters there only.
 */
#include "gen/emit.h"

#define BLOB_MAX   136u /* a larger piece goes to scratch at once */
#define BLOB_REST  128u /* left for words ... */
#define WORD_REST  64u  /* ... and for what can not rest in scratch */
#define CALL_BYTES 32u  /* what a callback takes of the 512 bytes at least */
#define CALLS_MAX  5u   /* callbacks in callbacks */
/* The stacks of a program and three loops by lists in each other; a level between has 32 bytes. */
#define OWN_FIRST 128u
#define OWN_BYTES 96u

static u32 stack_room(const struct gen *g)
{
	if (g->listed)
		return g->walk_depth ? OWN_BYTES : OWN_FIRST;
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
	if (g->listed || size > BLOB_MAX || g->used.stack + size > limit)
		return scratch_alloc(g, size);
	g->used.stack += size;
	return (struct mem){ .base = MEM_STACK, .off = -(s32)g->used.stack };
}

enum reg frame_reg(struct gen *g)
{
	for (enum reg r = R7; r <= R9; r++) {
		if (!(g->used.regs & (1u << (r - R7)))) {
			g->used.regs |= (u8)(1u << (r - R7));
			return r;
		}
	}
	return R0;
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

struct mem frame_word(struct gen *g)
{
	bool fits = g->used.stack + WORD_REST / 2 < stack_room(g);

	return g->listed && g->frame == R10 && fits ? frame_counter(g) : frame_alloc(g, 8);
}

struct mem frame_counter(struct gen *g)
{
	if (g->frame == R10)
		return (struct mem){ .base = MEM_STACK, .off = frame_pointer(g) };
	return (struct mem){ .base = MEM_OWN, .off = take_word(g, &g->used.own, CALL_BYTES) };
}
