/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hit-ratio curves by spatial sampling; see shards.h.
 *
 * Watched keys stand in three orders at once:
 *
 *   by hash    chains, to find a key, and a heap with the largest hash on top, which goes first
 *              when there are too many
 *   by use     `order`, an array of places: a use takes the next place, and what stands after a
 *              key's place was used since. Two trees of sums (Fenwick, 1994) over the places count
 *              keys and bytes after a place in log time. When the places are used up, they are
 *              closed up
 *
 * A use counts as many uses as one watched key stands for, at the distance scaled up likewise: k
 * watched keys since the last use stand for k to k + 1 times as many keys as one of them stands
 * for.
 *
 * Hot keys are few, and whether one is watched or not moves the whole curve: the uses that were
 * watched too few or too many for their share are put to, or taken from, the short distances. The
 * paper (section 3.4) takes the shortest of all, so a cache of one entry seems to hit whatever was
 * missed. Here they have the distances of keys that are used about as often as all of them: of such
 * uses, 1 - 1 / (1 + n * their share of all uses) come before n other keys do.
 *
 * The error is estimated from the sample itself: the watched keys fall into groups, and the curve
 * is computed again without each of them (the jackknife of Quenouille and Tukey).
 */
#include "agg/shards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE   18446744073709551616.0 /* 2^64 */
#define BITS    7u                     /* buckets of distances: 2^BITS for each power of two */
#define LEVELS  (1u + 56u)
#define CELLS   (LEVELS << BITS)
#define ENDLESS 1e18 /* entries of a cache that is never full */
#define GROUPS  8u
#define T_95    2.365 /* of Student's t with GROUPS - 1 degrees of freedom */

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
	/* Of by_keys and expected: what was counted while not all keys were watched, by groups of
	 * keys. */
	struct distances *groups;
	double group_expected[GROUPS];
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
	s->groups = calloc(GROUPS, sizeof(*s->groups));
	if (!s->samples || !s->heads || !s->heap || !s->order || !s->keys || !s->bytes ||
	    !s->groups)
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
	free(s->groups);
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

static u32 group_of(u64 hash)
{
	return (u32)(hash % GROUPS);
}

/*
 * Distance of a key's last use: it needs its own place too, so that one entry makes a hit of a
 * key used twice in a row. Where a distance stands for a range of them, one use after the other
 * takes another part of the range: multiples of the golden ratio fill it evenly.
 */
static void use_again(struct shards *s, u32 i, double weight)
{
	double part = (double)(s->watched * 0x9e3779b97f4a7c15ull) / WHOLE * (weight - 1);
	double size = (double)s->samples[i].size, distance;
	u32 keys;
	u64 bytes;

	places_upto(s, s->samples[i].place, &keys, &bytes);
	/* Those used since, scaled; and the entry itself, once. */
	distance = (s->n - keys) * weight + part;
	distances_add(&s->by_keys, distance, weight);
	if (s->threshold)
		distances_add(&s->groups[group_of(s->samples[i].hash)], distance, weight);
	distances_add(&s->by_bytes,
	              (double)(s->total_bytes - bytes) * weight + size +
	                      part * (double)s->total_bytes / s->n,
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
		if (s->threshold)
			s->group_expected[group_of(hash)] += 1 / rate(s);
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

/* ---- the curve ---- */

/* Of `uses`, those of distances below the one asked for, and what all that were watched stand
 * for. */
struct reading {
	double uses, below, expected, rate;
};

/* The hits of a cache for so many entries, as a share; see the head of this file. */
static double corrected(const struct reading *r, double entries)
{
	double missed = r->uses - r->expected, often = fabs(missed) / r->uses, hits = r->below;

	if (!(r->uses > 0))
		return 0;
	if (r->rate < 1) {
		if (missed < 0) /* a key that is watched counts for those that are not, too */
			often *= r->rate / (1 - r->rate);
		hits += missed * (1 - 1 / (1 + often * entries));
	}
	return hits <= 0 ? 0 : MIN(hits / r->uses, 1);
}

static struct reading reading_of(const struct shards *s, double below)
{
	return (struct reading){ (double)s->uses, below, s->expected, rate(s) };
}

double shards_hits_most(const struct shards *s)
{
	struct reading all = reading_of(s, s->by_keys.sum);

	return corrected(&all, ENDLESS);
}

/* Walks along the curve, cell by cell. */
struct walk {
	const struct distances *d;
	struct reading r;
	double entries; /* that a distance of 1 stands for */
	double hits, most;
	u32 cell;
};

static struct walk walk_start(const struct shards *s, const struct distances *d)
{
	bool bytes = d == &s->by_bytes && s->total_bytes;

	return (struct walk){
		.d = d,
		.r = reading_of(s, 0),
		.entries = bytes ? (double)s->n / (double)s->total_bytes : 1,
		.most = shards_hits_most(s),
	};
}

/* A larger cache never has fewer hits, whatever was put right. */
static void walk_to(struct walk *w, double below, double distance)
{
	double hits;

	w->r.below = below;
	hits = corrected(&w->r, distance * w->entries);
	w->hits = MIN(MAX(w->hits, hits), w->most);
}

/* To the end of the cell. */
static void walk_on(struct walk *w)
{
	double below = w->r.below + w->d->cells[w->cell++];

	walk_to(w, below, cell_low(w->cell));
}

static double hits_at(const struct shards *s, const struct distances *d, double at)
{
	struct walk w = walk_start(s, d);
	u32 end = cell_of(at);

	while (w.cell < end)
		walk_on(&w);
	walk_to(&w, distances_below(d, at), at);
	return w.hits;
}

double shards_hits(const struct shards *s, double entries)
{
	return entries < 1 ? 0 : hits_at(s, &s->by_keys, entries);
}

double shards_hits_bytes(const struct shards *s, double bytes)
{
	return bytes < 1 ? 0 : hits_at(s, &s->by_bytes, bytes + 1);
}

/* The distance below which this share of all uses is. */
static double reach(const struct shards *s, const struct distances *d, double share)
{
	struct walk w = walk_start(s, d);
	double low = 0, from = 0, high = 0;

	if (!(d->sum > 0))
		return 0;
	while (w.hits < share && w.cell + 1 < CELLS) {
		if (d->cells[w.cell] > 0)
			high = cell_low(w.cell + 1);
		low = cell_low(w.cell);
		from = w.hits;
		walk_on(&w);
	}
	if (w.hits < share) /* never reached, but for rounding: where the last use is */
		return high;
	return low + (cell_low(w.cell) - low) * (share - from) / (w.hits - from);
}

double shards_entries(const struct shards *s, double part)
{
	double n = reach(s, &s->by_keys, shards_hits_most(s) * part);

	return n > 0 ? MAX(n, 1) : 0;
}

double shards_bytes(const struct shards *s, double part)
{
	return reach(s, &s->by_bytes, shards_hits_most(s) * part);
}

/* What is less than a fiftieth above the line is no knee. */
double shards_knee(const struct shards *s)
{
	double end = shards_entries(s, 0.999), top = shards_hits(s, end), best = top / 50,
	       knee = end;
	struct walk w = walk_start(s, &s->by_keys);

	while (s->uses && w.cell + 1 < CELLS && cell_low(w.cell + 1) <= end) {
		double at, above;

		walk_on(&w);
		at = cell_low(w.cell);
		above = w.hits - top * at / end;
		if (above > best) {
			best = above;
			knee = at;
		}
	}
	return knee;
}

/* ---- its error ---- */

/* The curve at so many entries without each one of the groups, the others standing for it. */
static void without_groups(const struct shards *s, double entries, double hits[GROUPS])
{
	double below = distances_below(&s->by_keys, entries), group[GROUPS], sum = 0, expected = 0;

	for (u32 i = 0; i < GROUPS; i++) {
		sum += group[i] = distances_below(&s->groups[i], entries);
		expected += s->group_expected[i];
	}
	for (u32 i = 0; i < GROUPS; i++) {
		struct reading r = reading_of(s, below);

		r.below += (sum - GROUPS * group[i]) / (GROUPS - 1);
		r.expected += (expected - GROUPS * s->group_expected[i]) / (GROUPS - 1);
		r.rate *= (double)(GROUPS - 1) / GROUPS;
		hits[i] = corrected(&r, entries);
	}
}

double shards_error(const struct shards *s, double entries)
{
	double hits[GROUPS], mean = 0, sum = 0, left = 1 - rate(s), off, slope;

	if (!(left > 0) || !s->n || entries < 1)
		return 0;
	without_groups(s, entries, hits);
	for (u32 i = 0; i < GROUPS; i++)
		mean += hits[i] / GROUPS;
	for (u32 i = 0; i < GROUPS; i++)
		sum += (hits[i] - mean) * (hits[i] - mean);
	/* Sizes are off, too: that counts where the curve is steep. */
	off = sqrt(left / s->n);
	slope = (shards_hits(s, entries * (1 + off)) - shards_hits(s, entries * (1 - off))) / 2;
	return T_95 * sqrt(sum * (GROUPS - 1) / GROUPS * left + slope * slope);
}
