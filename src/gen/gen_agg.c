/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * count, sum, min, max, avg, stats, hist, lhist: each CPU has its own cell, user space adds
 * them up. The updates are atomic all the same, because a program can be preempted by another
 * one on the same CPU and totals must be exact.
 *
 * Cells: count, sum {n}. min, max {encoded, set}: the value mapped so that "larger, unsigned" is
 * always what is kept and 0 is the start (for min all bits are inverted, for signed values the
 * sign bit is). avg, stats {count, total}. hist, lhist: one word a bucket (unit/bucket.h). Several
 * aggregations of one key: their cells, one after the other.
 */
#include "gen/emit.h"

#include "unit/bucket.h"

#define CAS_TRIES 4u

/* An interval of a time series. */
#define SLOT_BYTES 24
#define SLOT_VALUE 8
#define SLOT_COUNT 16

/*
 * r2 = first + log2 of `r`, which is not 0. Uses r3 and changes r. The sum starts from a 0 of which
 * the verifier knows nothing, and loses its ranges in the end: else it would follow each of the 64
 * results through the rest of the program.
 */
static void log2_from(struct gen *g, enum reg r, s32 first)
{
	struct code *c = &g->c;

	code_mov(c, R2, r);
	code_alu(c, BPF_XOR, R2, R2);
	code_alu_imm(c, BPF_ADD, R2, first);
	for (u32 shift = 32; shift; shift /= 2) {
		u32 skip = code_label(c);

		if (shift == 32) { /* no immediate is that large */
			code_mov(c, R3, r);
			code_alu_imm(c, BPF_RSH, R3, (s32)shift);
			code_if_imm(c, BPF_JEQ, R3, 0, skip);
			code_mov(c, r, R3);
		} else {
			code_if_imm(c, BPF_JLT, r, 1 << shift, skip);
			code_alu_imm(c, BPF_RSH, r, (s32)shift);
		}
		code_alu_imm(c, BPF_ADD, R2, (s32)shift);
		code_bind(c, skip);
	}
	code_alu_imm(c, BPF_AND, R2, 127);
}

/* r0 = bucket_hist_index(r0) of whole powers of two. Uses r2 and r3. */
static void hist_index_powers(struct gen *g, bool is_signed)
{
	struct code *c = &g->c;
	u32 done = code_label(c);

	if (is_signed) {
		code_const(c, R2, 0);
		code_if_imm(c, BPF_JSLT, R0, 0, done);
	}
	code_const(c, R2, 1);
	code_if_imm(c, BPF_JEQ, R0, 0, done);
	log2_from(g, R0, 2);
	code_bind(c, done);
	code_mov(c, R0, R2);
}

/* r0 = bucket_hist_index(r0). Uses r1-r3. */
static void hist_index(struct gen *g, const struct type *t)
{
	struct code *c = &g->c;
	u32 low = code_label(c), negative = code_label(c), done = code_label(c);
	s32 subs = 1 << t->bits;

	if (!t->bits) {
		hist_index_powers(g, t->is_signed);
		code_bind(c, low);
		code_bind(c, negative);
		code_bind(c, done);
		return;
	}
	if (t->is_signed)
		code_if_imm(c, BPF_JSLT, R0, 0, negative);
	code_if_imm(c, BPF_JLT, R0, subs, low);
	code_mov(c, R1, R0);
	log2_from(g, R1, -(s32)t->bits);
	code_alu(c, BPF_RSH, R0, R2);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_alu_imm(c, BPF_LSH, R2, (s32)t->bits);
	code_alu_imm(c, BPF_ADD, R0, 1 - subs);
	code_alu(c, BPF_ADD, R0, R2);
	code_goto(c, done);
	code_bind(c, low);
	code_alu_imm(c, BPF_ADD, R0, 1);
	code_goto(c, done);
	code_bind(c, negative);
	code_const(c, R0, 0);
	code_bind(c, done);
}

/* if (r0 op value) goto label, for any 64-bit value. Uses r1. */
static void if_const(struct gen *g, u8 op, s64 value, u32 label)
{
	if (value == (s32)value) {
		code_if_imm(&g->c, op, R0, (s32)value, label);
	} else {
		code_const(&g->c, R1, (u64)value);
		code_if(&g->c, op, R0, R1, label);
	}
}

/* r0 = bucket of lhist. */
static void lhist_index(struct gen *g, const struct type *t)
{
	struct code *c = &g->c;
	u32 below = code_label(c), above = code_label(c), done = code_label(c);

	if (t->is_signed || t->min > 0)
		if_const(g, t->is_signed ? BPF_JSLT : BPF_JLT, t->min, below);
	if_const(g, t->is_signed ? BPF_JSGE : BPF_JGE, t->max, above);
	if (t->min) {
		code_const(c, R1, (u64)t->min);
		code_alu(c, BPF_SUB, R0, R1);
	}
	if (t->step & (t->step - 1)) {
		code_const(c, R1, (u64)t->step);
		code_alu(c, BPF_DIV, R0, R1);
	} else if (t->step > 1) {
		code_alu_imm(c, BPF_RSH, R0, __builtin_ctzll((u64)t->step));
	}
	code_alu_imm(c, BPF_ADD, R0, 1);
	code_goto(c, done);
	code_bind(c, below);
	code_const(c, R0, 0);
	code_goto(c, done);
	code_bind(c, above);
	code_const(c, R0, bucket_lhist_count(t->min, t->max, t->step) - 1);
	code_bind(c, done);
}

/* r0 = the value as min and max keep it. */
static void encode(struct gen *g, const struct type *t)
{
	if (t->is_signed) {
		code_const(&g->c, R1, 1ull << 63);
		code_alu(&g->c, BPF_XOR, R0, R1);
	}
	if (t->kind == TYPE_MIN)
		code_alu_imm(&g->c, BPF_XOR, R0, -1);
}

/* What is added or kept, in r0. */
static void operand(struct gen *g, const struct type *t, const struct node *call)
{
	if (t->kind == TYPE_COUNT)
		return;
	gen_value(g, call->call.args);
	if (t->kind == TYPE_HIST)
		hist_index(g, t);
	else if (t->kind == TYPE_LHIST)
		lhist_index(g, t);
	else if (t->kind == TYPE_MIN || t->kind == TYPE_MAX)
		encode(g, t);
}

/* *r0 = the larger of it and `value`, unsigned. Another program may interfere between load and
 * store: then the exchange fails and is tried again. Uses r1, r3, r4. */
static void keep_larger(struct gen *g, enum reg value)
{
	struct code *c = &g->c;
	u32 top = code_label(c), done = code_label(c);

	code_mov(c, R1, R0);
	code_store_imm(c, 8, R1, 8, 1);
	code_load(c, 8, R0, R1, 0);
	code_const(c, R4, CAS_TRIES);
	code_bind(c, top);
	code_if(c, BPF_JGE, R0, value, done);
	if (c->no_fetch) {
		code_store(c, 8, R1, 0, value);
		code_bind(c, done);
		return;
	}
	code_mov(c, R3, R0);
	code_atomic(c, BPF_CMPXCHG, R1, 0, value);
	code_if(c, BPF_JEQ, R0, R3, done);
	code_alu_imm(c, BPF_SUB, R4, 1);
	code_if_imm(c, BPF_JNE, R4, 0, top);
	code_bind(c, done);
}

/* Bucket number in r1, cell address in r0: count one in the bucket. */
static void add_bucket(struct gen *g, const struct type *t, u32 out)
{
	u32 n = t->kind == TYPE_HIST ? bucket_hist_count(t->bits)
	                             : bucket_lhist_count(t->min, t->max, t->step);

	code_if_imm(&g->c, BPF_JGE, R1, (s32)n, out); /* never true; the verifier wants to know */
	code_alu_imm(&g->c, BPF_LSH, R1, 3);
	code_alu(&g->c, BPF_ADD, R0, R1);
	code_const(&g->c, R1, 1);
	code_atomic(&g->c, BPF_ADD, R0, 0, R1);
}

/* Cell address in r0, operand in `value`. */
static void add_to_cell(struct gen *g, const struct type *t, struct temp value, u32 out)
{
	struct code *c = &g->c;

	switch (t->kind) {
	case TYPE_COUNT:
		code_const(c, R1, 1);
		code_atomic(c, BPF_ADD, R0, 0, R1);
		break;
	case TYPE_SUM:
		temp_load(g, value, R1);
		code_atomic(c, BPF_ADD, R0, 0, R1);
		break;
	case TYPE_MIN:
	case TYPE_MAX:
		if (!value.in_reg)
			temp_load(g, value, R2);
		keep_larger(g, value.in_reg ? value.reg : R2);
		break;
	case TYPE_AVG:
	case TYPE_STATS:
		temp_load(g, value, R1);
		code_atomic(c, BPF_ADD, R0, 8, R1);
		code_const(c, R1, 1);
		code_atomic(c, BPF_ADD, R0, 0, R1);
		break;
	default:
		temp_load(g, value, R1);
		add_bucket(g, t, out);
		break;
	}
}

/* Slot of the interval in r0: emptied when it holds another one. Uses r1-r3. */
static void reach_slot(struct gen *g, const struct type *t, struct temp epoch, u32 out)
{
	struct code *c = &g->c;
	u32 same = code_label(c);

	temp_load(g, epoch, R1);
	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_MOD, R2, (s32)t->max);
	code_if_imm(c, BPF_JGE, R2, (s32)t->max, out); /* never true; the verifier wants to know */
	code_alu_imm(c, BPF_MUL, R2, SLOT_BYTES);
	code_alu(c, BPF_ADD, R0, R2);
	code_alu_imm(c, BPF_ADD, R1, 1);
	code_load(c, 8, R3, R0, 0);
	code_if(c, BPF_JEQ, R3, R1, same);
	code_store(c, 8, R0, 0, R1);
	code_store_imm(c, 8, R0, SLOT_VALUE, 0);
	code_store_imm(c, 8, R0, SLOT_COUNT, 0);
	code_bind(c, same);
}

static void keep_in_slot(struct gen *g, const struct type *t, struct temp value, struct temp now)
{
	struct code *c = &g->c;
	u8 jump = t->bits == SERIES_MAX ? (t->is_signed ? BPF_JSGE : BPF_JGE)
	                                : (t->is_signed ? BPF_JSLE : BPF_JLE);
	u32 first = code_label(c), count = code_label(c);

	temp_load(g, value, R1);
	if (t->bits == SERIES_LAST) {
		code_store(c, 8, R0, SLOT_VALUE, R1);
		temp_load(g, now, R1);
		code_store(c, 8, R0, SLOT_COUNT, R1);
		code_bind(c, first);
		code_bind(c, count);
		return;
	}
	if (t->bits == SERIES_MAX || t->bits == SERIES_MIN) {
		code_load(c, 8, R2, R0, SLOT_COUNT);
		code_if_imm(c, BPF_JEQ, R2, 0, first);
		code_load(c, 8, R2, R0, SLOT_VALUE);
		code_if(c, jump, R2, R1, count);
		code_bind(c, first);
		code_store(c, 8, R0, SLOT_VALUE, R1);
	} else {
		code_bind(c, first);
		code_atomic(c, BPF_ADD, R0, SLOT_VALUE, R1);
	}
	code_bind(c, count);
	code_const(c, R1, 1);
	code_atomic(c, BPF_ADD, R0, SLOT_COUNT, R1);
}

/* @m = tseries(n, interval, how many): the value goes to the interval that the time is in. */
static void assign_series(struct gen *g, const struct node *map, const struct node *call)
{
	const struct type *t = map->map.sym->value;
	struct temp value, now, epoch;
	u32 out = code_label(&g->c);
	struct mem key, at;

	gen_value(g, call->call.args);
	value = temp_save(g, R0);
	code_call(&g->c, BPF_FUNC_ktime_get_boot_ns);
	now = temp_save(g, R0);
	code_const(&g->c, R1, (u64)t->step);
	code_alu(&g->c, BPF_DIV, R0, R1);
	epoch = temp_save(g, R0);
	key = gen_key(g, map);
	at = gen_turn_enter(g, map->map.sym);
	gen_map_reach(g, map, key, out);
	reach_slot(g, t, epoch, out);
	keep_in_slot(g, t, value, now);
	code_bind(&g->c, out);
	gen_turn_leave(g, map->map.sym, at);
}

/* Cells' address in r0. */
static void add_to_cells(struct gen *g, const struct aggregates *all, u32 out)
{
	struct mem cells;

	if (all->n == 1) {
		add_to_cell(g, all->v[0].type, all->v[0].value, out);
		return;
	}
	cells = mem_of_pointer(g, R0);
	for (u32 i = 0; i < all->n; i++) {
		mem_addr(g, mem_at(cells, all->v[i].off), R0);
		add_to_cell(g, all->v[i].type, all->v[i].value, out);
	}
}

/* In a map that is taken: what finds no room goes to user space. */
static void count_or_spill(struct gen *g, const struct node *map, const struct aggregates *all)
{
	const struct map_sym *sym = map->map.sym;
	struct mem record = gen_spill_alloc(g, sym), at;
	u32 have = code_label(&g->c), out = code_label(&g->c);

	gen_key_at(g, map, gen_spill_key(sym, record));
	at = gen_turn_enter(g, sym);
	gen_map_try(g, map, gen_spill_key(sym, record), have);
	gen_spill(g, map, record, all);
	code_goto(&g->c, out);
	code_bind(&g->c, have);
	add_to_cells(g, all, out);
	code_bind(&g->c, out);
	gen_turn_leave(g, sym, at);
}

static void add_operand(struct gen *g, struct aggregates *all, const struct type *t, u32 off,
                        const struct node *call)
{
	struct aggregate *a = &all->v[all->n++];

	*a = (struct aggregate){ .type = t, .off = (s32)off };
	operand(g, t, call);
	if (t->kind != TYPE_COUNT)
		a->value = temp_save(g, R0);
}

/* One, or several of a record. */
static struct aggregates operands(struct gen *g, const struct type *t, const struct node *e)
{
	struct aggregates all = { 0 };
	const struct node *call = e->kind == NODE_TUPLE ? e->tuple.items : NULL;

	if (t->kind != TYPE_AGGS)
		add_operand(g, &all, t, 0, e);
	for (; t->kind == TYPE_AGGS && call; call = call->next)
		add_operand(g, &all, t->fields[all.n].type, t->fields[all.n].off, call);
	return all;
}

void gen_agg_assign(struct gen *g, const struct node *map, const struct node *e)
{
	const struct type *t = map->map.sym->value;
	u32 out = code_label(&g->c);
	struct aggregates all;
	struct mem key, at;

	if (t->kind == TYPE_TSERIES) {
		assign_series(g, map, e);
		code_bind(&g->c, out);
		return;
	}
	all = operands(g, t, e);
	if (gen_spills(map->map.sym)) {
		count_or_spill(g, map, &all);
		code_bind(&g->c, out);
		return;
	}
	key = gen_key(g, map);
	at = gen_turn_enter(g, map->map.sym);
	if (t->kind == TYPE_COUNT)
		gen_map_reach_counter(g, map, key, out);
	else
		gen_map_reach(g, map, key, out);
	gen_map_say_set(g, map->map.sym, R0);
	add_to_cells(g, &all, out);
	code_bind(&g->c, out);
	gen_turn_leave(g, map->map.sym, at);
}

/* ---- reading an aggregation in an expression: the CPUs' cells are added up in the kernel ----- */

/* acc, best or count: one cell at r0 into the accumulators. */
static void merge_cell(struct gen *g, const struct type *t, struct mem acc)
{
	struct code *c = &g->c;
	u32 keep;

	code_load(c, 8, R1, R0, 0);
	mem_load(g, 8, R2, acc);
	if (t->kind == TYPE_MIN || t->kind == TYPE_MAX) {
		keep = code_label(c);
		code_if(c, BPF_JGE, R2, R1, keep);
		mem_store(g, 8, acc, R1);
		code_bind(c, keep);
		code_load(c, 8, R1, R0, 8);
		mem_load(g, 8, R2, mem_at(acc, 8));
		code_alu(c, BPF_OR, R1, R2);
		mem_store(g, 8, mem_at(acc, 8), R1);
		return;
	}
	code_alu(c, BPF_ADD, R1, R2);
	mem_store(g, 8, acc, R1);
	if (t->kind == TYPE_AVG || t->kind == TYPE_STATS) {
		code_load(c, 8, R1, R0, 8);
		mem_load(g, 8, R2, mem_at(acc, 8));
		code_alu(c, BPF_ADD, R1, R2);
		mem_store(g, 8, mem_at(acc, 8), R1);
	}
}

/* r0 = the number the accumulators stand for. */
static void finish_value(struct gen *g, const struct type *t, struct mem acc)
{
	struct code *c = &g->c;
	u32 done = code_label(c);

	switch (t->kind) {
	case TYPE_MIN:
	case TYPE_MAX:
		mem_load(g, 8, R0, mem_at(acc, 8));
		code_if_imm(c, BPF_JEQ, R0, 0, done); /* never set: 0 */
		mem_load(g, 8, R0, acc);
		encode(g, t); /* is its own inverse */
		break;
	case TYPE_AVG:
	case TYPE_STATS:
		mem_load(g, 8, R0, mem_at(acc, 8));
		mem_load(g, 8, R1, acc);
		code_if_imm(c, BPF_JNE, R1, 0, done);
		code_const(c, R1, 1);
		code_bind(c, done);
		done = code_label(c);
		gen_arith(g, OP_DIV, t->is_signed, (struct loc){ g->c.loc, 1 });
		break;
	default:
		mem_load(g, 8, R0, acc);
		break;
	}
	code_bind(c, done);
}

/* A loop over the cells that the CPUs have of one key. */
struct cells {
	struct mem cpu;
	u32 top, next;
	u32 first; /* instruction of a round */
	bool shared;
};

/* Before 5.19 a program sees the cell of its own CPU alone: what is added up in a program has one
 * cell for all of them there. */
static bool shares_cell(struct gen *g, const struct map_sym *sym)
{
	struct umap *m = &g->u->maps.v[sym->index];

	if (g->w->ops->features(g->w, FEATURE_PERCPU)->percpu)
		return false;
	m->bpf_type = gen_map_type(sym, false);
	m->per_cpu = false;
	return true;
}

/* r0 = address of a cell. */
static struct cells cells_begin(struct gen *g, const struct map_sym *sym, struct mem key)
{
	struct code *c = &g->c;
	struct cells all = { .cpu = frame_counter(g), .top = code_label(c), .next = code_label(c) };
	struct turn map = gen_turn_hold(g, sym);

	all.shared = shares_cell(g, sym);
	if (all.shared) {
		gen_turn_held(g, &map);
		mem_addr(g, key, R2);
		code_call(c, BPF_FUNC_map_lookup_elem);
		code_if_imm(c, BPF_JEQ, R0, 0, all.next);
		return all;
	}

	mem_store_const(g, all.cpu, 0);
	code_bind(c, all.top);
	all.first = c->insns.n;
	gen_turn_held(g, &map);
	mem_addr(g, key, R2);
	mem_load(g, 8, R3, all.cpu);
	code_call(c, BPF_FUNC_map_lookup_percpu_elem);
	code_if_imm(c, BPF_JEQ, R0, 0, all.next);
	return all;
}

static void cells_end(struct gen *g, struct cells all)
{
	code_bind(&g->c, all.next);
	if (all.shared)
		return;
	mem_load(g, 8, R1, all.cpu);
	code_alu_imm(&g->c, BPF_ADD, R1, 1);
	mem_store(g, 8, all.cpu, R1);
	g->u->n_cpus = gen_machine(g)->n_cpus;
	code_if_imm(&g->c, BPF_JLT, R1, (s32)g->u->n_cpus, all.top);
	gen_repeat(g, all.first, g->u->n_cpus);
}

void gen_agg_clear(struct gen *g, const struct map_sym *sym, struct mem key)
{
	struct cells all = cells_begin(g, sym, key);

	mem_zero(g, mem_of_pointer(g, R0), 0, unit_element(sym->key, sym->value));
	cells_end(g, all);
}

void gen_agg_value(struct gen *g, const struct map_sym *sym, struct mem key, struct loc loc)
{
	const struct type *t = sym->value;
	struct mem acc = frame_alloc(g, 16);
	struct cells all;

	if (t->kind == TYPE_HIST || t->kind == TYPE_LHIST || t->kind == TYPE_AGGS) {
		gen_error(g, loc, "a histogram can not be read as a number");
		return;
	}
	gen_turn_is_read(g, sym);
	mem_zero(g, acc, 0, 16);
	all = cells_begin(g, sym, key);
	merge_cell(g, t, acc);
	cells_end(g, all);
	finish_value(g, t, acc);
}
