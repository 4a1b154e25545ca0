/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * print(@m) and clear(@m) in a row mean: take what was counted until now, and count what comes from
 * here on anew, with no event between the two. This finds such pairs in the typed trees and makes
 * one of them: the print takes, and the clear is gone. What counts in the map has to be compiled
 * for that, so its symbol says so. zero() is a clear that keeps the keys.
 *
 * Between the two may be what does not name the map and does not leave the block. Where the prints
 * are in branches, the clear moves to their ends:
 *
 *      if (a) { print(@m); } clear(@m);   is   if (a) { print(@m); clear(@m); } else { clear(@m); }
 *
 * Maps that are always taken in the same places are taken at the same instant: it is one wait for
 * all of them, and one event is in the same table of each.
 */
#include "lang/infer/infer.h"

#include <string.h>

/* Where maps are taken one after the other, with nothing between that could end it. */
struct run {
	u32 number;
};

/* What is known of a map: the runs it is taken in. */
struct taken {
	struct map_sym *sym;
	VEC(u32) runs;
};

struct take {
	struct arena *arena;
	VEC(struct taken) maps;
	u32 n_runs;
};

static bool is_call(const struct node *n, enum func_id id)
{
	return n->kind == NODE_CALL && n->call.f && n->call.f->id == id;
}

/* The expression of a statement, NULL of others. */
static struct node *expression(struct node *s)
{
	return s->kind == NODE_EXPR ? s->expr : NULL;
}

/* The map that a statement is about as a whole, when it calls that function. */
static struct map_sym *whole_map(struct node *s, enum func_id id)
{
	struct node *e = expression(s);

	if (!e || !is_call(e, id) || !e->call.args || e->call.args->kind != NODE_MAP ||
	    e->call.args->map.n_keys)
		return NULL;
	return e->call.args->map.sym;
}

static struct map_sym *emptied(struct node *s)
{
	struct map_sym *m = whole_map(s, FUNC_CLEAR);

	return m ? m : whole_map(s, FUNC_ZERO);
}

/* ---- what a statement does ------------------------------------------------------------------ */

struct look {
	const struct map_sym *map;
	bool names, prints, leaves;
};

static bool look_at(void *ctx, struct node *n)
{
	struct look *l = ctx;

	l->names |= n->kind == NODE_MAP && n->map.sym == l->map;
	l->prints |= whole_map(n, FUNC_PRINT) == l->map;
	l->leaves |= n->kind == NODE_RETURN || n->kind == NODE_BREAK || n->kind == NODE_CONTINUE ||
	             is_call(n, FUNC_EXIT);
	return true;
}

static struct look look(struct node *s, const struct map_sym *map)
{
	struct look l = { .map = map };

	ast_walk(s, look_at, &l);
	return l;
}

/* The statements that a statement is made of, when they run once and one after the other: a block,
 * the use of a macro, the branch of a condition that is known. NULL of others. */
static struct node *inner_block(struct node *s)
{
	struct node *cond = s->kind == NODE_IF ? s->branch.cond : NULL;

	if (s->kind == NODE_BLOCK)
		return s;
	if (expression(s) && s->expr->kind == NODE_BLOCK && !s->expr->result)
		return s->expr;
	if (!cond || cond->kind != NODE_INT)
		return NULL;
	if (cond->integer.value)
		return s->branch.yes;
	return s->branch.no && s->branch.no->kind == NODE_IF ? inner_block(s->branch.no)
	                                                     : s->branch.no;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

/* A place in a block: before the statement `at`, after the last when that is NULL. */
struct place {
	struct node *block, *at;
	const struct place *outer; /* of the block itself, when it runs once; NULL of others */
};

static bool pair(struct take *t, const struct place *p, const struct node *clear);

static void append(struct node *block, struct node *s)
{
	struct node **tail = &block->stmts;

	while (*tail)
		tail = &(*tail)->next;
	*tail = s;
}

/* `clear`, as the last statement of a block. */
static void move_into(struct take *t, struct node *block, const struct node *clear)
{
	struct place end = { .block = block };
	struct node one = *clear;

	one.next = NULL;
	if (!pair(t, &end, clear))
		append(block, ast_copy(t->arena, &one));
}

static void move_into_branches(struct take *t, struct node *s, const struct node *clear)
{
	struct node *no;

	move_into(t, s->branch.yes, clear);
	if (!s->branch.no || s->branch.no->kind != NODE_BLOCK) {
		no = ast_node(t->arena, NODE_BLOCK, s->loc);
		no->stmts = s->branch.no;
		s->branch.no = no;
	}
	move_into(t, s->branch.no, clear);
}

/* The last statement before a place that a clear of the map can not stand in front of. */
static struct node *last_use(const struct place *p, const struct map_sym *map)
{
	struct node *last = NULL;

	for (struct node *s = p->block->stmts; s && s != p->at; s = s->next) {
		struct look l = look(s, map);

		if (l.names || l.leaves)
			last = s;
	}
	return last;
}

static bool pair_print(struct node *print, const struct node *clear)
{
	if (print->call.takes)
		return false;
	print->call.takes = true;
	print->call.keeps_keys = is_call(clear->expr, FUNC_ZERO);
	return true;
}

/* Makes one of `clear`, at that place, and the prints before it. False: there are none. */
static bool pair(struct take *t, const struct place *p, const struct node *clear)
{
	const struct map_sym *map = clear->expr->call.args->map.sym;
	struct node *s = last_use(p, map), *inner;

	if (!s)
		return p->outer && pair(t, p->outer, clear);
	if (whole_map(s, FUNC_PRINT) == map)
		return pair_print(s->expr, clear);
	inner = inner_block(s);
	if (!look(inner ? inner : s, map).prints || (!inner && s->kind != NODE_IF))
		return false;
	if (inner)
		move_into(t, inner, clear);
	else
		move_into_branches(t, s, clear);
	return true;
}

static void pair_block(struct take *t, struct node *block, const struct place *outer);

/* Blocks that may run several times, or not. */
static bool pair_apart(void *ctx, struct node *n)
{
	if (n->kind != NODE_BLOCK)
		return true;
	pair_block(ctx, n, NULL);
	return false;
}

static void pair_block(struct take *t, struct node *block, const struct place *outer)
{
	struct node **at = &block->stmts, *s;

	while ((s = *at)) {
		struct place here = { block, s, outer };
		struct node *inner = inner_block(s);

		if (emptied(s) && pair(t, &here, s)) {
			*at = s->next;
			continue;
		}
		if (inner)
			pair_block(t, inner, &here);
		else
			ast_walk(s, pair_apart, t);
		at = &s->next;
	}
}

/* ---- groups --------------------------------------------------------------------------------- */

static void add_run(struct take *t, struct map_sym *sym, u32 number)
{
	u32 i = 0;

	while (i < t->maps.n && t->maps.v[i].sym != sym)
		i++;
	if (i == t->maps.n)
		vec_add(t->arena, &t->maps, (struct taken){ .sym = sym });
	vec_add(t->arena, &t->maps.v[i].runs, number);
}

static void list_block(struct take *t, struct node *block, struct run *run);

/* Statements that may run several times, or not. */
static bool list_apart(void *ctx, struct node *n)
{
	struct take *t = ctx;
	struct run run;

	if (n->kind != NODE_BLOCK)
		return true;
	run.number = t->n_runs++;
	list_block(t, n, &run);
	return false;
}

static void list_block(struct take *t, struct node *block, struct run *run)
{
	for (struct node *s = block->stmts; s; s = s->next) {
		struct map_sym *map = whole_map(s, FUNC_PRINT);
		struct node *inner = inner_block(s);

		if (map && s->expr->call.takes)
			add_run(t, map, run->number);
		else if (inner)
			list_block(t, inner, run);
		else if (s->kind != NODE_IF || s->branch.cond->kind != NODE_INT)
			ast_walk(s, list_apart, t);
		if (!inner && look(s, NULL).leaves)
			run->number = t->n_runs++;
	}
}

static bool same_runs(const struct taken *a, const struct taken *b)
{
	return a->runs.n == b->runs.n &&
	       memcmp(a->runs.v, b->runs.v, a->runs.n * sizeof(*a->runs.v)) == 0;
}

/* A map's group has the number of the first map that is taken where it is. */
static void group_maps(struct take *t)
{
	for (u32 i = 0; i < t->maps.n; i++) {
		u32 first = 0;

		while (!same_runs(&t->maps.v[first], &t->maps.v[i]))
			first++;
		t->maps.v[i].sym->taken = 1 + first;
	}
}

/* ---- the script ----------------------------------------------------------------------------- */

/* User space runs none of a pinned iterator's calls. */
static bool is_looked_at(const struct variant *v)
{
	return !v->ruled_out && v->sites.n && !attach_kind_has(v->kind, KIND_READ);
}

void infer_take(struct infer *in)
{
	struct take t = { .arena = in->arena };

	for (struct probe *p = in->script->probes; p; p = p->next) {
		for (u32 i = 0; i < p->variants.n; i++) {
			struct variant *v = p->variants.v[i];
			struct run run = { t.n_runs++ };

			if (!is_looked_at(v))
				continue;
			pair_block(&t, v->body, NULL);
			list_block(&t, v->body, &run);
		}
	}
	group_maps(&t);
}
