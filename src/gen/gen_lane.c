/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Records into lanes (struct unit_lane), where nobody is to be woken up for them: the kernel's ring
 * buffer takes a lock for each record, a call that finds out who waits, and a second copy of the
 * bytes. Here a program takes its place by moving the end on, unless another has done so since it
 * looked: one that interrupted it, or runs on a processor with the same lane.
 *
 * The place is taken when all is known that the record says, so that what may fail, or wait, is
 * before it: whoever has a place fills it at once.
 */
#include "gen/emit.h"

#define TRIES 16u /* each was in vain because somebody else took a place */

bool gen_has_lanes(const struct gen *g)
{
	return g->cfg->poll_ms && !g->c.no_fetch;
}

/* A lane for each processor, as far as there are lanes: each has room for what a server of one
 * thread is asked, so more of them would be much memory. */
static u32 count_lanes(struct gen *g)
{
	u32 n = 1;

	while (n < UNIT_LANES && n < gen_machine(g)->n_cpus)
		n *= 2;
	return n;
}

/* What a lane is made of, the same for all programs. */
static void make_lanes(struct gen *g)
{
	struct unit_lanes *l = &g->u->lanes;
	u32 size;

	if (l->n)
		return;
	l->n = count_lanes(g);
	size = g->cfg->ring_pages * UNIT_RING_PAGE;
	size = l->n > 1 ? MAX(size / 2, UNIT_RING_PAGE) : size;
	l->part = MIN(size, UNIT_LANE_PART);
	l->parts = size / l->part;
}

/* r0 = the element whose number is at `key`; jumps when there is none. */
static void find(struct gen *g, enum umap_role map, struct mem key, u32 full)
{
	code_map(&g->c, R1, gen_map_of(g, map));
	mem_addr(g, key, R2);
	code_call(&g->c, BPF_FUNC_map_lookup_elem);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, full);
}

/* r0 = where in the lane at r0 there is room from now on; jumps when there is none. Uses all of r0
 * to r5. */
static void take(struct gen *g, struct temp size, u32 full)
{
	struct code *c = &g->c;
	u32 top = code_label(c), taken = code_label(c);

	code_mov(c, R1, R0);
	code_load(c, 8, R4, R1, offsetof(struct unit_lane, read));
	code_load(c, 8, R0, R1, offsetof(struct unit_lane, end));
	code_const(c, R5, TRIES);
	code_bind(c, top);
	temp_load(g, size, R2);
	code_alu_imm(c, BPF_ADD, R2, sizeof(struct unit_lane_head) + 7);
	code_alu_imm(c, BPF_AND, R2, -8);
	code_alu(c, BPF_ADD, R2, R0);
	code_mov(c, R3, R2);
	code_alu(c, BPF_SUB, R3, R4);
	code_if_imm(c, BPF_JGT, R3, (s32)(g->u->lanes.part * g->u->lanes.parts), full);
	code_mov(c, R3, R0);
	code_atomic(c, BPF_CMPXCHG, R1, offsetof(struct unit_lane, end), R2);
	code_if(c, BPF_JEQ, R0, R3, taken);
	code_alu_imm(c, BPF_SUB, R5, 1);
	code_if_imm(c, BPF_JNE, R5, 0, top);
	code_goto(c, full);
	code_bind(c, taken);
}

/* A place for a record of so many bytes; jumps when there is none. */
static struct mem take_place(struct gen *g, struct temp size, u32 full)
{
	struct code *c = &g->c;
	const struct unit_lanes *l = &g->u->lanes;
	struct mem key = frame_word(g);
	struct temp lane, at;

	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(c, BPF_AND, R0, (s32)l->n - 1);
	mem_store(g, 4, key, R0);
	lane = temp_save(g, R0);
	find(g, UMAP_LANES, key, full);
	take(g, size, full);
	at = temp_save(g, R0);
	code_alu_imm(c, BPF_RSH, R0, __builtin_ctz(l->part));
	code_alu_imm(c, BPF_AND, R0, (s32)l->parts - 1);
	temp_load(g, lane, R1);
	code_alu_imm(c, BPF_LSH, R1, __builtin_ctz(l->parts));
	code_alu(c, BPF_ADD, R0, R1);
	mem_store(g, 4, key, R0);
	find(g, UMAP_PARTS, key, full);
	temp_load(g, at, R1);
	code_alu_imm(c, BPF_AND, R1, (s32)l->part - 8); /* a multiple of 8 */
	code_alu(c, BPF_ADD, R0, R1);
	return mem_of_pointer(g, R0);
}

/* Copies what is at `rec` by words; more than that the kernel copies faster. */
#define BY_WORDS 256u

static void copy_fixed(struct gen *g, struct mem dst, const struct lane_record *r)
{
	u32 ok = code_label(&g->c);

	if (r->has_tail || (r->fixed && r->fixed <= BY_WORDS)) {
		for (u32 at = 0, n; at < r->fixed; at += n) {
			n = MIN(r->fixed - at, 128u);
			mem_copy(g, mem_at(dst, (s32)at), mem_at(r->rec, (s32)at), n);
		}
		return;
	}
	temp_load(g, r->size, R2);
	code_if_imm(&g->c, BPF_JLE, R2, (s32)r->most, ok);
	code_const(&g->c, R2, r->most);
	code_bind(&g->c, ok);
	mem_addr(g, dst, R1);
	mem_addr(g, r->rec, R3);
	code_call(&g->c, BPF_FUNC_probe_read_kernel);
}

void gen_lane_send(struct gen *g, const struct lane_record *r)
{
	struct code *c = &g->c;
	struct mark m = frame_mark(g);
	u32 full = code_label(c), end = code_label(c);
	struct mem head, bytes;
	struct temp time;

	make_lanes(g);
	g->u->lanes.most = MAX(g->u->lanes.most, r->most);
	if (!r->time)
		code_call(c, BPF_FUNC_ktime_get_ns);
	else
		mem_load(g, 8, R0, mem_at(r->rec, (s32)r->time));
	time = temp_save(g, R0);
	head = take_place(g, r->size, full);
	bytes = mem_at(head, sizeof(struct unit_lane_head));
	temp_load(g, time, R1);
	mem_store(g, 8, mem_at(head, offsetof(struct unit_lane_head, time)), R1);
	copy_fixed(g, bytes, r);
	if (r->has_tail) {
		temp_load(g, r->tail_at, R3);
		gen_probe_read_part(g, SPACE_PACKET, r->tail_max, &r->tail,
		                    mem_at(bytes, (s32)r->fixed), r->loc);
	}
	temp_load(g, r->size, R2);
	mem_addr(g, head, R1);
	code_atomic(c, BPF_XCHG, R1, offsetof(struct unit_lane_head, size), R2);
	code_const(c, R0, 0);
	code_goto(c, end);
	code_bind(c, full);
	code_const(c, R0, (u64)-1);
	code_bind(c, end);
	frame_release(g, m);
}
