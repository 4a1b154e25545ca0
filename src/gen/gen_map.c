/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The @maps of a script. A map without key is an array of one element whose address the loader
 * puts into the program, so it costs no lookup; one with a key is a hash.
 *
 * ++, -- and += are atomic, so counts are exact under any number of threads.
 */
#include <errno.h>

#include "gen/emit.h"

#define UPDATE_ANY     0
#define UPDATE_NOEXIST 1

struct mem gen_key(struct gen *g, const struct node *map)
{
	const struct type *t = map->map.sym->key;
	const struct node *part = map->map.keys;
	struct mem key;

	if (!t) {
		key = frame_alloc(g, 8);
		if (map->map.sym->taken) {
			gen_turn_load(g, map->map.sym, R0);
			code_load(&g->c, 8, R0, R0, 0);
			mem_store(g, 8, key, R0);
		} else {
			mem_store_imm(g, 8, key, 0);
		}
		return key;
	}
	/* In a loop a variable's slot must not go to a helper: older verifiers then forget its
	 * value, which may be what ends the loop. */
	if (map->map.n_keys == 1 && part->kind == NODE_VAR && !g->loop_depth &&
	    type_eq(part->type, t) && type_is_scalar(t))
		return g->vars[part->var.sym->index];
	key = frame_alloc(g, type_slot(t));
	gen_key_at(g, map, key);
	return key;
}

void gen_key_at(struct gen *g, const struct node *map, struct mem key)
{
	const struct type *t = map->map.sym->key;
	const struct node *part = map->map.keys;

	if (map->map.n_keys == 1) {
		gen_store(g, part, t, key, true);
		return;
	}
	for (u32 i = 0; part && i < t->n_fields; i++, part = part->next)
		gen_store(g, part, t->fields[i].type, mem_at(key, (s32)t->fields[i].off), true);
}

static u32 map_index(const struct node *map)
{
	return map->map.sym->index;
}

/* A single shared element can be addressed without a lookup. */
static bool is_direct(const struct node *map)
{
	const struct map_sym *sym = map->map.sym;

	return !sym->key && !type_is_agg(sym->value) && !sym->bpf_type && !sym->taken;
}

/* r0 = address of the value or 0. */
static void lookup(struct gen *g, const struct node *map, struct mem key)
{
	gen_turn_map(g, map->map.sym);
	mem_addr(g, key, R2);
	code_call(&g->c, BPF_FUNC_map_lookup_elem);
}

/* The same of a map that is held. */
static void lookup_held(struct gen *g, const struct turn *map, struct mem key)
{
	gen_turn_held(g, map);
	mem_addr(g, key, R2);
	code_call(&g->c, BPF_FUNC_map_lookup_elem);
}

/* r0 = 0 when the value at `value` was stored. A failure is not always negative in 64 bits: before
 * Linux 6.4 the kernel calls a function that returns a 32-bit int. */
static void update(struct gen *g, const struct node *map, struct mem key, struct mem value,
                   u64 flags)
{
	gen_turn_map(g, map->map.sym);
	mem_addr(g, key, R2);
	mem_addr(g, value, R3);
	code_const(&g->c, R4, flags);
	code_call(&g->c, BPF_FUNC_map_update_elem);
}

void gen_map_say_set(struct gen *g, const struct map_sym *sym, enum reg element)
{
	u32 off = type_cell(sym->value);

	if (!unit_has_set(sym->key, sym->value))
		return;
	if (off <= INT16_MAX) {
		code_store_imm(&g->c, 8, element, (s16)off, 1);
		return;
	}
	code_map_value(&g->c, R2, sym->index, off); /* so large only where it is direct */
	code_store_imm(&g->c, 8, R2, 0, 1);
}

/* The bits of what the kernel answers to an update that are kept: they choose the counter. */
#define ANSWER (UERROR_ANSWERS - 1)

/* r0 = the counter of what the kernel answered to an insertion, as find_or_insert() returns it.
 * Changes its register, or r1. */
static void reason(struct gen *g, const struct node *map, struct temp answer)
{
	enum reg r = answer.in_reg ? answer.reg : R1;

	if (!answer.in_reg) {
		temp_load(g, answer, r);
		code_alu_imm(&g->c, BPF_AND, r, ANSWER);
	}
	gen_update_errors(g, R0, map->loc, map->map.sym->name);
	code_alu_imm(&g->c, BPF_LSH, r, 3); /* of 8 bytes each */
	code_alu(&g->c, BPF_ADD, R0, r);
}

static void count_refused(struct gen *g, const struct node *map, struct temp answer)
{
	reason(g, map, answer);
	code_const(&g->c, R1, 1);
	code_atomic(&g->c, BPF_ADD, R0, 0, R1);
}

static void insert_zero(struct gen *g, const struct turn *map, struct mem key)
{
	u32 cell = type_cell(map->sym->value);

	gen_turn_held(g, map);
	mem_addr(g, key, R2);
	if (cell <= UNIT_ZERO_WORDS * 8) {
		code_map_value(&g->c, R3, gen_map_of(g, UMAP_DATA), UDATA_ZERO * 8);
	} else {
		g->zero_size = MAX(g->zero_size, cell);
		code_map_value(&g->c, R3, gen_map_of(g, UMAP_ZERO), 0);
	}
	code_const(&g->c, R4, UPDATE_NOEXIST);
	code_call(&g->c, BPF_FUNC_map_update_elem);
}

/* Jumps with unit_spill.why in r0 when an insertion was refused for other reasons than that the key
 * is there already. */
static void if_refused(struct gen *g, const struct map_sym *sym, u32 label)
{
	struct code *c = &g->c;
	u32 inserted = code_label(c), done = code_label(c);

	code_if_imm(c, BPF_JEQ, R0, 0, inserted);
	code_alu32_imm(c, BPF_ADD, R0, EEXIST);
	code_if_imm(c, BPF_JNE, R0, 0, label);
	if (gen_spills(sym)) {
		code_goto(c, done);
		code_bind(c, inserted);
		gen_turn_count(g, sym);
	} else {
		code_bind(c, inserted);
	}
	code_bind(c, done);
}

/*
 * r0 = address of the element, made zero when it is absent; jumps to `have` with it. Falls through
 * when there is no room. Someone else may insert it at the same moment: then our insertion fails,
 * and the second lookup finds theirs. One lookup in a loop of two rounds is shorter than two, where
 * a register is free: it is NOT_ASKED in the first round, then what the kernel answered to the
 * insertion, of which ANSWER is kept; by that the verifier sees the loop's end. Returns that, or
 * where all of the answer is.
 */
#define NOT_ASKED (ANSWER + 1)

static struct temp find_or_insert(struct gen *g, const struct node *map, struct mem key, u32 have)
{
	struct code *c = &g->c;
	struct mark m = frame_mark(g);
	u32 top = code_label(c), failed = code_label(c);
	struct temp answer;
	struct turn held;

	gen_walk_fills(g, map->map.sym, key);
	answer = temp_of_reg(g);
	held = gen_turn_hold(g, map->map.sym);
	if (answer.in_reg)
		code_const(c, answer.reg, NOT_ASKED);
	else
		answer.mem = frame_alloc(g, 8);
	code_bind(c, top);
	lookup_held(g, &held, key);
	code_if_imm(c, BPF_JNE, R0, 0, have);
	if (answer.in_reg)
		code_if_imm(c, BPF_JLT, answer.reg, NOT_ASKED, failed);
	insert_zero(g, &held, key);
	if (answer.in_reg) {
		code_mov(c, answer.reg, R0);
		code_alu_imm(c, BPF_AND, answer.reg, ANSWER);
	} else {
		mem_store(g, 8, answer.mem, R0);
	}
	if (map->map.sym->taken)
		if_refused(g, map->map.sym, failed);
	if (answer.in_reg) {
		code_goto(c, top);
	} else {
		lookup_held(g, &held, key);
		code_if_imm(c, BPF_JNE, R0, 0, have);
	}
	code_bind(c, failed);
	frame_release(g, m);
	return answer;
}

void gen_map_reach(struct gen *g, const struct node *map, struct mem key, u32 full)
{
	struct temp answer;
	u32 have;

	if (!map->map.sym->key) { /* an array has its element from the start */
		lookup(g, map, key);
		code_if_imm(&g->c, BPF_JEQ, R0, 0, full);
		return;
	}
	have = code_label(&g->c);
	answer = find_or_insert(g, map, key, have);
	count_refused(g, map, answer);
	code_goto(&g->c, full);
	code_bind(&g->c, have);
}

void gen_map_try(struct gen *g, const struct node *map, struct mem key, u32 have)
{
	find_or_insert(g, map, key, have);
}

void gen_map_reach_counter(struct gen *g, const struct node *map, struct mem key, u32 full)
{
	u32 have;

	if (!map->map.sym->key) {
		gen_map_reach(g, map, key, full);
		return;
	}
	have = code_label(&g->c);
	reason(g, map, find_or_insert(g, map, key, have));
	code_bind(&g->c, have);
}

/* ---- reading -------------------------------------------------------------------------------- */

void gen_map_find(struct gen *g, const struct node *n)
{
	if (is_direct(n))
		code_map_value(&g->c, R0, map_index(n), 0);
	else
		lookup(g, n, gen_key(g, n));
}

/* -k reports keys that were read and not there. */
static void count_absent(struct gen *g, const struct node *n)
{
	if (g->cfg->helper_errors)
		gen_count_error(g, UERROR_LOOKUP, n->loc, n->map.sym->name);
}

void gen_map_value(struct gen *g, const struct node *n)
{
	u32 absent, done;

	if (type_is_agg(n->map.sym->value)) {
		gen_agg_value(g, n->map.sym, gen_key(g, n), n->loc);
		return;
	}
	if (is_direct(n)) {
		code_map_value(&g->c, R0, map_index(n), 0);
		code_load(&g->c, 8, R0, R0, 0);
		return;
	}
	absent = code_label(&g->c);
	done = code_label(&g->c);
	gen_turn_is_read(g, n->map.sym);
	lookup(g, n, gen_key(g, n));
	code_if_imm(&g->c, BPF_JEQ, R0, 0, absent);
	code_load(&g->c, 8, R0, R0, 0);
	if (g->cfg->helper_errors)
		code_goto(&g->c, done);
	code_bind(&g->c, absent); /* r0 is 0: an absent element reads as 0 */
	count_absent(g, n);
	code_bind(&g->c, done);
}

void gen_map_store(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                   bool pad)
{
	const struct type *st = n->map.sym->value;
	u32 absent, done;

	if (is_direct(n)) {
		code_map_value(&g->c, R0, map_index(n), 0);
		gen_convert(g, dst, t, mem_of_pointer(g, R0), st, pad);
		return;
	}
	absent = code_label(&g->c);
	done = code_label(&g->c);
	gen_turn_is_read(g, n->map.sym);
	lookup(g, n, gen_key(g, n));
	code_if_imm(&g->c, BPF_JEQ, R0, 0, absent);
	gen_convert(g, dst, t, mem_of_pointer(g, R0), st, pad);
	code_goto(&g->c, done);
	code_bind(&g->c, absent);
	count_absent(g, n);
	mem_zero(g, dst, 0, type_slot(t));
	code_bind(&g->c, done);
}

void gen_map_has(struct gen *g, const struct node *map, struct node *key)
{
	struct node with_key = *map;
	u32 absent = code_label(&g->c);

	gen_turn_is_read(g, map->map.sym);
	if (key) {
		with_key.map.keys = key;
		with_key.map.n_keys = 1;
	}
	lookup(g, &with_key, gen_key(g, &with_key));
	code_if_imm(&g->c, BPF_JEQ, R0, 0, absent);
	code_const(&g->c, R0, 1);
	code_bind(&g->c, absent);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* @m = e without key. The value goes straight into the element. */
static void assign_direct(struct gen *g, const struct node *map, const struct node *e)
{
	const struct type *t = map->map.sym->value;

	if (type_is_scalar(t) && type_is_scalar(e->type)) {
		gen_value(g, e);
		code_map_value(&g->c, R1, map_index(map), 0);
		code_store(&g->c, 8, R1, 0, R0);
		gen_map_say_set(g, map->map.sym, R1);
		return;
	}
	code_map_value(&g->c, R1, map_index(map), 0);
	gen_map_say_set(g, map->map.sym, R1);
	gen_store_in(g, e, t, mem_of_pointer(g, R1), true, map->map.sym);
}

static bool find_effect(void *ctx, struct node *n)
{
	bool *found = ctx;

	*found |= n->kind == NODE_BLOCK || n->kind == NODE_CALL ||
	          (n->kind == NODE_UNARY && n->unary.op >= OP_PREINC && n->unary.op <= OP_POSTDEC);
	return !*found;
}

/* A variable's own memory may serve as the value, unless the key changes it: @m[$x++] = $x. */
static bool stays_in_place(const struct node *map, const struct node *e)
{
	bool changes = false;

	if (!map->map.sym->key || e->kind != NODE_VAR || !type_eq(e->type, map->map.sym->value))
		return false;
	ast_walk(map->map.keys, find_effect, &changes);
	return !changes;
}

static void assign_plain(struct gen *g, const struct node *map, const struct node *e)
{
	const struct type *t = map->map.sym->value;
	struct mem value, key, at;
	u32 ok;

	if (is_direct(map)) {
		assign_direct(g, map, e);
		return;
	}
	ok = code_label(&g->c);
	if (stays_in_place(map, e)) {
		value = g->vars[e->var.sym->index];
	} else {
		value = frame_alloc(g, unit_element(map->map.sym->key, t));
		gen_store(g, e, t, value, true);
		if (unit_has_set(map->map.sym->key, t))
			mem_store_imm(g, 8, mem_at(value, (s32)type_cell(t)), 1);
	}
	key = gen_key(g, map);
	gen_walk_fills(g, map->map.sym, key);
	at = gen_turn_enter(g, map->map.sym);
	update(g, map, key, value, UPDATE_ANY);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, ok);
	code_mov(&g->c, R1, R0);
	code_alu_imm(&g->c, BPF_AND, R1, ANSWER);
	count_refused(g, map, (struct temp){ .in_reg = true, .reg = R1 });
	code_bind(&g->c, ok);
	gen_turn_leave(g, map->map.sym, at);
}

/* r0 = address of the element to change; jumps to `full` when it can not be made. At `full` or
 * after it gen_turn_leave() is due. */
static struct mem reach(struct gen *g, const struct node *map, u32 full)
{
	struct mem key, at = { 0 };

	if (is_direct(map)) {
		code_map_value(&g->c, R0, map_index(map), 0);
		gen_map_say_set(g, map->map.sym, R0);
		return at;
	}
	key = gen_key(g, map);
	at = gen_turn_enter(g, map->map.sym);
	gen_map_reach(g, map, key, full);
	gen_map_say_set(g, map->map.sym, R0);
	return at;
}

/* Other operators than + and - have no atomic form: load, compute, store. */
static void change(struct gen *g, const struct node *n, struct temp by)
{
	struct mem cell = mem_of_pointer(g, R0);

	mem_load(g, 8, R0, cell);
	temp_load(g, by, R1);
	gen_arith(g, n->assign.op, n->assign.is_signed, n->loc);
	mem_store(g, 8, cell, R0);
}

static void assign_op(struct gen *g, const struct node *n)
{
	const struct node *map = n->assign.to;
	enum op op = n->assign.op;
	u32 full = code_label(&g->c), step = gen_step(map->map.sym->value);
	struct temp by;
	struct mem at;

	gen_value(g, n->assign.e);
	if (step > 1)
		code_alu_imm(&g->c, BPF_MUL, R0, (s32)step);
	if (op == OP_SUB)
		code_alu_imm(&g->c, BPF_NEG, R0, 0);
	by = temp_save(g, R0);
	at = reach(g, map, full);
	if (op == OP_ADD || op == OP_SUB) {
		temp_load(g, by, R1);
		code_atomic(&g->c, BPF_ADD, R0, 0, R1);
	} else {
		change(g, n, by);
	}
	code_bind(&g->c, full);
	gen_turn_leave(g, map->map.sym, at);
}

void gen_map_assign(struct gen *g, const struct node *n)
{
	struct mark m = frame_mark(g);

	if (n->assign.op != OP_NONE)
		assign_op(g, n);
	else if (type_is_agg(n->assign.to->map.sym->value) && type_is_agg(n->assign.e->type))
		gen_agg_assign(g, n->assign.to, n->assign.e);
	else
		assign_plain(g, n->assign.to, n->assign.e);
	frame_release(g, m);
}

void gen_map_step(struct gen *g, const struct node *n)
{
	const struct node *map = n->unary.e;
	enum op op = n->unary.op;
	s32 by = (s32)gen_step(map->map.sym->value);
	u32 full = code_label(&g->c), done = code_label(&g->c);
	struct mem at;

	if (op == OP_PREDEC || op == OP_POSTDEC)
		by = -by;
	at = reach(g, map, full);
	code_fetch_add(&g->c, R0, 0, R1, by);
	code_mov(&g->c, R0, R1);
	if (op == OP_PREINC || op == OP_PREDEC)
		code_alu_imm(&g->c, BPF_ADD, R0, by);
	code_goto(&g->c, done);
	code_bind(&g->c, full);
	code_const(&g->c, R0, 0);
	code_bind(&g->c, done);
	gen_turn_leave(g, map->map.sym, at);
}

/* delete(@m) without key, of one value: elements of an array stay. */
static void delete_only(struct gen *g, const struct node *map)
{
	const struct map_sym *sym = map->map.sym;
	u32 none = code_label(&g->c);

	if (type_is_agg(sym->value)) {
		gen_agg_clear(g, sym, gen_key(g, map));
		code_bind(&g->c, none);
		return;
	}
	lookup(g, map, gen_key(g, map));
	code_if_imm(&g->c, BPF_JEQ, R0, 0, none);
	mem_zero(g, mem_of_pointer(g, R0), 0, unit_element(sym->key, sym->value));
	code_bind(&g->c, none);
}

/* r0 = 1 when there was something to delete. */
void gen_map_delete(struct gen *g, const struct node *map, struct node *key)
{
	const struct map_sym *sym = map->map.sym;
	struct node with_key = *map;
	u32 missing, done;
	struct mem k;

	if (is_direct(map)) {
		code_map_value(&g->c, R1, map_index(map), 0);
		mem_zero(g, mem_of_pointer(g, R1), 0, unit_element(sym->key, sym->value));
		code_const(&g->c, R0, 1);
		return;
	}
	if (!sym->key) {
		delete_only(g, map);
		code_const(&g->c, R0, 1);
		return;
	}
	missing = code_label(&g->c);
	done = code_label(&g->c);
	if (key) {
		with_key.map.keys = key;
		with_key.map.n_keys = 1;
	}
	k = gen_key(g, &with_key);
	gen_turn_map(g, sym);
	mem_addr(g, k, R2);
	code_call(&g->c, BPF_FUNC_map_delete_elem);
	code_if_imm(&g->c, BPF_JNE, R0, 0, missing);
	code_const(&g->c, R0, 1);
	code_goto(&g->c, done);
	code_bind(&g->c, missing);
	gen_count_error(g, UERROR_DELETE, map->loc, sym->name);
	code_const(&g->c, R0, 0);
	code_bind(&g->c, done);
}
