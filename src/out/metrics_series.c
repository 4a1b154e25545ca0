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
	for (u32 i = one->first; i; i = s->next[i - 1])
		add_cell(&s->arena, s->t->map->value, to, &s->t->rows.v[i - 1].value);
}

/* ---- which series there are ----------------------------------------------------------------- */

static u64 hash_of(struct str labels)
{
	static const struct hash_secret secret = { { 0x243f6a8885a308d3, 0x13198a2e03707344 } };

	return hash_quick(&secret, labels.p, labels.n);
}

/* The series of those labels, made when there is none. They are kept from page to page, or
 * copied. */
static struct series *reach(struct serieses *s, const char *labels, u64 hash, bool kept)
{
	u32 at = (u32)hash & s->mask;
	struct series *one;

	for (; s->places[at]; at = (at + 1) & s->mask) {
		one = &s->all[s->places[at] - 1];
		if (one->hash == hash && strcmp(labels, one->labels) == 0)
			return one;
	}
	one = &s->all[s->n++];
	one->labels = kept ? labels : arena_strdup(&s->arena, labels);
	one->hash = hash;
	one->changed = s->m->now;
	s->places[at] = s->n;
	return one;
}

static const char *write_labels(struct serieses *s, const struct row *r,
                                void (*labels)(struct serieses *s, const struct row *r))
{
	buf_reset(&s->labels);
	labels(s, r);
	return buf_text(&s->labels);
}

/* The same from page to page. */
static struct series *reach_kept(struct serieses *s, struct metrics_names *names,
                                 const struct row *r,
                                 void (*labels)(struct serieses *s, const struct row *r))
{
	struct metrics_name *one = metrics_names_find(names, r->key, s->t->map->key_size);

	if (!one->labels) {
		one->labels = arena_strdup(&names->arena, write_labels(s, r, labels));
		one->hash = hash_of(str_of(one->labels));
	}
	return reach(s, one->labels, one->hash, true);
}

void metrics_series_find(struct serieses *s, struct metrics_shown *shown,
                         void (*labels)(struct serieses *s, const struct row *r))
{
	u32 n = s->t->rows.n;
	bool keeps = s->t->map->key && metrics_names_fit(s->t->map->key);

	if (keeps)
		metrics_names_begin(&shown->names, n);
	for (s->mask = 1; s->mask < 2 * n; s->mask = 2 * s->mask + 1)
		;
	s->places = arena_array(&s->arena, u32, s->mask + 1);
	s->next = arena_array(&s->arena, u32, n);
	s->all = arena_array(&s->arena, struct series, n);
	for (u32 i = 0; i < n; i++) {
		const struct row *r = &s->t->rows.v[i];
		const char *text = keeps ? NULL : write_labels(s, r, labels);
		struct series *one = keeps ? reach_kept(s, &shown->names, r, labels)
		                           : reach(s, text, hash_of(str_of(text)), false);

		s->next[i] = one->first;
		one->first = i + 1;
		one->n++;
		one->rank = i;
		one->counted += counted(s->t->map->value, &r->value);
	}
}

/* ---- from page to page ---------------------------------------------------------------------- */

/* A series of the last page. */
struct metrics_known {
	u64 hash;        /* of its labels */
	u64 counted;     /* what its rows counted, all together */
	u64 changed;     /* metrics.now when that became another number */
	const u64 *base; /* counts of it that are in "other"; NULL none */
	bool shown;      /* it has a place */
	bool there;      /* on this page too */
};

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

static struct series *find(const struct serieses *s, u64 hash)
{
	for (u32 at = (u32)hash & s->mask; s->places[at]; at = (at + 1) & s->mask)
		if (s->all[s->places[at] - 1].hash == hash)
			return &s->all[s->places[at] - 1];
	return NULL;
}

static void recall(struct serieses *s, struct metrics_shown *shown)
{
	for (u32 i = 0; i < shown->n_known; i++) {
		struct metrics_known *k = &shown->known[i];
		struct series *one = find(s, k->hash);

		if (!one)
			continue;
		k->there = true;
		one->before = k;
		one->base = k->base;
		if (one->counted == k->counted)
			one->changed = k->changed;
	}
	for (u32 i = 0; i < s->n; i++)
		if (!s->all[i].before)
			s->all[i].again = take_ended(shown, s->all[i].hash);
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
	now.n_known = 0;
	now.known = arena_array(&now.arena, struct metrics_known, s->n);
	for (u32 i = 0; i < s->n; i++) {
		const struct series *one = &s->all[i];
		struct metrics_known k = { one->hash, one->counted, one->changed,
			                   NULL,      one->placed,  false };

		if (one->ended)
			continue;
		if (one->base)
			k.base = copy_words(&now.arena, one->base, n_counts, n_counts);
		now.known[now.n_known++] = k;
	}
	now.rest = s->rest;
	now.kept = copy_words(&now.arena, shown->kept, n_counts, n_counts);
	now.other = copy_words(&now.arena, shown->other, n_counts, n_counts);
	now.ended = copy_words(&now.arena, shown->ended, shown->n_ended, most);
	for (u32 i = 0; i < shown->n_known; i++)
		if (shown->known[i].shown && !shown->known[i].there)
			add_ended(&now, shown->known[i].hash, most);
	arena_free(&shown->arena);
	*shown = now;
}

void metrics_shown_free(struct metrics_shown *s)
{
	metrics_names_free(&s->names);
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

	for (u32 i = one->first; i; i = s->next[i - 1])
		ok &= s->m->end(s->m->ctx, s->t->map, s->t->rows.v[i - 1].key);
	return ok;
}

/* Of keyed maps that count: elsewhere nothing says whether a key still comes. */
static void end_idle(struct serieses *s, struct metrics_shown *shown)
{
	if (!s->m->end || !s->m->idle || !s->t->map->key || !is_counted(s->t->map->value))
		return;
	for (u32 i = 0; i < s->n; i++) {
		struct series *one = &s->all[i];
		struct counts l;
		struct cell sum;

		if (s->m->now - one->changed < s->m->idle || !remove_rows(s, one))
			continue;
		s->m->ended++;
		one->ended = true;
		one->before->there = false;
		if (was_shown(one))
			continue;
		l = sum_of(s, one, &sum);
		keep(shown, &l);
	}
}

/* Those that had a place come first, then the largest. Returns how many there are. */
static u32 give_places(struct serieses *s)
{
	u32 n_rows = s->t->rows.n, n = 0;
	struct series **by_rank = arena_array(&s->arena, struct series *, n_rows);

	s->order = arena_array(&s->arena, struct series *, s->n);
	for (u32 i = 0; i < s->n; i++)
		if (!s->all[i].ended)
			by_rank[s->all[i].rank] = &s->all[i];
	for (u32 new = 0; new < 2; new ++)
		for (u32 i = n_rows; i-- > 0;)
			if (by_rank[i] && was_shown(by_rank[i]) == !new)
				s->order[n++] = by_rank[i];
	s->n_shown = MIN(n, s->m->max_series);
	for (u32 i = 0; i < s->n_shown; i++)
		s->order[i]->placed = true;
	return n;
}

/* Without what "other" has of it. When it has less than that it began anew by itself. */
static void subtract(struct series *one, const struct counts *l)
{
	for (u32 i = 0; one->base && i < l->all.n; i++)
		if (l->all.v[i].rises && *l->all.v[i].at < one->base[i])
			one->base = NULL;
	for (u32 i = 0; one->base && i < l->all.n; i++)
		*l->all.v[i].at -= one->base[i];
}

/* What the series shows of its own. */
static void add_up(struct serieses *s, struct metrics_shown *shown, struct series *one)
{
	bool placed = one->before && !one->before->shown;
	struct cell *sum;
	struct counts l;
	u64 *base;

	if (type_is_agg(s->t->map->value) && one->n == 1 && !one->base && !one->again && !placed) {
		one->value = &s->t->rows.v[one->first - 1].value;
		return;
	}
	one->value = sum = arena_new(&s->arena, struct cell);
	l = sum_of(s, one, sum);
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
static void add_up_other(struct serieses *s, struct metrics_shown *shown, u32 n)
{
	struct counts l;

	s->rest = s->n_shown < n || (shown->rest && is_counted(s->t->map->value));
	s->other = (struct cell){ 0 };
	if (s->n_shown >= n)
		s->other = zeros(s);
	for (u32 i = s->n_shown; i < n; i++)
		add_rows(s, &s->other, s->order[i]);
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
	u32 n_counts = counts_of(s, &none).all.n, n;

	if (!shown->kept) {
		shown->kept = arena_array(&shown->arena, u64, n_counts);
		shown->other = arena_array(&shown->arena, u64, n_counts);
	}
	recall(s, shown);
	end_idle(s, shown);
	n = give_places(s);
	for (u32 i = 0; i < s->n_shown; i++)
		add_up(s, shown, s->order[i]);
	add_up_other(s, shown, n);
	remember(s, shown, n_counts);
	s->m->left_out += n - s->n_shown;
}

void metrics_series_free(struct serieses *s)
{
	buf_free(&s->labels);
	buf_free(&s->text);
	arena_free(&s->arena);
}
