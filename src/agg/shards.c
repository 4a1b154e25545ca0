/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hit-ratio curves by spatial sampling; see shards.h.
 *
 * Watched keys stand in three orders at once:
 *
 *   by hash    chains, to find a key, and a heap with the largest hash on top, which goes first when
 *              there are too many
 *   by use     `order`, an array of places: a use takes the next place, and what stands behind a
 *              key's place was used since. Two trees of sums (Fenwick, 1994) over the places count
 *              keys and bytes behind a place in log time. When the places are used up, they are
 *              closed up
 *
 * A use counts as many uses as one watched key stands for, at the distance scaled up likewise. Hot
 * keys are few, and whether one is watched or not moves the whole curve: the uses that were watched
 * too few or too many for their share are put to, or taken from, the shortest distances (the
 * adjustment of section 3.4 of the paper).
 */
#include "agg/shards.h"

#include <stdlib.h>
#include <string.h>

#define WHOLE  18446744073709551616.0 /* 2^64 */
#define BITS   7u                     /* buckets of distances: 2^BITS for each power of two */
#define LEVELS (1u + 56u)
#define CELLS  (LEVELS << BITS)

struct sample {
	u64 hash, size;
	u32 chain;
	u32 place;
	u32 heap;
};

/* Weighted counts by distance. */
struct distances {
	double cells[CELLS];
	double sum;
};

struct shards {
	u32 most, n;
	u64 threshold; /* 0: 2^64 */
	struct sample *samples;
	u32 *heads, mask;
	u32 *heap;          /* 1 .. n; samples, largest hash first */
	u32 *order, places; /* sample at a place, 0 none; places 1 .. places */
	u32 last;           /* place taken last */
	u32 *keys;          /* tree: samples */
	u64 *bytes;         /* tree: their bytes */
	u64 total_bytes;
	u32 free; /* chain of free samples */
	u64 uses, watched;
	double expected; /* uses that those watched stand for */
	struct distances by_keys, by_bytes;
};

/* ---- distances ---- */

static u32 cell_of(double distance)
{
	u64 d = distance < 9e18 ? (u64)distance : (u64)9e18;
	u32 l;

	if (d < 1u << BITS)
		return (u32)d;
	l = 63 - (u32)__builtin_clzll(d);
	return MIN(((l - BITS + 1) << BITS) + (u32)(d >> (l - BITS)) - (1u << BITS), CELLS - 1);
}

/* The smallest distance that is in no lower cell. */
static double cell_low(u32 cell)
{
	u32 level = cell >> BITS;

	if (!level)
		return cell;
	return (double)((1ull << BITS) + (cell & ((1u << BITS) - 1))) *
	       (double)(1ull << (level - 1));
}

static void distances_add(struct distances *d, double distance, double weight)
{
	d->cells[cell_of(distance)] += weight;
	d->sum += weight;
}

/* Uses with a distance below `at`; inside a cell they are spread evenly. */
static double distances_below(const struct distances *d, double at)
{
	double sum = 0;
	u32 cell = cell_of(at);
	double low = cell_low(cell), high = cell_low(cell + 1);

	for (u32 i = 0; i < cell; i++)
		sum += d->cells[i];
	return sum + d->cells[cell] * (at - low) / (high - low);
}

/* The distance below which so many uses are, at least as far as a cell tells. */
static double distances_reach(const struct distances *d, double uses)
{
	double sum = 0;
	u32 last = 0;

	for (u32 i = 0; i < CELLS; i++) {
		if (!(d->cells[i] > 0))
			continue;
		if (sum + d->cells[i] >= uses)
			return cell_low(i) +
			       (cell_low(i + 1) - cell_low(i)) * MAX(uses - sum, 0) / d->cells[i];
		sum += d->cells[i];
		last = i + 1;
	}
	return last ? cell_low(last) : 0;
}

/* ---- trees of sums ---- */

static void places_add(struct shards *s, u32 place, int keys, s64 bytes)
{
	for (; place <= s->places; place += place & -place) {
		s->keys[place] += (u32)keys;
		s->bytes[place] += (u64)bytes;
	}
}

static void places_upto(const struct shards *s, u32 place, u32 *keys, u64 *bytes)
{
	*keys = 0;
	*bytes = 0;
	for (; place; place -= place & -place) {
		*keys += s->keys[place];
		*bytes += s->bytes[place];
	}
}

/* Moves all to the first places, in their order. */
static void places_close_up(struct shards *s)
{
	u32 to = 0;

	memset(s->keys, 0, (s->places + 1) * sizeof(*s->keys));
	memset(s->bytes, 0, (s->places + 1) * sizeof(*s->bytes));
	for (u32 i = 1; i <= s->last; i++) {
		u32 sample = s->order[i];

		if (!sample)
			continue;
		s->order[i] = 0;
		s->order[++to] = sample;
		s->samples[sample].place = to;
		places_add(s, to, 1, (s64)s->samples[sample].size);
	}
	s->last = to;
}

static void place_leave(struct shards *s, u32 i)
{
	struct sample *sample = &s->samples[i];

	places_add(s, sample->place, -1, -(s64)sample->size);
	s->order[sample->place] = 0;
	s->total_bytes -= sample->size;
}

/* Makes the sample, which has no place, the one used last. */
static void place_take(struct shards *s, u32 i)
{
	struct sample *sample = &s->samples[i];

	if (s->last == s->places)
		places_close_up(s);
	sample->place = ++s->last;
	s->order[sample->place] = i;
	places_add(s, sample->place, 1, (s64)sample->size);
	s->total_bytes += sample->size;
}

/* ---- heap ---- */

static void heap_put(struct shards *s, u32 at, u32 i)
{
	s->heap[at] = i;
	s->samples[i].heap = at;
}

static u64 heap_hash(const struct shards *s, u32 at)
{
	return s->samples[s->heap[at]].hash;
}

/* Finds the place at or above `at` for sample i. */
static void heap_rise(struct shards *s, u32 at, u32 i)
{
	for (; at > 1 && heap_hash(s, at / 2) < s->samples[i].hash; at /= 2)
		heap_put(s, at, s->heap[at / 2]);
	heap_put(s, at, i);
}

/* ... or below it, in a heap of n. */
static void heap_sink(struct shards *s, u32 at, u32 n, u32 i)
{
	for (u32 child; (child = 2 * at) <= n; at = child) {
		child += child < n && heap_hash(s, child + 1) > heap_hash(s, child);
		if (heap_hash(s, child) <= s->samples[i].hash)
			break;
		heap_put(s, at, s->heap[child]);
	}
	heap_put(s, at, i);
}

/* ---- samples ---- */

static u32 sample_find(const struct shards *s, u64 hash)
{
	u32 i = s->heads[hash & s->mask];

	while (i && s->samples[i].hash != hash)
		i = s->samples[i].chain;
	return i;
}

static void sample_drop(struct shards *s, u32 i)
{
	struct sample *sample = &s->samples[i];
	u32 *at = &s->heads[sample->hash & s->mask], end = s->heap[s->n];

	while (*at != i)
		at = &s->samples[*at].chain;
	*at = sample->chain;
	place_leave(s, i);
	s->n--;
	if (end != i) {
		u32 hole = sample->heap;

		if (hole > 1 && heap_hash(s, hole / 2) < s->samples[end].hash)
			heap_rise(s, hole, end);
		else
			heap_sink(s, hole, s->n, end);
	}
	sample->chain = s->free;
	s->free = i;
}

static void sample_add(struct shards *s, u64 hash, u64 size)
{
	u32 i = s->free, *head = &s->heads[hash & s->mask];

	s->free = s->samples[i].chain;
	s->samples[i] = (struct sample){ .hash = hash, .size = size, .chain = *head };
	*head = i;
	place_take(s, i);
	heap_rise(s, ++s->n, i);
	if (s->n <= s->most)
		return;
	/* One too many: none with the largest hash is watched any more. */
	s->threshold = heap_hash(s, 1);
	while (s->n && heap_hash(s, 1) >= s->threshold)
		sample_drop(s, s->heap[1]);
}

static double rate(const struct shards *s)
{
	return s->threshold ? (double)s->threshold / WHOLE : 1;
}

/* ---- from outside ---- */

struct shards *shards_new(const struct shards_options *o, struct err *e)
{
	struct shards *s = calloc(1, sizeof(*s));
	u32 heads = 16;

	if (!s)
		goto out;
	s->most = o->samples ? MIN(o->samples, 1u << 26) : SHARDS_SAMPLES;
	s->threshold = o->rate > 0 && o->rate < 1 ? (u64)(o->rate * WHOLE) : 0;
	s->places = 4 * s->most;
	while (heads < s->most)
		heads *= 2;
	s->mask = heads - 1;
	s->samples = calloc(s->most + 2, sizeof(*s->samples));
	s->heads = calloc(heads, sizeof(*s->heads));
	s->heap = calloc(s->most + 2, sizeof(*s->heap));
	s->order = calloc(s->places + 1, sizeof(*s->order));
	s->keys = calloc(s->places + 1, sizeof(*s->keys));
	s->bytes = calloc(s->places + 1, sizeof(*s->bytes));
	if (!s->samples || !s->heads || !s->heap || !s->order || !s->keys || !s->bytes)
		goto out;
	for (u32 i = s->most + 1; i; i--) {
		s->samples[i].chain = s->free;
		s->free = i;
	}
	return s;
out:
	shards_free(s);
	err_set(e, "no memory for the hit-ratio curve");
	return NULL;
}

void shards_free(struct shards *s)
{
	if (!s)
		return;
	free(s->samples);
	free(s->heads);
	free(s->heap);
	free(s->order);
	free(s->keys);
	free(s->bytes);
	free(s);
}

u64 shards_threshold(const struct shards *s)
{
	return s->threshold ? s->threshold : UINT64_MAX;
}

void shards_skip(struct shards *s, u64 uses)
{
	s->uses += uses;
}

/* Distance of a key's last use: it needs its own place too, so that one entry makes a hit of a
 * key used twice in a row. */
static void use_again(struct shards *s, u32 i, double weight)
{
	u32 keys;
	u64 bytes;

	places_upto(s, s->samples[i].place, &keys, &bytes);
	/* Those used since, scaled; and the entry itself, once. */
	distances_add(&s->by_keys, (s->n - keys) * weight, weight);
	distances_add(&s->by_bytes,
	              (double)(s->total_bytes - bytes) * weight + (double)s->samples[i].size,
	              weight);
}

void shards_use(struct shards *s, u64 hash, u64 size, enum shards_use use)
{
	bool counts = use == SHARDS_GET || use == SHARDS_MISSED;
	u32 i;

	s->uses += counts;
	if (s->threshold && hash >= s->threshold)
		return;
	i = sample_find(s, hash);
	s->watched += counts;
	if (counts) {
		s->expected += 1 / rate(s);
		if (i)
			use_again(s, i, 1 / rate(s));
	}
	if (!i) {
		if (!size && s->n)
			size = s->total_bytes / s->n;
		if (use == SHARDS_GET || use == SHARDS_PUT)
			sample_add(s, hash, size);
	} else if (use == SHARDS_DROP) {
		sample_drop(s, i);
	} else {
		place_leave(s, i);
		if (size)
			s->samples[i].size = size;
		place_take(s, i);
	}
}

void shards_clear(struct shards *s)
{
	while (s->n)
		sample_drop(s, s->heap[s->n]);
}

void shards_stats(const struct shards *s, struct shards_stats *st)
{
	*st = (struct shards_stats){ .uses = s->uses,
		                     .watched = s->watched,
		                     .keys = s->n,
		                     .rate = rate(s),
		                     .keys_all = s->n / rate(s) };
}

/* What the uses watched fall short of their share. */
static double adjustment(const struct shards *s)
{
	return s->threshold ? (double)s->uses - s->expected : 0;
}

static double share(const struct shards *s, double hits)
{
	hits += adjustment(s);
	return !s->uses || hits <= 0 ? 0 : MIN(hits / (double)s->uses, 1);
}

double shards_hits(const struct shards *s, double entries)
{
	return entries < 1 ? 0 : share(s, distances_below(&s->by_keys, entries));
}

double shards_hits_bytes(const struct shards *s, double bytes)
{
	return bytes < 1 ? 0 : share(s, distances_below(&s->by_bytes, bytes + 1));
}

double shards_hits_most(const struct shards *s)
{
	return share(s, s->by_keys.sum);
}

static double reach(const struct shards *s, const struct distances *d, double part)
{
	double hits = shards_hits_most(s) * (double)s->uses * part - adjustment(s);

	return d->sum > 0 ? distances_reach(d, hits) : 0;
}

double shards_entries(const struct shards *s, double part)
{
	double n = reach(s, &s->by_keys, part);

	return n > 0 ? MAX(n, 1) : 0;
}

double shards_bytes(const struct shards *s, double part)
{
	return reach(s, &s->by_bytes, part);
}

/* What is less than a fiftieth above the line is no knee. */
double shards_knee(const struct shards *s)
{
	double end = shards_entries(s, 0.999), top = shards_hits(s, end), best = top / 50,
	       knee = end;
	double sum = adjustment(s);

	for (u32 i = 0; i < CELLS && cell_low(i + 1) <= end && s->uses; i++) {
		double at = cell_low(i + 1), above;

		sum += s->by_keys.cells[i];
		above = sum / (double)s->uses - top * at / end;
		if (above > best) {
			best = above;
			knee = at;
		}
	}
	return knee;
}
