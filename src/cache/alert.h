/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Keys that become hot: a key is told as soon as it has had so many calls within a second, or so
 * large a share of all, and again once it was below half of that meanwhile.
 *
 * Bounded: ALERT_MEMORY, which is room for some 10,000 keys; where there are more, one that has
 * more than one call of 10,000 has its place (agg/keys.h). Pure: times come with the calls, in
 * nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef CACHE_ALERT_H
#define CACHE_ALERT_H

#include "base/err.h"
#include "base/hash.h"
#include "out/tree.h"

#define ALERT_CALLS  100u /* within the second: with fewer, one key's share says nothing */
#define ALERT_MEMORY (4u << 20)

/* A key that is hot from now on. The key is borrowed for the time of the call. */
struct alert_key {
	struct str key;
	u64 time;
	double calls, all; /* in the second before that: the key's, and all */
};

struct alert_options {
	double share, rate; /* of all calls, calls a second; 0: none. One of them is set */
	u64 start;          /* shares are looked at from a second after that */
	struct hash_secret secret;
	void (*told)(void *ctx, const struct alert_key *k);
	void *ctx;
};

struct alert;

struct alert *alert_new(const struct alert_options *o, struct err *e);
void alert_free(struct alert *a);
/* "20", "20%", "5000/s". */
bool alert_parse(const char *text, struct alert_options *o, struct err *e);
void alert_call(struct alert *a, struct str key, u32 key_size, u64 time);

/* One line, its end too; `time` is k->time since the epoch. */
void alert_text(struct buf *b, const struct alert_key *k, u64 time);
void alert_tree(struct tree *t, const struct alert_key *k, u64 time);
void alert_csv_head(struct buf *b);
void alert_csv(struct buf *b, const struct alert_key *k, u64 time);

#endif
