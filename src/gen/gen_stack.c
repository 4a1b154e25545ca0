/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ustack and kstack. The frames are read into scratch memory, hashed, and stored once under
 * their hash; the value a script handles is the hash (and the pid, when a user frame is an address
 * that says nothing without it). Unlike the kernel's stack map this loses no stack to a hash-bucket
 * collision.
 *
 * User space takes what was stored out again, long before the map is full: a hash always means the
 * same frames, so it does not matter which of the two has them.
 */
#include <errno.h>

#include "gen/emit.h"

#define HASH_SEED  0x9ae16a3b2f90404full
#define HASH_PRIME 0x9fb21c651e98df25ull

/* r0 = the stack's number: a hash of its frames, and below it how many they are. */
static void hash_frames(struct gen *g, struct mem frames, u32 limit)
{
	struct code *c = &g->c;
	u32 top = code_label(c), end = code_label(c);

	mem_load(g, 8, R2, frames);
	mem_addr(g, mem_at(frames, 8), R1);
	code_const(c, R0, HASH_SEED);
	code_alu(c, BPF_XOR, R0, R2);
	code_alu_imm(c, BPF_AND, R2, USTACK_N);
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
	code_alu_imm(c, BPF_AND, R0, -(s32)(USTACK_ID_N + 1));
	code_alu_imm(c, BPF_AND, R2, USTACK_ID_N);
	code_alu(c, BPF_OR, R0, R2);
}

static u32 drain_record(struct gen *g)
{
	struct urecord r = { .action = ACTION_DRAIN, .size = 8, .map = -1 };

	for (u32 id = 0; id < g->u->records.n; id++)
		if (g->u->records.v[id].action == ACTION_DRAIN)
			return id;
	vec_add(&g->u->arena, &g->u->records, r);
	return g->u->records.n - 1;
}

void gen_drain(struct gen *g)
{
	struct code *c = &g->c;
	struct mark m = frame_mark(g);
	struct mem record = frame_alloc(g, 8);

	mem_store_imm(g, 8, record, (s32)drain_record(g));
	code_map(c, R1, gen_map_of(g, UMAP_RING));
	mem_addr(g, record, R2);
	code_const(c, R3, 8);
	code_const(c, R4, 0);
	code_call(c, BPF_FUNC_ringbuf_output);
	frame_release(g, m);
}

/* One more stack is in the map. After so many user space is to take them; should the ring be full,
 * it is awake and sees their number (UDATA_STACKS). */
static void count_kept(struct gen *g, u32 done)
{
	struct code *c = &g->c;

	code_map_value(c, R1, gen_map_of(g, UMAP_DATA), UDATA_STACKS * 8);
	code_fetch_add(c, R1, 0, R2, 1);
	code_alu_imm(c, BPF_AND, R2, UNIT_STACKS_DRAIN - 1);
	code_if_imm(c, BPF_JNE, R2, UNIT_STACKS_DRAIN - 1, done);
	gen_drain(g);
}

/* Stores the frames under the hash at `key` unless they are there already; falls through when there
 * is no room, and jumps otherwise. */
static void keep_frames(struct gen *g, struct mem key, struct mem frames, u32 have)
{
	struct code *c = &g->c;
	u32 map = gen_stacks_map(g), full = code_label(c);

	code_map(c, R1, map);
	mem_addr(g, key, R2);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_if_imm(c, BPF_JNE, R0, 0, have);
	code_map(c, R1, map);
	mem_addr(g, key, R2);
	mem_addr(g, frames, R3);
	code_const(c, R4, BPF_NOEXIST);
	code_call(c, BPF_FUNC_map_update_elem);
	code_if_imm(c, BPF_JEQ, R0, -EEXIST, have); /* another processor was faster */
	code_if_imm(c, BPF_JNE, R0, 0, full);
	count_kept(g, have);
	code_goto(c, have);
	code_bind(c, full);
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

/* BEGIN and END run in no process that anyone asks about; where memtap is not there nobody makes
 * tables. */
static bool by_tables(struct gen *g, const struct walk *k)
{
	if (!k->user || g->s->request.alone || k->t->walk != WALK_AUTO ||
	    attach_kind_has(g->v->kind, KIND_AROUND))
		return false;
	return gen_unwind_possible(g);
}

/* Frames as addresses, also where a file and an offset would do: the form prints them. */
static bool as_addresses(const struct walk *k)
{
	return k->t->mode == STACK_PERF || k->t->mode == STACK_RAW;
}

static struct mem walk(struct gen *g, const struct walk *k)
{
	u32 unknown = code_label(&g->c), done = code_label(&g->c);
	struct mem frames;

	if (g->walk_depth) /* a function that has no context */
		gen_error(g, k->loc, "a stack in a loop over a map needs Linux 5.13 or newer");
	if (!by_tables(g, k)) {
		frames = frame_alloc(g, sizeof(struct ustack_value));
		kernel_walk(g, k, frames);
		return frames;
	}
	gen_unwind(g, k->limit, as_addresses(k), unknown);
	frames = gen_unwind_frames(g);
	code_goto(&g->c, done);
	code_bind(&g->c, unknown);
	kernel_walk(g, k, frames);
	gen_unwind_by_kernel(g, k->limit);
	code_bind(&g->c, done);
	return frames;
}

/* The stack at `frames` under the number at `key`. */
static void keep(struct gen *g, const struct walk *k, struct mem key, struct mem frames)
{
	u32 have = code_label(&g->c);

	keep_frames(g, key, frames, have);
	gen_count_error(g, UERROR_STACK, k->loc, "stacks");
	if (by_tables(g, k))
		gen_unwind_lost(g);
	code_bind(&g->c, have);
}

/* After a user stack's number goes the pid; a stack of places in files is the same in all
 * processes. */
static void add_pid(struct gen *g, const struct walk *k, struct mem dst)
{
	u32 shared = code_label(&g->c);

	if (by_tables(g, k))
		gen_unwind_is_shared(g, shared); /* r0 = 0 then */
	gen_pid_tgid(g);
	code_alu_imm(&g->c, BPF_RSH, R0, 32);
	code_bind(&g->c, shared);
	mem_store(g, 8, mem_at(dst, 8), R0);
	if (!by_tables(g, k)) /* else a process without tables is reported */
		gen_seen(g);
}

/* The stack's number at dst, and after a user stack's the pid. */
static void one_stack(struct gen *g, const struct walk *k, struct mem dst)
{
	struct mark m = frame_mark(g);
	u32 unknown = code_label(&g->c), done = code_label(&g->c);
	bool copied = k->user && k->t->walk == WALK_COPY &&
	              !attach_kind_has(g->v->kind, KIND_AROUND);
	struct mem frames, key = dst;

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
		key = frame_alloc(g, 8);
		mem_store(g, 8, key, R0);
	}
	keep(g, k, key, frames);
	if (k->user)
		add_pid(g, k, dst);
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

void gen_stack_len(struct gen *g, const struct type *t, struct mem m)
{
	struct mark mark = frame_mark(g);
	struct mem key = frame_alloc(g, 8); /* a map's value is no key on old kernels */
	u32 none = code_label(&g->c);

	mem_load(g, 8, R0, m);
	if (t->walk != WALK_COPY) {
		code_alu_imm(&g->c, BPF_AND, R0, USTACK_ID_N);
		frame_release(g, mark);
		return;
	}
	mem_store(g, 8, key, R0);
	code_map(&g->c, R1, gen_map_of(g, UMAP_STACKS));
	mem_addr(g, key, R2);
	code_call(&g->c, BPF_FUNC_map_lookup_elem);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, none);
	code_load(&g->c, 1, R0, R0, 0);
	code_bind(&g->c, none);
	frame_release(g, mark);
}
