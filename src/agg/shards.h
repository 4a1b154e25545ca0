/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How many hits an LRU cache of any size would have, from the stream of keys that it is asked for:
 * a hit-ratio curve in one pass and fixed memory (SHARDS: Waldspurger, Park, Garthwaite and Ahmad,
 * "Efficient MRC construction with SHARDS", FAST 2015; Mattson's stack distances, 1970).
 *
 * Of all keys those are watched whose hash is below a threshold. For each of their uses the number
 * of different watched keys since the last use, divided by the share that is watched, is how
 * many entries a cache needs for this use to be a hit. When more keys than `samples` are watched
 * the threshold sinks; as long as they fit, the curve is exact. After that it is an estimate: sizes
 * are off by about 1 / sqrt(samples), and few entries hold the hottest keys, of which few are
 * watched: shards_error() says how far the hits may be off.
 *
 * Pure: no clock, no system call but for memory.
 */
#ifndef AGG_SHARDS_H
#define AGG_SHARDS_H

#include "base/base.h"
#include "base/err.h"

#define SHARDS_SAMPLES 16384u /* the default: about 2 MiB, sizes off by 0.8 % */

struct shards_options {
	u32 samples; /* keys watched at most, 0: SHARDS_SAMPLES */
	double rate; /* share of keys watched at the start, 0: 1 */
};

enum shards_use {
	SHARDS_GET,    /* asked for: counts; a key not seen before is put in, as after a miss */
	SHARDS_MISSED, /* asked for in vain, and nobody need put it in: counts */
	SHARDS_PUT,    /* put in: does not count, but is the latest use */
	SHARDS_DROP,   /* taken out on purpose (not to make room) */
};

struct shards;

/* NULL without memory. */
struct shards *shards_new(const struct shards_options *o, struct err *e);
void shards_free(struct shards *s);

/* Keys whose hash is not below this are not watched; it never rises. */
u64 shards_threshold(const struct shards *s);
/*
 * One use of a key with this hash (64 evenly spread bits), whose entry takes `size` bytes of
 * memory; 0 keeps what is known, or the mean. Uses that are not passed because shards_threshold()
 * reported so are to be passed to shards_skip.
 */
void shards_use(struct shards *s, u64 hash, u64 size, enum shards_use use);
/* SHARDS_DROP of all keys. */
void shards_clear(struct shards *s);
/* So many counting uses of keys that are not watched. */
void shards_skip(struct shards *s, u64 uses);

struct shards_stats {
	u64 uses;        /* that count, watched or not */
	u64 watched;     /* ... of watched keys */
	u32 keys;        /* watched now */
	double rate;     /* share of keys that is watched */
	double keys_all; /* different keys, estimated from that; exact at a rate of 1 */
};
void shards_stats(const struct shards *s, struct shards_stats *st);

/* Hits of a cache for so many entries, or bytes, as a share of all uses: 0 to 1. */
double shards_hits(const struct shards *s, double entries);
double shards_hits_bytes(const struct shards *s, double bytes);
/* ... of a cache that is never full. */
double shards_hits_most(const struct shards *s);
/*
 * How far shards_hits() may be off, as a share of all uses: half the width of a 95 % confidence
 * interval, estimated from the sample; 0 where all keys are watched. Of few entries, and many keys
 * that are used as often, it is an underestimate (tests/unit/test_shards.c measures how often the
 * true value lies within).
 */
double shards_error(const struct shards *s, double entries);
/* Entries, or bytes, of the smallest cache with that share of the hits of one that is never
 * full: 0 < share <= 1. 0 when nothing was ever used twice. */
double shards_entries(const struct shards *s, double share);
double shards_bytes(const struct shards *s, double share);
/*
 * The knee of the curve: the number of entries after which one more brings the least for what
 * the first ones brought - the point farthest above the straight line from no entries to as many
 * as 99.9 % of the hits need, or the end of that line where nothing is above it, as in a loop over
 * all keys. 0 without hits.
 */
double shards_knee(const struct shards *s);

#endif
