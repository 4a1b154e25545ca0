/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ustack and kstack. The frames are read into scratch memory, hashed, and stored once under
 * their hash; the value a script handles is the hash (and the pid, to name user frames). Unlike the
 * kernel's stack map this loses no stack to a hash-bucket collision.
 */
#include "gen/emit.h"

#define HASH_SEED  0x9ae16a3b2f90404full
#define HASH_PRIME 0x9fb21c651e98df25ull

/* r0 = hash of the n (r6-relative: in `count`) frames at `frames`. */
static void hash_frames(struct gen *g, struct mem frames, u32 limit)
{
	struct code *c = &g->c;
	u32 top = code_label(c), end = code_label(c);

	mem_load(g, 8, R2, frames); /* how many */
	mem_addr(g, mem_at(frames, 8), R1);
	code_const(c, R0, HASH_SEED);
	code_const(c, R5, HASH_PRIME);
	code_const(c, R3, 0);
	code_bind(c, top);
	code_if(c, BPF_JGE, R3, R2, end);
	code_if_imm(c, BPF_JGE, R3, (s32)limit, end);
	code_load(c, 8, R4, R1, 0);
	code_alu(c, BPF_XOR, R0, R4);
	code_alu(c, BPF_MUL, R0, R5);
	code_mov(c, R4, R0);
	code_alu_imm(c, BPF_RSH, R4, 29);
	code_alu(c, BPF_XOR, R0, R4);
	code_alu_imm(c, BPF_ADD, R1, 8);
	code_alu_imm(c, BPF_ADD, R3, 1);
	code_goto(c, top);
	code_bind(c, end);
}

/* Stores the frames under the hash at `key` unless they are there already. */
static void keep_frames(struct gen *g, struct mem key, struct mem frames, struct loc loc)
{
	struct code *c = &g->c;
	u32 map = gen_stacks_map(g), have = code_label(c);

	code_map(c, R1, map);
	mem_addr(g, key, R2);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_if_imm(c, BPF_JNE, R0, 0, have);
	code_map(c, R1, map);
	mem_addr(g, key, R2);
	mem_addr(g, frames, R3);
	code_const(c, R4, 0);
	code_call(c, BPF_FUNC_map_update_elem);
	code_if_imm(c, BPF_JEQ, R0, 0, have);
	gen_count_error(g, UERROR_STACK, loc, "stacks");
	code_bind(c, have);
}

/* One of the two stacks of an event. */
struct walk {
	bool user;
	const struct type *t;
	u32 limit;
	struct loc loc;
};

/* The kernel walks by itself: its own stack well, a user's by frame pointers. */
static void kernel_walk(struct gen *g, const struct walk *k, struct mem frames)
{
	struct code *c = &g->c;
	u32 ok = code_label(c);

	code_mov(c, R1, CTX);
	mem_addr(g, mem_at(frames, 8), R2);
	code_const(c, R3, k->limit * 8);
	code_const(c, R4, k->user ? BPF_F_USER_STACK : 0);
	code_call(c, BPF_FUNC_get_stack);
	code_if_imm(c, BPF_JSGE, R0, 0, ok);
	if (k->user) /* a kernel thread or a user probe has no kernel part: not an error */
		gen_count_error(g, UERROR_STACK, k->loc, "ustack");
	code_const(c, R0, 0);
	code_bind(c, ok);
	code_alu_imm(c, BPF_RSH, R0, 3);
	mem_store(g, 8, frames, R0);
}

/* BEGIN and END run in no process that anyone asks about. */
static bool by_tables(struct gen *g, const struct walk *k)
{
	if (!k->user || k->t->walk != WALK_AUTO || g->v->kind == ATTACH_BEGIN ||
	    g->v->kind == ATTACH_END)
		return false;
	return gen_has_calls(g);
}

static struct mem walk(struct gen *g, const struct walk *k)
{
	u32 unknown = code_label(&g->c), done = code_label(&g->c);
	struct mem frames;

	if (!by_tables(g, k)) {
		frames = frame_alloc(g, sizeof(struct ustack_value));
		kernel_walk(g, k, frames);
		return frames;
	}
	gen_unwind(g, k->limit, unknown);
	frames = gen_unwind_frames(g);
	code_goto(&g->c, done);
	code_bind(&g->c, unknown);
	kernel_walk(g, k, frames);
	code_bind(&g->c, done);
	return frames;
}

/* The stack's id at dst, and behind a user stack's the pid. */
static void one_stack(struct gen *g, const struct walk *k, struct mem dst)
{
	struct mark m = frame_mark(g);
	u32 unknown = code_label(&g->c), done = code_label(&g->c);
	bool copied = k->user && k->t->walk == WALK_COPY && g->v->kind != ATTACH_BEGIN &&
	              g->v->kind != ATTACH_END;
	struct mem frames;

	if (copied) {
		gen_unwind_copy(g, k->limit, dst, unknown);
		code_goto(&g->c, done);
		code_bind(&g->c, unknown);
		frame_release(g, m);
	}
	frames = walk(g, k);
	hash_frames(g, frames, k->limit);
	mem_store(g, 8, dst, R0);
	if (dst.base == MEM_POINTER) { /* a map's value is no key for a lookup on old kernels */
		struct mem key = frame_alloc(g, 8);

		mem_store(g, 8, key, R0);
		keep_frames(g, key, frames, k->loc);
	} else {
		keep_frames(g, dst, frames, k->loc);
	}
	if (k->user) {
		gen_pid_tgid(g);
		code_alu_imm(&g->c, BPF_RSH, R0, 32);
		mem_store(g, 8, mem_at(dst, 8), R0);
		if (!by_tables(g, k)) /* else a process without tables is told of */
			gen_seen(g);
	}
	if (copied)
		code_bind(&g->c, done);
	frame_release(g, m);
}

void gen_stack(struct gen *g, const struct type *t, struct mem dst, struct loc loc)
{
	struct walk k = { .t = t, .loc = loc };

	k.limit = MIN(t->limit ? t->limit : UNIT_STACK_FRAMES, UNIT_STACK_FRAMES);
	k.user = t->kind != TYPE_KSTACK;
	one_stack(g, &k, dst);
	if (t->kind != TYPE_STACK)
		return;
	k.user = false;
	one_stack(g, &k, mem_at(dst, 16));
}

void gen_stack_len(struct gen *g, struct mem m)
{
	struct mark mark = frame_mark(g);
	struct mem key = frame_alloc(g, 8); /* a map's value is no key on old kernels */
	u32 none = code_label(&g->c);

	mem_load(g, 8, R0, m);
	mem_store(g, 8, key, R0);
	code_map(&g->c, R1, gen_map_of(g, UMAP_STACKS));
	mem_addr(g, key, R2);
	code_call(&g->c, BPF_FUNC_map_lookup_elem);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, none);
	code_load(&g->c, 8, R0, R0, 0);
	code_bind(&g->c, none);
	frame_release(g, mark);
}
