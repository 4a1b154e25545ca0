/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Most maps are only in the kernel, and their rows go straight into the table. A map of two
 * generations (kern/kern_turn.c) has rows here when it has filled, or when the kernel had no memory
 * for a key: then what is here and what is there are merged by key. Keys that are here are counted
 * whatever memory they take; for new ones there is a limit, of all maps together.
 */
#include "run/taken.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void taken_init(struct taken *t, const struct unit *u, struct live *l, u64 memory)
{
	*t = (struct taken){ .unit = u, .live = l, .limit = memory - memory / LIVE_KEPT };
	t->held = calloc(u->maps.n + 1, sizeof(*t->held));
	t->zeroed = calloc(u->maps.n + 1, sizeof(*t->zeroed));
	if (!t->held || !t->zeroed)
		base_no_memory();
	for (u32 i = 0; i < u->maps.n; i++)
		held_init(&t->held[i], &u->maps.v[i]);
}

void taken_free(struct taken *t)
{
	for (u32 i = 0; t->held && i < t->unit->maps.n; i++)
		held_free(&t->held[i]);
	free(t->held);
	free(t->zeroed);
	*t = (struct taken){ 0 };
}

struct adding {
	struct table *table;
	struct held *held;
	u32 cells;
};

static bool add_row(void *ctx, const void *key, const void *cells)
{
	const struct adding *a = ctx;

	table_add(a->table, key, cells, a->cells);
	return true;
}

static bool hold_row(void *ctx, const void *key, const void *cells)
{
	const struct adding *a = ctx;

	held_add(a->held, key, cells, a->cells);
	return true;
}

/* ---- the limit ------------------------------------------------------------------------------ */

static u64 bytes_held(const struct taken *t, u64 *rows)
{
	u64 sum = 0;

	*rows = 0;
	for (u32 i = 0; i < t->unit->maps.n; i++) {
		sum += t->held[i].bytes;
		*rows += t->held[i].n;
	}
	return sum;
}

static void note_most(struct taken *t)
{
	u64 rows, bytes = bytes_held(t, &rows);

	if (bytes > t->most) {
		t->most = bytes;
		t->rows = rows;
	}
}

static bool has_room(const struct taken *t, const struct held *held, const void *key)
{
	u64 rows;

	return bytes_held(t, &rows) < t->limit || held_find(held, key);
}

/* How many events a cell stands for, as far as it says. */
static u64 events_in(const struct type *t, const u64 *cell)
{
	u64 n = 0;

	switch (t->kind) {
	case TYPE_COUNT:
	case TYPE_AVG:
	case TYPE_STATS:
		return cell[0];
	case TYPE_HIST:
	case TYPE_LHIST:
		for (u32 i = 0; i < type_cell(t) / 8; i++)
			n += cell[i];
		return n;
	case TYPE_AGGS:
		for (u32 i = 0; i < t->n_fields; i++)
			n = MAX(n, events_in(t->fields[i].type, cell + t->fields[i].off / 8));
		return n;
	default:
		return 1;
	}
}

struct draining {
	struct taken *taken;
	struct held *held;
	u32 map, cells;
};

static bool drain_row(void *ctx, const void *key, const void *cells)
{
	const struct draining *d = ctx;
	const struct umap *m = &d->taken->unit->maps.v[d->map];
	const u64 *cell = cells;

	if (has_room(d->taken, d->held, key)) {
		held_add(d->held, key, cells, d->cells);
		return true;
	}
	note_most(d->taken);
	for (u32 i = 0; i < d->cells; i++, cell += ROUND_UP(m->value_size, 8u) / 8)
		d->taken->n_lost += events_in(m->value, cell);
	return true;
}

/* The kernel's rows to ours. */
static bool take_over(struct taken *t, u32 map, u32 how, struct err *e)
{
	struct draining d = { t, &t->held[map], map, live_cells(t->live, map) };

	return live_map_turn(t->live, map, how, drain_row, &d, e);
}

static bool drain(struct taken *t, u32 map, struct err *e)
{
	bool ok = take_over(t, map, TURN_ALONE, e);

	t->drained++;
	t->overflowed = true;
	note_most(t);
	return ok;
}

/* What programs had not left when it was to be taken, of all maps: those of a group are turned over
 * together when all of them were read. */
static bool take_late(struct taken *t, struct err *e)
{
	bool ok = true;

	for (u32 i = 0; i < t->unit->maps.n && ok; i++)
		if (live_map_late(t->live, i))
			ok = take_over(t, i, 0, e);
	return ok;
}

bool taken_check(struct taken *t, struct err *e)
{
	bool ok = true;

	for (u32 i = 0; i < t->unit->maps.n && ok; i++)
		if (live_map_fills(t->live, i))
			ok = drain(t, i, e);
	return ok;
}

/* ---- tables --------------------------------------------------------------------------------- */

/* Rows of the kernel's and of ours, merged: programs read the map, so they stay there. */
static bool look_both(struct taken *t, u32 map, struct table *rows, struct err *e)
{
	struct held all;
	struct adding adding = { .held = &all, .cells = live_cells(t->live, map) };
	bool ok;

	held_init(&all, &t->unit->maps.v[map]);
	held_add_all(&all, &t->held[map]);
	ok = live_map_each(t->live, map, hold_row, &adding, e);
	held_rows(&all, rows);
	held_free(&all);
	return ok;
}

static bool look(struct taken *t, u32 map, struct table *rows, struct err *e)
{
	struct adding adding = { rows, &t->held[map], live_cells(t->live, map) };
	bool ok;

	if (live_map_unread(t->live, map) &&
	    !live_map_turn(t->live, map, TURN_ALONE, hold_row, &adding, e))
		return false;
	if (held_is_empty(&t->held[map]))
		return live_map_each(t->live, map, add_row, &adding, e);
	if (!live_map_drains(t->live, map))
		return look_both(t, map, rows, e);
	ok = live_map_turn(t->live, map, TURN_ALONE, hold_row, &adding, e);
	note_most(t);
	held_rows(&t->held[map], rows);
	return ok;
}

static bool take(struct taken *t, u32 map, bool keeps_keys, struct table *rows, struct err *e)
{
	struct held *held = &t->held[map];
	struct adding adding = { rows, held, live_cells(t->live, map) };
	u32 how = keeps_keys ? TURN_KEEPS_KEYS : 0;
	bool ours = keeps_keys && live_map_drains(t->live, map), ok;

	if (!take_late(t, e))
		return false;
	if (live_map_late(t->live, map))
		return true;
	if (held_is_empty(held) && !ours)
		return live_map_turn(t->live, map, how, add_row, &adding, e);
	if (ours) { /* no program looks for the keys: they need not be put in again one by one */
		ok = take_over(t, map, 0, e);
	} else {
		ok = live_map_turn(t->live, map, how, hold_row, &adding, e);
		note_most(t);
	}
	if (live_map_late(t->live, map))
		return ok;
	held_rows(held, rows);
	held_clear(held, keeps_keys);
	return ok;
}

bool taken_look(struct taken *t, u32 map, struct table *rows, struct err *e)
{
	bool ok = look(t, map, rows, e);

	rows->is_set |= t->zeroed[map];
	return ok;
}

bool taken_take(struct taken *t, u32 map, bool keeps_keys, struct table *rows, struct err *e)
{
	bool ok = take(t, map, keeps_keys, rows, e);

	rows->is_set |= t->zeroed[map];
	t->zeroed[map] = keeps_keys && rows->is_set;
	return ok;
}

/* zero() leaves a map without key as it is when nothing was put into it. */
static bool is_set(struct taken *t, u32 map)
{
	struct arena arena = { 0 };
	struct err ignored = { 0 };
	struct table rows;

	table_init(&rows, &arena, t->unit, &t->unit->maps.v[map]);
	taken_look(t, map, &rows, &ignored);
	arena_free(&arena);
	return rows.is_set;
}

void taken_look_up(struct taken *t, u32 map, const void *key, struct table *rows)
{
	const struct umap *m = &t->unit->maps.v[map];
	u32 n = live_cells(t->live, map), size = ROUND_UP(m->value_size, 8u);
	const void *held = held_find(&t->held[map], key);
	u8 *cells = arena_alloc(rows->arena, (size_t)(n + 1) * size);

	live_map_get(t->live, map, key, cells); /* absent: all zero */
	if (held)
		memcpy(cells + (size_t)n * size, held, size);
	table_add(rows, key, cells, held ? n + 1 : n);
}

bool taken_remove(struct taken *t, u32 map, const void *key)
{
	bool held = held_remove(&t->held[map], key);

	/* Of one that drains the kernel has what came after it was looked at. */
	if (held && live_map_drains(t->live, map))
		return true;
	return live_map_remove(t->live, map, key) || held;
}

bool taken_drop(struct taken *t, u32 map, bool keeps_keys, struct err *e)
{
	t->zeroed[map] = keeps_keys && !t->unit->maps.v[map].key && is_set(t, map);
	held_clear(&t->held[map], keeps_keys);
	return keeps_keys ? live_map_zero(t->live, map, e) : live_map_clear(t->live, map, e);
}

struct showing {
	live_row_fn *cb;
	void *ctx;
};

static void show_row(void *ctx, const void *key, void *cell)
{
	const struct showing *s = ctx;

	s->cb(s->ctx, key, cell);
}

void taken_held(const struct taken *t, u32 map, live_row_fn *cb, void *ctx)
{
	held_each(&t->held[map], show_row, &(struct showing){ cb, ctx });
}

/* It is full, unless that was said before it was last emptied. What programs read in it has to
 * stay. One that is late is asked for by taken_check(), not for each event. */
static bool may_empty(const struct taken *t, u32 map, const struct unit_spill *spill)
{
	return (s32)(u32)spill->why - EEXIST == -E2BIG && live_map_drains(t->live, map) &&
	       !live_map_late(t->live, map) && spill->turn == live_map_turned(t->live, map);
}

bool taken_spill(struct taken *t, u32 map, const struct unit_spill *spill, struct err *e)
{
	struct held *held = &t->held[map];

	t->overflowed = true;
	if (has_room(t, held, (const u8 *)spill + unit_spill_key(t->unit->maps.v[map].value)))
		held_spill(held, spill);
	else
		t->n_lost++;
	note_most(t);
	return !may_empty(t, map, spill) || drain(t, map, e);
}
