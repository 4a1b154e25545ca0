/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Going through maps where the kernel does not (before Linux 5.13), in programs that memtap runs:
 * right before it does, it puts the keys of each map that the program goes through into an array
 * (UMAP_KEYS). The program takes one after the other, looks it up, as it may be deleted by now, and
 * runs the loop's body.
 *
 *     program  -- 64 times -->  round  -- 2048 times -->  body of the loop
 *
 * Both are global functions, which the verifier walks once. They get a number, that of the scratch
 * slot, and no address: what program and bodies share is in scratch memory, all but pointers and
 * counters, which stay on the stack of each.
 *
 * A key that the program puts in is added to the array. When it was there, was deleted and is put
 * in again it is in the array twice: where it is last says UMAP_FRESH.
 */
#include "gen/emit.h"

#define ROUNDS_IN  2048u
#define ROUNDS_OUT (UNIT_KEYS / ROUNDS_IN)
#define WALKS_MOST                                                                                 \
	3u /* in each other: with two functions each the kernel's eight levels are full */

struct walk {
	const struct node *n; /* the loop; NULL: elements are counted */
	const struct map_sym *map;
	struct loc loc;
	struct mem at, last; /* elements of the array: the next one, the last one */
	struct mem result;   /* how many; of a loop 1: the program is to end */
	u32 depth, body;
};

/* ---- which maps ---- */

static const struct map_sym *filled_by(const struct node *n)
{
	const struct node *to = NULL;

	if (n->kind == NODE_ASSIGN)
		to = n->assign.to;
	else if (n->kind == NODE_UNARY && n->unary.op >= OP_PREINC)
		to = n->unary.e;
	return to && to->kind == NODE_MAP ? to->map.sym : NULL;
}

static const struct map_sym *walked_by(const struct node *n)
{
	const struct node *a = n->kind == NODE_CALL ? n->call.args : NULL;

	if (n->kind == NODE_FOR_MAP)
		return n->each.map->map.sym;
	if (!a || n->call.f->id != FUNC_LEN || a->kind != NODE_MAP || a->map.n_keys ||
	    !a->map.sym->key)
		return NULL;
	return a->map.sym;
}

struct find {
	struct listed *maps;
	bool *shared;
	bool any;
};

static bool find_shared(void *ctx, struct node *n)
{
	struct find *f = ctx;

	if (n->kind == NODE_VAR)
		f->shared[n->var.sym->index] = true;
	return true;
}

static bool find_uses(void *ctx, struct node *n)
{
	struct find *f = ctx;
	const struct map_sym *walked = walked_by(n), *filled = filled_by(n);

	if (walked)
		f->any = f->maps[walked->index].walked = true;
	if (filled)
		f->maps[filled->index].filled = true;
	if (n->kind == NODE_FOR_MAP)
		ast_walk(n, find_shared, f);
	return true;
}

void gen_walk_find(struct gen *g)
{
	struct find f = { .maps = arena_array(&g->u->arena, struct listed, g->s->maps.n + 1),
		          .shared = arena_array(&g->u->arena, bool, g->v->vars.n + 1) };
	struct world *w = g->w;

	g->listed = NULL;
	g->shared = f.shared;
	if (!attach_kind_has(g->v->kind, KIND_OWN) || g->s->request.alone)
		return;
	if (g->v->pred)
		ast_walk(g->v->pred, find_uses, &f);
	ast_walk(g->v->body, find_uses, &f);
	if (f.any && !w->ops->features(w, FEATURE_FOR_EACH)->for_each)
		g->listed = f.maps;
}

/* ---- their keys ---- */

static u32 map_beside(struct gen *g, enum umap_role role, const struct map_sym *sym)
{
	bool keys = role == UMAP_KEYS;
	u32 key_size = type_slot(sym->key);
	struct umap m = {
		.name = arena_printf(&g->u->arena, "%s.%s", sym->name + 1, keys ? "keys" : "fresh"),
		.role = role,
		.of = sym->index,
		.bpf_type = keys ? BPF_MAP_TYPE_ARRAY : BPF_MAP_TYPE_HASH,
		.flags = keys ? BPF_F_MMAPABLE : BPF_F_NO_PREALLOC,
		.key_size = keys ? 4 : key_size,
		.value_size = keys ? key_size : 8,
		.max_entries = unit_keys_room(g->u->maps.v[sym->index].max_entries),
	};

	for (u32 i = 0; i < g->u->maps.n; i++)
		if (g->u->maps.v[i].role == role && g->u->maps.v[i].of == m.of)
			return i;
	vec_add(&g->u->arena, &g->u->maps, m);
	return g->u->maps.n - 1;
}

/* r0 = address of the value under the key in a map beside that one, 0 none. */
static void find_beside(struct gen *g, enum umap_role role, const struct map_sym *sym,
                        struct mem key)
{
	code_map(&g->c, R1, map_beside(g, role, sym));
	mem_addr(g, key, R2);
	code_call(&g->c, BPF_FUNC_map_lookup_elem);
}

static void put_beside(struct gen *g, enum umap_role role, const struct map_sym *sym,
                       struct mem key, struct mem value)
{
	code_map(&g->c, R1, map_beside(g, role, sym));
	mem_addr(g, key, R2);
	mem_addr(g, value, R3);
	code_const(&g->c, R4, BPF_ANY);
	code_call(&g->c, BPF_FUNC_map_update_elem);
}

/* r0 = address of the map's own value. */
static void find(struct gen *g, const struct map_sym *sym, struct mem key)
{
	gen_turn_map(g, sym);
	mem_addr(g, key, R2);
	code_call(&g->c, BPF_FUNC_map_lookup_elem);
}

/* What the array has no room for is found missing, and counted, by the next loop. */
void gen_walk_fills(struct gen *g, const struct map_sym *sym, struct mem key)
{
	u32 known = code_label(&g->c);
	struct mark m = frame_mark(g);
	struct mem at;

	if (!g->listed || !g->listed[sym->index].walked)
		return;
	at = frame_alloc(g, 8);
	find(g, sym, key);
	code_if_imm(&g->c, BPF_JNE, R0, 0, known);
	mem_store_imm(g, 8, at, 0);
	find_beside(g, UMAP_KEYS, sym, at);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, known);
	code_load(&g->c, 8, R1, R0, 0);
	code_alu_imm(&g->c, BPF_ADD, R1, 1);
	code_store(&g->c, 8, R0, 0, R1);
	mem_store(g, 8, at, R1);
	put_beside(g, UMAP_KEYS, sym, at, key);
	put_beside(g, UMAP_FRESH, sym, key, at);
	code_bind(&g->c, known);
	frame_release(g, m);
}

/* ---- the loop ---- */

/* Jumps when the key is in the array once more, behind the element before w->at. */
static void unless_last(struct gen *g, const struct walk *w, struct mem key, u32 twice)
{
	u32 only = code_label(&g->c);

	if (!g->listed[w->map->index].filled)
		return;
	find_beside(g, UMAP_FRESH, w->map, key);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, only);
	code_load(&g->c, 8, R1, R0, 0);
	code_alu_imm(&g->c, BPF_ADD, R1, 1);
	mem_load(g, 8, R2, w->at);
	code_if(&g->c, BPF_JNE, R1, R2, twice);
	code_bind(&g->c, only);
}

static void count_one(struct gen *g, const struct walk *w)
{
	mem_load(g, 8, R0, w->result);
	code_alu_imm(&g->c, BPF_ADD, R0, 1);
	mem_store(g, 8, w->result, R0);
}

/* The next element of the array, if the map has its key. */
static void next(struct gen *g, const struct walk *w, u32 over)
{
	struct mark m = frame_mark(g);
	struct mem key, value;

	mem_load(g, 8, R1, w->at);
	mem_load(g, 8, R2, w->last);
	code_if(&g->c, BPF_JGT, R1, R2, g->break_label);
	find_beside(g, UMAP_KEYS, w->map, w->at);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, over);
	key = mem_of_pointer(g, R0);
	mem_load(g, 8, R1, w->at);
	code_alu_imm(&g->c, BPF_ADD, R1, 1);
	mem_store(g, 8, w->at, R1);
	unless_last(g, w, key, g->continue_label);
	find(g, w->map, key);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, g->continue_label);
	value = mem_of_pointer(g, R0);
	if (w->n)
		gen_each_pair(g, w->n, key, value);
	else
		count_one(g, w);
	frame_release(g, m);
}

static void body(struct gen *g, const void *what)
{
	const struct walk *w = what;
	u32 over = code_label(&g->c);

	g->walk_depth = w->depth;
	g->exit_label = code_label(&g->c);
	g->break_label = code_label(&g->c);
	g->continue_label = code_label(&g->c);
	g->c.loc = w->loc.off;
	gen_find_slot(g, g->slot, g->break_label);
	code_mov(&g->c, g->scratch, R0);
	if (g->assume.scratch_home)
		code_store(&g->c, 8, R10, SCRATCH_HOME, R0);
	next(g, w, over);
	if (w->n)
		gen_block(g, w->n->each.body);
	code_bind(&g->c, g->continue_label);
	gen_go_on(g);
	code_bind(&g->c, over);
	gen_count_error(g, UERROR_LOOP, w->loc, "loop");
	code_goto(&g->c, g->break_label);
	code_bind(&g->c, g->exit_label);
	mem_store_const(g, w->result, 1);
	code_bind(&g->c, g->break_label);
	gen_stop(g);
}

/* r0 is what the last of its bodies left: 0 to go on. */
static void round_of_bodies(struct gen *g, const void *what)
{
	const struct walk *w = what;

	code_store(&g->c, 8, R10, g->slot, R1);
	gen_call_function(g, w->body, ROUNDS_IN);
	code_exit(&g->c);
}

static void end_with_body(struct gen *g, const struct walk *w)
{
	u32 on = code_label(&g->c);

	mem_load(g, 8, R0, w->result);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, on);
	if (attach_kind_has(g->v->kind, KIND_VERDICT) && !g->walk_depth) {
		mem_load(g, 8, R0, g->verdict);
		code_store(&g->c, 8, R10, g->result, R0);
	}
	code_goto(&g->c, g->exit_label);
	code_bind(&g->c, on);
}

void gen_walk(struct gen *g, const struct map_sym *map, const struct node *n, struct loc loc)
{
	struct walk *w = arena_new(&g->work, struct walk);
	u32 none = code_label(&g->c), from;

	if (g->walk_depth >= WALKS_MOST)
		gen_error(g, loc, "this is nested too deeply");
	*w = (struct walk){ .n = n,
		            .map = map,
		            .loc = loc,
		            .at = frame_alloc(g, 8),
		            .last = frame_alloc(g, 8),
		            .result = frame_alloc(g, 8),
		            .depth = g->walk_depth + 1 };
	w->body = gen_function(g, body, w);
	gen_turn_is_read(g, map);
	mem_store_imm(g, 8, w->result, 0);
	mem_store_imm(g, 8, w->at, 0);
	find_beside(g, UMAP_KEYS, map, w->at);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, none);
	code_load(&g->c, 8, R0, R0, 0);
	mem_store(g, 8, w->last, R0);
	mem_store_imm(g, 8, w->at, 1);
	from = g->c.insns.n;
	gen_call_function(g, gen_function(g, round_of_bodies, w), ROUNDS_OUT);
	gen_repeat(g, from, ROUNDS_OUT);
	code_bind(&g->c, none);
	if (n)
		end_with_body(g, w);
	else
		mem_load(g, 8, R0, w->result);
}
