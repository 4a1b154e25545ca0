/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps of two generations, which user space can take (unit/unit.h). At each access a program asks
 * which of the two it is to use, so there is nothing to be kept from one access to the next. A
 * program that may sleep says besides that it is at it. Of other maps this makes nothing.
 *
 * The word that chooses is handed to the lookup where it is, in the map of turns: the verifier then
 * sees one map of maps and any element of it, and follows one way, not one for each generation.
 */
#include "gen/emit.h"

static void load_word(struct gen *g, u32 word, enum reg dst)
{
	code_map_value(&g->c, dst, gen_map_of(g, UMAP_TURNS), word * 8);
}

static void turn_word(struct gen *g, const struct map_sym *sym, u32 i, enum reg dst)
{
	load_word(g, g->u->maps.v[sym->index].turn + i, dst);
}

void gen_turn_load(struct gen *g, const struct map_sym *sym, enum reg dst)
{
	load_word(g, g->u->maps.v[sym->index].now, dst);
}

void gen_turn_number(struct gen *g, const struct map_sym *sym, enum reg dst)
{
	turn_word(g, sym, UTURN_DONE, dst);
	code_load(&g->c, 8, dst, dst, 0);
}

void gen_turn_count(struct gen *g, const struct map_sym *sym)
{
	struct code *c = &g->c;
	u32 done = code_label(c);

	turn_word(g, sym, UTURN_KEYS, R1);
	code_fetch_add(c, R1, 0, R2, 1);
	code_alu_imm(c, BPF_ADD, R2, 1);
	turn_word(g, sym, UTURN_TELL, R1);
	code_load(c, 8, R1, R1, 0);
	code_if(c, BPF_JNE, R1, R2, done);
	gen_drain(g);
	code_bind(c, done);
}

void gen_turn_is_read(struct gen *g, const struct map_sym *sym)
{
	g->u->maps.v[sym->index].is_read = true;
}

/* The array of the two always has both. */
static void look_up(struct gen *g, const struct map_sym *sym)
{
	code_map(&g->c, R1, sym->index);
	gen_turn_load(g, sym, R2);
	code_call(&g->c, BPF_FUNC_map_lookup_elem);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, g->exit_label);
}

void gen_turn_map(struct gen *g, const struct map_sym *sym)
{
	if (!sym->taken || !sym->key) {
		code_map(&g->c, R1, sym->index);
		return;
	}
	look_up(g, sym);
	code_mov(&g->c, R1, R0);
}

struct turn gen_turn_hold(struct gen *g, const struct map_sym *sym)
{
	struct turn t = { .sym = sym };

	t.held = sym->taken && sym->key;
	if (t.held) {
		look_up(g, sym);
		t.map = mem_of_pointer(g, R0);
	}
	return t;
}

void gen_turn_held(struct gen *g, const struct turn *t)
{
	if (t->held)
		mem_addr(g, t->map, R1);
	else
		code_map(&g->c, R1, t->sym->index);
}

/* r0 = address of the cell of this CPU and epoch. */
static void cell(struct gen *g, u32 turns)
{
	struct code *c = &g->c;

	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(c, BPF_AND, R0, UTURN_CPUS - 1);
	code_alu_imm(c, BPF_LSH, R0, 6);
	code_map_value(c, R1, turns, UTURN_EPOCH * 8);
	code_load(c, 8, R1, R1, 0);
	code_alu_imm(c, BPF_AND, R1, 1);
	code_alu_imm(c, BPF_LSH, R1, 3);
	code_alu(c, BPF_ADD, R1, R0);
	code_map_value(c, R0, turns, UTURN_CELLS * 8);
	code_alu(c, BPF_ADD, R0, R1);
}

/* A fetching addition is a full barrier on every machine: the word is read after it. */
static void add(struct gen *g, struct mem at, s32 n)
{
	mem_addr(g, at, R1);
	code_fetch_add(&g->c, R1, 0, R2, n);
}

struct mem gen_turn_enter(struct gen *g, const struct map_sym *sym)
{
	struct mem at = { 0 };

	if (!sym->taken)
		return at;
	g->found.takes = true;
	if (g->assume.may_sleep) {
		cell(g, gen_map_of(g, UMAP_TURNS));
		at = mem_of_pointer(g, R0);
		add(g, at, 1);
	}
	return at;
}

void gen_turn_leave(struct gen *g, const struct map_sym *sym, struct mem at)
{
	if (sym->taken && g->assume.may_sleep)
		add(g, at, -1);
}
