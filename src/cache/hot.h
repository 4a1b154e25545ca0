/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hot keys of a cache: for each key what it was asked for, how often, how large, how fast and
 * by whom, and the same of all keys together.
 *
 * Bounded by agg/keys.h: with more keys than slots, the count of a key is too high by at most its
 * error, and what else is known of it is since it got its slot. Pure: the time comes with the
 * commands, in nanoseconds, and does not run backwards by much.
 */
#ifndef CACHE_HOT_H
#define CACHE_HOT_H

#include "agg/keys.h"
#include "agg/rate.h"
#include "cache/alert.h"
#include "cache/client.h"
#include "cache/latency.h"
#include "cache/verbs.h"
#include "proto/proto.h"

#define HOT_CLIENTS 4u
#define HOT_SIZES   8u
#define HOT_HALF    10u /* seconds after which a call counts half in the decayed rate, the usual */

struct hot_client {
	struct client who;
	u64 calls; /* at most: one that came in for another takes its count over */
};

struct hot_size {
	u64 time, size;
};

/* What is known of a key besides its count. */
struct hot_key {
	/* What a lookup that finds something changes: a line of the processor's caches. */
	u64 hits;
	u64 bytes; /* of values, to and from clients */
	u64 size;  /* of the value when it was seen last, if n_sizes is not 0 */
	u64 last;  /* time of the last call */
	struct rate rate;
	u64 now;      /* calls in an interval */
	u32 interval; /* number of that */
	u32 found;    /* hits of lookups: stores and deletes are none */
	/* ... and another one. */
	u32 ops[OPS];
	u32 absent;       /* misses of lookups */
	u32 n_sizes : 30; /* ever; the newest at (n_sizes - 1) % HOT_SIZES */
	u32 decided : 1;  /* by hot_options.sample */
	u32 left_out : 1; /* ... that sizes, clients and latencies are not kept of it */
	struct hot_client clients[HOT_CLIENTS];
	u64 misses;
	u64 before; /* calls in the interval before */
	u64 cpu;    /* ns that a thread of the server was on the processor for it */
	u32 errors;
	u32 timed; /* calls whose time on the processor is known */
	struct latency latency;
	struct hot_size sizes[HOT_SIZES]; /* changes of the size, a ring */
};

struct hot_totals {
	u64 commands, calls; /* a command with three keys is three calls */
	u64 hits, misses, errors, bytes;
	u64 found, absent; /* as those of a key */
	u64 cpu, timed;
	u64 ops[OPS];
	u64 interval_calls; /* in the interval that ended last */
	double seconds;     /* ... and its length */
	struct latency latency;
	u64 counters[COUNTERS]
		    [COUNTED_WAYS]; /* as the server's own should be, since it began anew */
	u64 resets;                 /* times that it did so */
};

struct hot_options {
	u64 limit; /* bytes, 0: the default */
	bool fold; /* keys_fold, at the bytes of `delimiters` (NULL: the usual ones) */
	const char *delimiters;
	bool hide; /* keys_hide */
	struct hash_secret secret;
	u64 half;  /* seconds after which a call counts half in the decayed rate; 0: HOT_HALF */
	u64 start; /* time at which the first interval begins */
	/* Sizes, clients and latencies are kept of one key in so many, chosen by its hash; 0, 1: of
	 * all. The latency of all calls together is then that of those keys. */
	u32 sample;
	struct alert *alert; /* is told of all calls; borrowed, NULL none */
};

struct hot;

struct hot *hot_new(const struct hot_options *o, struct err *e);
void hot_free(struct hot *h);
/* For proto_expect: a command with that key will come. */
u64 hot_expect(struct hot *h, struct str key);
void hot_command(struct hot *h, const struct command *c, const struct client *from);
/* The interval ends. */
void hot_tick(struct hot *h, u64 now);
/* Forgets everything that was counted. */
void hot_clear(struct hot *h, u64 now);
const struct hot_totals *hot_totals(const struct hot *h);
/* The same calls by their commands. */
const struct verbs *hot_verbs(const struct hot *h);
void hot_stats(const struct hot *h, struct keys_stats *s);
/* hot_options.sample, 1 at least. */
u32 hot_sample(const struct hot *h);

/* ---- rows ---- */

enum hot_sort {
	HOT_CALLS,
	HOT_SIZE,
	HOT_RATE,
	HOT_BYTES,
	HOT_LATENCY,
	HOT_LAST,
	HOT_MISSES,
	HOT_CPU,
	HOT_RECENT, /* the decayed rate */
	HOT_SORTS,
};

struct hot_query {
	enum hot_sort by;
	bool ascending;
	u32 n;             /* rows at most */
	struct str filter; /* only keys that hold these bytes; empty: all */
};

struct hot_row {
	struct str key;
	u32 key_size;
	u64 calls, error; /* true count: from calls - error to calls */
	double rate;      /* calls a second in the interval that ended last */
	double decayed;   /* ... with older calls counting less and less */
	u64 p50, p99;     /* ns, 0: not known */
	double cpu;       /* per cent of what all calls took on the processor; NAN: not known */
	const struct hot_key *more;
};

/* The rows in order, at most q->n of them; valid until the next command. Returns how many. */
u32 hot_top(struct hot *h, const struct hot_query *q, struct hot_row *rows);
/* Calls of the key in the interval that ended last. */
u64 hot_interval_calls(const struct hot *h, const struct hot_key *k);
/* Per cent of the lookups that found something; NAN when there was none. */
double hot_hit_rate(u64 found, u64 absent);
/* One key by its bytes; false when it has no slot. */
bool hot_find(struct hot *h, struct str key, u32 size, struct hot_row *row);
/* HOT_SORTS when there is none of that name. */
enum hot_sort hot_sort_find(struct str name);

#endif
