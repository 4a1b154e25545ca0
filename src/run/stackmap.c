/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's map of stacks has few rows of a kilobyte each, and what programs put in stays. So
 * rows are taken out while it is far from full, and kept where they take little (agg/stacks.c). A
 * stack that comes again is put in again: its number is made of its frames, so that is the same
 * one.
 *
 * When that is full too, stacks go that no map of the script names any more and that did not come
 * since the time before last (a record on its way may name them).
 */
#include "run/stackmap.h"

#include <stdlib.h>
#include <string.h>

#include "run/taken.h"

struct stackmap {
	const struct unit *unit;
	struct live *live;
	u32 map;
	struct stacks *stacks;
	const struct taken *rows; /* NULL: none but in the kernel */
	u64 seen;                 /* of UDATA_STACKS */
	u64 put;                  /* by us */
	u64 lost;                 /* taken, and there was no room */
	bool swept;               /* since the last time that stacks were taken out */
};

struct stackmap *stackmap_new(const struct unit *u, struct live *l, u64 limit)
{
	s32 map = unit_map(u, UMAP_STACKS);
	struct stackmap *m;

	if (map < 0)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		base_no_memory();
	m->unit = u;
	m->live = l;
	m->map = (u32)map;
	m->stacks = stacks_new(limit);
	return m;
}

void stackmap_set_rows(struct stackmap *m, const struct taken *rows)
{
	if (m)
		m->rows = rows;
}

void stackmap_free(struct stackmap *m)
{
	if (!m)
		return;
	stacks_free(m->stacks);
	free(m);
}

/* ---- what is still named ---- */

struct named {
	struct arena arena;
	VEC(u64) ids; /* sorted in the end */
	const struct umap *map;
	u32 cells;
};

static void name_id(struct named *n, const void *p)
{
	u64 id;

	memcpy(&id, p, sizeof(id));
	vec_add(&n->arena, &n->ids, id);
}

/* The numbers of stacks in a value at rest. */
static void name_in(struct named *n, const struct type *t, const u8 *p)
{
	if (!t || !p)
		return;
	if (type_is_stack(t))
		name_id(n, p);
	if (t->kind == TYPE_STACK)
		name_id(n, p + 16);
	for (u32 i = 0; t->kind == TYPE_TUPLE && i < t->n_fields; i++)
		name_in(n, t->fields[i].type, p + t->fields[i].off);
	for (u32 i = 0; t->kind == TYPE_ARRAY && i < t->count; i++)
		name_in(n, t->elem, p + (size_t)i * type_slot(t->elem));
}

static bool name_row(void *ctx, const void *key, const void *cells)
{
	struct named *n = ctx;

	name_in(n, n->map->key, key);
	for (u32 i = 0; i < n->cells; i++)
		name_in(n, n->map->value, (const u8 *)cells + (size_t)i * n->map->value_size);
	return true;
}

static int by_id(const void *a, const void *b)
{
	u64 x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static bool is_named(void *ctx, u64 id)
{
	const struct named *n = ctx;

	return n->ids.n && bsearch(&id, n->ids.v, n->ids.n, sizeof(id), by_id);
}

static void sweep(struct stackmap *m)
{
	struct named n = { 0 };
	struct err e;

	for (u32 i = 0; i < m->unit->maps.n; i++) {
		n.map = &m->unit->maps.v[i];
		n.cells = live_cells(m->live, i);
		if (n.map->role != UMAP_USER)
			continue;
		live_map_each(m->live, i, name_row, &n, &e);
		n.cells = 1;
		if (m->rows)
			taken_held(m->rows, i, name_row, &n);
	}
	if (n.ids.n)
		qsort(n.ids.v, n.ids.n, sizeof(u64), by_id);
	stacks_sweep(m->stacks, is_named, &n);
	arena_free(&n.arena);
}

/* ---- taking ---- */

static bool take(void *ctx, const void *key, const void *value)
{
	struct stackmap *m = ctx;
	u64 id;

	memcpy(&id, key, sizeof(id));
	if (!stacks_put(m->stacks, id, value) && !m->swept) {
		m->swept = true;
		sweep(m);
	}
	m->lost += !stacks_put(m->stacks, id, value);
	return true;
}

static void take_all(struct stackmap *m)
{
	struct err e;

	stacks_age(m->stacks);
	m->swept = false;
	live_map_take(m->live, m->map, take, m, &e);
}

void stackmap_check(struct stackmap *m)
{
	u64 now = m ? live_data(m->live, UDATA_STACKS) : 0;

	if (!m || now + m->put - m->seen < UNIT_STACKS_DRAIN)
		return;
	m->seen = now + m->put;
	take_all(m);
}

/* Where there is hardly room the last ones may as well stay where they are. */
void stackmap_end(struct stackmap *m)
{
	struct stacks_stat stat;

	if (!m)
		return;
	stat = stacks_stat(m->stacks);
	if (stat.bytes < stat.limit / 4)
		take_all(m);
}

void stackmap_put(struct stackmap *m, u64 id, const struct ustack_value *v)
{
	struct err e;

	if (!m)
		return;
	take(m, &id, v);
	if (live_map_put(m->live, m->map, &id, v, &e)) /* for len() */
		m->put++;
}

bool stackmap_find(struct stackmap *m, u64 id, struct ustack_value *v)
{
	return m && (stacks_find(m->stacks, id, v) || live_map_get(m->live, m->map, &id, v));
}

struct stacks_stat stackmap_stat(const struct stackmap *m, u64 *lost)
{
	*lost = m ? m->lost : 0;
	return m ? stacks_stat(m->stacks) : (struct stacks_stat){ 0 };
}
