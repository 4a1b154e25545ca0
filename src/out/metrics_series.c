/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A reader takes a counter that fell for one that began again at 0, and adds all of it: so nothing
 * here falls but for that reason. What is kept from page to page is 40 bytes for each series of the
 * map, the counts that "other" keeps, and the names' hashes of the last `max_series` that ended.
 */
#include "out/metrics_series.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "out/value.h"

/* ---- what of a cell only rises -------------------------------------------------------------- */

struct count {
	u64 *at;
	bool rises; /* else it is a sum of signed numbers beside a count */
};

struct counts {
	struct arena *arena;
	VEC(struct count) all;
};

static void add_count(struct counts *c, void *at, bool rises)
{
	struct count one = { at, rises };

	vec_add(c->arena, &c->all, one);
}

/* The counts in a cell of type t, the same ones for each cell of that type. */
static void list_counts(struct counts *l, const struct type *t, const struct cell *cell)
{
	struct cell *c = base_plain(cell);

	if (t->kind == TYPE_COUNT || (t->kind == TYPE_SUM && !t->is_signed))
		add_count(l, &c->n, true);
	if (t->kind == TYPE_AVG || t->kind == TYPE_STATS) {
		add_count(l, &c->n, true);
		add_count(l, &c->total, !t->is_signed);
	}
	for (u32 i = 0; value_is_hist(t) && i < c->n_buckets; i++)
		add_count(l, base_plain(&c->buckets[i]), true);
	for (u32 i = 0; t->kind == TYPE_AGGS && i < t->n_fields; i++)
		list_counts(l, t->fields[i].type, &c->parts[i]);
}

static bool is_counted(const struct type *t)
{
	bool any = false;

	for (u32 i = 0; t->kind == TYPE_AGGS && i < t->n_fields; i++)
		any |= is_counted(t->fields[i].type);
	return any || t->kind == TYPE_COUNT || (t->kind == TYPE_SUM && !t->is_signed) ||
	       t->kind == TYPE_AVG || t->kind == TYPE_STATS || value_is_hist(t);
}

/* Changes with each event that is counted, but for sums of 0. */
static u64 counted(const struct type *t, const struct cell *c)
{
	u64 n = 0;

	for (u32 i = 0; t->kind == TYPE_AGGS && i < t->n_fields; i++)
		n += counted(t->fields[i].type, &c->parts[i]);
	for (u32 i = 0; value_is_hist(t) && i < c->n_buckets; i++)
		n += c->buckets[i];
	return t->kind == TYPE_AGGS || value_is_hist(t) ? n : n + (u64)c->n;
}

/* ---- cells added up ------------------------------------------------------------------------- */

static bool is_better(const struct type *t, s64 a, s64 b)
{
	bool less = t->is_signed ? a < b : (u64)a < (u64)b;

	return less == (t->kind == TYPE_MIN);
}

static void add_buckets(struct cell *to, struct arena *a, const struct cell *c)
{
	u64 *sum = base_plain(to->buckets);

	if (!sum)
		to->buckets = sum = arena_array(a, u64, c->n_buckets);
	for (u32 i = 0; i < c->n_buckets; i++)
		sum[i] += c->buckets[i];
	to->n_buckets = c->n_buckets;
}

/* *to is of zeros at first, and has its own buckets and parts then. */
static void add_cell(struct arena *a, const struct type *t, struct cell *to, const struct cell *c)
{
	struct cell *parts = base_plain(to->parts);
	struct value v;

	if (t->kind == TYPE_AGGS) {
		if (!parts)
			to->parts = parts = arena_array(a, struct cell, t->n_fields);
		for (u32 i = 0; i < t->n_fields; i++)
			add_cell(a, t->fields[i].type, &parts[i], &c->parts[i]);
	} else if (t->kind == TYPE_MIN || t->kind == TYPE_MAX) {
		if (c->set && (!to->set || is_better(t, c->n, to->n)))
			to->n = c->n;
		to->set |= c->set;
	} else if (value_is_hist(t)) {
		add_buckets(to, a, c);
	} else if (type_is_agg(t)) {
		to->n = (s64)((u64)to->n + (u64)c->n);
		to->total = (s64)((u64)to->total + (u64)c->total);
	} else {
		v = value_at_rest(t, c->bytes);
		to->n = (s64)((u64)to->n + value_word(&v));
		to->bytes = c->bytes;
	}
}

static void add_rows(struct serieses *s, struct cell *to, const struct series *one)
{
	for (u32 i = 0; i < one->n; i++)
		add_cell(&s->arena, s->t->map->value, to, &s->rows.v[one->first + i]->value);
}

/* ---- which series there are ----------------------------------------------------------------- */

struct labelled {
	const char *labels;
	u32 row;
};

static int by_labels(const void *a, const void *b)
{
	const struct labelled *x = a, *y = b;
	int order = strcmp(x->labels, y->labels);

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

static u64 hash_of(const char *labels)
{
	static const struct hash_secret secret = { { 0x243f6a8885a308d3, 0x13198a2e03707344 } };

	return hash_quick(&secret, labels, strlen(labels));
}

void metrics_series_find(struct serieses *s,
                         const char *(*labels)(struct serieses *s, const struct row *r))
{
	u32 n = s->t->rows.n;
	struct labelled *l = arena_array(&s->arena, struct labelled, n);
	struct series *last;

	for (u32 i = 0; i < n; i++)
		l[i] = (struct labelled){ labels(s, &s->t->rows.v[i]), i };
	qsort(l, n, sizeof(*l), by_labels);
	for (u32 i = 0; i < n; i++) {
		const struct row *row = &s->t->rows.v[l[i].row];
		struct series one = { .labels = l[i].labels, .first = i };

		one.hash = hash_of(one.labels);
		if (!i || strcmp(l[i].labels, l[i - 1].labels) != 0)
			vec_add(&s->arena, &s->all, one);
		last = &s->all.v[s->all.n - 1];
		last->n++;
		last->rank = MAX(last->rank, l[i].row);
		last->counted += counted(s->t->map->value, &row->value);
		vec_add(&s->arena, &s->rows, row);
	}
}

/* ---- from page to page ---------------------------------------------------------------------- */

/* A series of the last page; they are sorted by the hash. */
struct metrics_known {
	u64 hash;        /* of its labels */
	u64 counted;     /* what its rows counted, all together */
	u64 changed;     /* metrics.now when that became another number */
	const u64 *base; /* counts of it that are in "other"; NULL none */
	bool shown;      /* it has a place */
	bool there;      /* on this page too */
};

static int by_hash(const void *a, const void *b)
{
	const struct metrics_known *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Of those that ended; it is not one of them then any more. */
static bool take_ended(struct metrics_shown *shown, u64 hash)
{
	for (u32 i = 0; i < shown->n_ended; i++) {
		if (shown->ended[i] == hash) {
			shown->ended[i] = 0;
			return true;
		}
	}
	return false;
}

/* In the place of the oldest one when there is none free. */
static void add_ended(struct metrics_shown *shown, u64 hash, u32 most)
{
	shown->ended[shown->next_ended] = hash;
	shown->next_ended = (shown->next_ended + 1) % most;
	shown->n_ended = MIN(shown->n_ended + 1, most);
}

static void recall(struct serieses *s, struct metrics_shown *shown)
{
	for (u32 i = 0; i < s->all.n; i++) {
		struct series *one = &s->all.v[i];
		struct metrics_known key = { .hash = one->hash };

		one->changed = s->m->now;
		if (shown->n_known)
			one->before = bsearch(&key, shown->known, shown->n_known, sizeof(key),
			                      by_hash);
		if (!one->before) {
			one->again = take_ended(shown, one->hash);
			continue;
		}
		one->before->there = true;
		one->base = one->before->base;
		if (one->counted == one->before->counted)
			one->changed = one->before->changed;
	}
}

static bool was_shown(const struct series *one)
{
	return one->before && one->before->shown;
}

static u64 *copy_words(struct arena *a, const u64 *from, u32 n, u32 room)
{
	u64 *to = arena_array(a, u64, room);

	if (n)
		memcpy(to, from, n * sizeof(*to));
	return to;
}

static void remember(struct serieses *s, struct metrics_shown *shown, u32 n_counts)
{
	struct metrics_shown now = *shown;
	u32 most = MAX(s->m->max_series, 1u);

	now.arena = (struct arena){ 0 };
	now.n_known = s->all.n;
	now.known = arena_array(&now.arena, struct metrics_known, s->all.n);
	for (u32 i = 0; i < s->all.n; i++) {
		const struct series *one = &s->all.v[i];
		struct metrics_known k = { one->hash, one->counted,   one->changed,
			                   NULL,      i < s->n_shown, false };

		if (one->base)
			k.base = copy_words(&now.arena, one->base, n_counts, n_counts);
		now.known[i] = k;
	}
	qsort(now.known, now.n_known, sizeof(*now.known), by_hash);
	now.rest = s->rest;
	now.kept = copy_words(&now.arena, shown->kept, n_counts, n_counts);
	now.other = copy_words(&now.arena, shown->other, n_counts, n_counts);
	now.ended = copy_words(&now.arena, shown->ended, shown->n_ended, most);
	for (u32 i = 0; i < shown->n_known; i++)
		if (shown->known[i].shown && !shown->known[i].there)
			add_ended(&now, shown->known[i].hash, most);
	metrics_shown_free(shown);
	*shown = now;
}

void metrics_shown_free(struct metrics_shown *s)
{
	arena_free(&s->arena);
	*s = (struct metrics_shown){ 0 };
}

/* ---- ends, places, sums --------------------------------------------------------------------- */

static struct cell zeros(struct serieses *s)
{
	const struct umap *map = s->t->map;
	struct cell c = { 0 };

	cell_merge(&c, &s->arena, map->value, NULL, 0, ROUND_UP(map->value_size, 8u));
	return c;
}

static struct counts counts_of(struct serieses *s, const struct cell *c)
{
	struct counts l = { .arena = &s->arena };

	list_counts(&l, s->t->map->value, c);
	return l;
}

static struct counts sum_of(struct serieses *s, const struct series *one, struct cell *sum)
{
	*sum = (struct cell){ 0 };
	add_rows(s, sum, one);
	return counts_of(s, sum);
}

/* What a series counted so far stays in "other". */
static void keep(struct metrics_shown *shown, const struct counts *l)
{
	for (u32 i = 0; i < l->all.n; i++)
		shown->kept[i] += *l->all.v[i].at;
}

static bool remove_rows(struct serieses *s, const struct series *one)
{
	bool ok = true;

	for (u32 i = 0; i < one->n; i++)
		ok &= s->m->end(s->m->ctx, s->t->map, s->rows.v[one->first + i]->key);
	return ok;
}

/* Of keyed maps that count: elsewhere nothing says whether a key still comes. */
static void end_idle(struct serieses *s, struct metrics_shown *shown)
{
	u32 n = 0;

	if (!s->m->end || !s->m->idle || !s->t->map->key || !is_counted(s->t->map->value))
		return;
	for (u32 i = 0; i < s->all.n; i++) {
		struct series *one = &s->all.v[i];
		struct counts l;
		struct cell sum;

		if (s->m->now - one->changed < s->m->idle || !remove_rows(s, one)) {
			s->all.v[n++] = *one;
			continue;
		}
		s->m->ended++;
		one->before->there = false;
		if (was_shown(one))
			continue;
		l = sum_of(s, one, &sum);
		keep(shown, &l);
	}
	s->all.n = n;
}

static int by_place(const void *a, const void *b)
{
	const struct series *x = a, *y = b;

	if (was_shown(x) != was_shown(y))
		return was_shown(y) - was_shown(x);
	return (x->rank < y->rank) - (x->rank > y->rank);
}

/* Without what "other" has of it. When it has less than that it began anew by itself. */
static void subtract(struct series *one, const struct counts *l)
{
	for (u32 i = 0; i < l->all.n; i++)
		if (l->all.v[i].rises && *l->all.v[i].at < one->base[i])
			one->base = NULL;
	for (u32 i = 0; one->base && i < l->all.n; i++)
		*l->all.v[i].at -= one->base[i];
}

/* What the series shows of its own. */
static void add_up(struct serieses *s, struct metrics_shown *shown, struct series *one)
{
	bool placed = one->before && !one->before->shown;
	struct counts l;
	u64 *base;

	if (type_is_agg(s->t->map->value) && one->n == 1 && !one->base && !one->again && !placed) {
		one->value = s->rows.v[one->first]->value;
		return;
	}
	l = sum_of(s, one, &one->value);
	if (placed && l.all.n) {
		one->base = base = arena_array(&s->arena, u64, l.all.n);
		for (u32 i = 0; i < l.all.n; i++)
			base[i] = *l.all.v[i].at;
		keep(shown, &l);
	}
	if (one->base)
		subtract(one, &l);
	for (u32 i = 0; one->again && i < l.all.n; i++)
		*l.all.v[i].at = 0;
}

/* It is there once there was one, for its counts are. When rows left it without a word, as those
 * that a script deletes, it keeps what it showed. */
static void add_up_other(struct serieses *s, struct metrics_shown *shown)
{
	struct counts l;

	s->rest = s->n_shown < s->all.n || (shown->rest && is_counted(s->t->map->value));
	s->other = zeros(s);
	if (s->n_shown < s->all.n)
		s->other = (struct cell){ 0 };
	for (u32 i = s->n_shown; i < s->all.n; i++)
		add_rows(s, &s->other, &s->all.v[i]);
	l = counts_of(s, &s->other);
	for (u32 i = 0; i < l.all.n; i++) {
		u64 *at = l.all.v[i].at, lost;

		*at += shown->kept[i];
		lost = l.all.v[i].rises && *at < shown->other[i] ? shown->other[i] - *at : 0;
		*at += lost;
		shown->kept[i] += lost;
		shown->other[i] = *at;
	}
}

void metrics_series_settle(struct serieses *s, struct metrics_shown *shown)
{
	struct cell none = zeros(s);
	u32 n_counts = counts_of(s, &none).all.n;

	if (!shown->kept) {
		shown->kept = arena_array(&shown->arena, u64, n_counts);
		shown->other = arena_array(&shown->arena, u64, n_counts);
	}
	recall(s, shown);
	end_idle(s, shown);
	if (s->all.n)
		qsort(s->all.v, s->all.n, sizeof(*s->all.v), by_place);
	s->n_shown = MIN(s->all.n, s->m->max_series);
	for (u32 i = 0; i < s->n_shown; i++)
		add_up(s, shown, &s->all.v[i]);
	add_up_other(s, shown);
	remember(s, shown, n_counts);
	s->m->left_out += s->all.n - s->n_shown;
}
