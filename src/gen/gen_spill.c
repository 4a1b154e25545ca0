/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What finds no room in a map that is taken: the map is full, or the kernel has no memory at hand
 * for one more key this moment. It goes to user space by itself (struct unit_spill), which adds it
 * to what it takes out of the map, so nothing is lost and no map needs room for all keys
 * beforehand. The key is made where the record needs it; everything else is stored when it comes to
 * that.
 */
#include "gen/emit.h"

bool gen_spills(const struct map_sym *sym)
{
	return sym->taken && sym->key && type_is_agg(sym->value) &&
	       sym->value->kind != TYPE_TSERIES;
}

struct mem gen_spill_alloc(struct gen *g, const struct map_sym *sym)
{
	return frame_alloc(g, unit_spill_key(sym->value) + type_slot(sym->key));
}

struct mem gen_spill_key(const struct map_sym *sym, struct mem record)
{
	return mem_at(record, (s32)unit_spill_key(sym->value));
}

static u32 add_record(struct gen *g, const struct map_sym *sym, struct loc loc)
{
	struct field *args = arena_array(&g->u->arena, struct field, 1);
	struct urecord r = { .action = ACTION_SPILL,
		             .size = unit_spill_key(sym->value) + type_slot(sym->key),
		             .args = args,
		             .n_args = 1,
		             .map = (s32)sym->index,
		             .loc = loc };

	args[0] = (struct field){ .type = sym->key, .off = unit_spill_key(sym->value) };
	vec_add(&g->u->arena, &g->u->records, r);
	return g->u->records.n - 1;
}

/* The words of the cell, as far as they are known here: of a histogram the bucket's number. */
static void store_cell(struct gen *g, const struct type *t, struct mem cell, struct temp value)
{
	bool average = t->kind == TYPE_AVG || t->kind == TYPE_STATS;

	mem_store_imm(g, 8, cell, 1);
	mem_store_imm(g, 8, mem_at(cell, 8), 1);
	if (t->kind == TYPE_COUNT)
		return;
	temp_load(g, value, R0);
	mem_store(g, 8, average ? mem_at(cell, 8) : cell, R0);
}

/* Jumps when records take half of the ring: the other half is for those who can not count
 * instead. */
static void if_ring_busy(struct gen *g, u32 label)
{
	code_map(&g->c, R1, gen_map_of(g, UMAP_RING));
	code_const(&g->c, R2, BPF_RB_AVAIL_DATA);
	code_call(&g->c, BPF_FUNC_ringbuf_query);
	code_if_imm(&g->c, BPF_JGT, R0, (s32)(g->cfg->ring_pages * UNIT_RING_PAGE / 2), label);
}

void gen_spill(struct gen *g, const struct node *map, struct mem record,
               const struct aggregates *all)
{
	const struct map_sym *sym = map->map.sym;
	u32 sent = code_label(&g->c), lost = code_label(&g->c);

	g->sent = true;
	mem_store(g, 8, mem_at(record, offsetof(struct unit_spill, why)), R0);
	if_ring_busy(g, lost);
	mem_store_imm(g, 8, record, (s32)add_record(g, sym, map->loc));
	gen_turn_number(g, sym, R0);
	mem_store(g, 8, mem_at(record, offsetof(struct unit_spill, turn)), R0);
	for (u32 i = 0; i < all->n; i++)
		store_cell(g, all->v[i].type,
		           mem_at(record, (s32)(sizeof(struct unit_spill) + i * 16)),
		           all->v[i].value);
	code_const(&g->c, R3, unit_spill_key(sym->value) + type_slot(sym->key));
	gen_ring_send(g, record);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, sent);
	code_bind(&g->c, lost);
	gen_count_error(g, UERROR_SPILL, map->loc, sym->name);
	code_bind(&g->c, sent);
}
