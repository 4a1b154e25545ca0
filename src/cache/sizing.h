/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How large a cache should be, from what was put into one: the distribution of entry sizes, the
 * memory that so many entries take, and, where keys are known, the hits of a cache of any size.
 * Pure; the same numbers go to text, JSON and a picture.
 */
#ifndef CACHE_SIZING_H
#define CACHE_SIZING_H

#include "agg/alloc.h"
#include "agg/shards.h"
#include "agg/sizes.h"
#include "base/buf.h"
#include "out/tree.h"

struct sizing_options {
	enum alloc alloc;
	u64 overhead; /* bytes of an entry besides what was measured, in the same block */
	u64 entries;  /* to add to the table; 0 none */
	u64 limit;    /* bytes; 0 none */
	/* Not NULL: what entries take is in `taken`, estimated by this ("memcached's slabs"). */
	const char *how;
};

/* Zero it, set `o`, and `shards` when keys are known; `shards` stays the caller's. */
struct sizing {
	struct sizing_options o;
	struct sizes sizes; /* of entries that were put in */
	struct sizes taken; /* ... and what they take, with all there is to add; with o.how only */
	struct shards *shards;
	bool has_evictions, has_lookups, has_hits;
	u64 evictions, lookups, hits;
	u64 lost;   /* events that got lost */
	u64 unseen; /* has_hits: replies that were not seen, of lookups and others */
};

/* Bytes that an entry takes: with overhead and rounding. Not with o.how. */
u64 sizing_taken(const struct sizing *s, u64 size);

/* Bytes of so many entries, each as large as the mean, as 95 and as 99 of 100 are at most. */
struct sizing_memory {
	u64 entries;
	double mean, p95, p99;
};
#define SIZING_ROWS 5u
/* For 1,000 to 1,000,000 entries, and the number wanted, in order; returns how many rows. */
u32 sizing_memory(const struct sizing *s, struct sizing_memory rows[SIZING_ROWS]);
/* Entries that fit into the limit: in each member a number of them. */
struct sizing_memory sizing_fits(const struct sizing *s);

/* A size of the cache and what it would hit. */
struct sizing_point {
	double entries, bytes; /* bytes: the limit in bytes with as many hits */
	double hits;           /* share of all uses */
	double error;          /* how far that may be off: shards_error() */
	const char *mark;      /* "knee", "95 % of the hits", or NULL */
};
#define SIZING_POINTS 40u
/* Sizes of one, two or five and zeros, the knee, 95 % of the hits and where more brings nothing, in
 * order. 0 when nothing was used twice. */
u32 sizing_curve(const struct sizing *s, struct sizing_point points[SIZING_POINTS]);
/* The point that this share of the hits needs, and the knee. */
struct sizing_point sizing_share(const struct sizing *s, double share);
struct sizing_point sizing_knee(const struct sizing *s);

void sizing_text(struct buf *b, const struct sizing *s);
/* For a format. */
void sizing_tree(struct tree *t, const struct sizing *s);
/* A whole file. */
void sizing_svg(struct buf *b, const struct sizing *s);

/* "15 MiB", "8.1 MiB", "812 B"; "24,000". */
void sizing_print_bytes(struct buf *b, double bytes);
void sizing_print_count(struct buf *b, double n);

#endif
