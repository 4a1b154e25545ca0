/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The heaviest of any number of keys, in bounded memory.
 *
 * A fixed number of slots hold one key each, with its count and with bytes of the caller's. As long
 * as there are no more keys than slots, all is exact. Afterwards a key without slot takes over
 * the slot with the smallest count, but only once it may have been hit as often as that (Filtered
 * Space-Saving: Homem and Carvalho, "Finding top-k elements in data streams", 2010; Space-Saving:
 * Metwally, Agrawal and El Abbadi, 2005). What is promised then, after n hits over m slots:
 *
 *     count - error <= true count <= count,   error <= n / m,
 *     and each key hit more often than n / m times has a slot.
 *
 * A hit takes constant time. Pure: no clock, no system call but for memory.
 */
#ifndef AGG_KEYS_H
#define AGG_KEYS_H

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

#define KEYS_LIMIT   (64ull << 20) /* bytes, the default */
#define KEYS_KEY_MAX 250u          /* bytes kept of a key, the default: all that memcached allows */
#define KEYS_LISTED  (1u << 20)    /* rows that keys_top gives at most */

struct keys_options {
	u64 limit;   /* bytes in all, 0: KEYS_LIMIT. Pages are taken as they are needed */
	u32 payload; /* bytes for the caller in each slot */
	u32 near;    /* ... of which so many, at the start, are mostly needed at a hit */
	u32 key_max; /* bytes kept of a key, at most 65535; 0: KEYS_KEY_MAX */
	struct hash_secret secret;
};

/* A slot as it is seen from outside. Borrowed: valid until the next keys_hit or keys_clear. */
struct key_row {
	struct str key; /* the bytes kept */
	u32 key_size;   /* its real length; longer than key.n: cut */
	u64 count;      /* hits at most */
	u64 error;      /* ... of which this many may not have been its own */
	void *payload;  /* aligned to 8 */
};

struct keys_stats {
	u64 hits;      /* all of them */
	u64 unslotted; /* of these, hits of keys that had no slot and got none */
	u64 takeovers; /* slots that lost their key, and their payload, to another key */
	u64 cut;       /* hits of keys that were longer than what is kept */
	u32 used, slots;
	u64 bytes; /* of memory at most: never above the limit */
	/* Keys that were ever hit: exact when `exact`, else an estimate that two times out of three
	 * is off by less than `distinct_error`, as a share of it. */
	double distinct, distinct_error;
	bool exact; /* no key was ever left out: all counts are exact */
};

struct keys;

/* NULL when the limit is too small for 16 slots, or there is no memory. */
struct keys *keys_new(const struct keys_options *o, struct err *e);
void keys_free(struct keys *k);
/* Forgets all keys and counts. */
void keys_clear(struct keys *k);

/*
 * One hit of a key, whose first key.n bytes are at hand and whose real length is `size`. Gives
 * the payload of its slot, all zeros when the slot is newly its own, or NULL when it got none (its
 * hit is remembered). Two keys are the same when their length, the bytes kept and a hash of 64 bits
 * over the bytes at hand are.
 */
void *keys_hit(struct keys *k, struct str key, u32 size);
/* A hit of the key will come: has the processor fetch the memory that it will need. Returns what
 * keys_hit_expected() wants of it, never changes for these bytes. */
u64 keys_expect(struct keys *k, struct str key);
/* keys_hit(); `expected` may be 0. */
void *keys_hit_expected(struct keys *k, struct str key, u32 size, u64 expected);
/* The slot of a key, without counting. False when it has none. */
bool keys_find(const struct keys *k, struct str key, u32 size, struct key_row *row);
/*
 * The n (at most KEYS_LISTED) rows with the largest `value`, largest first, of those for which it
 * is not below 0; equal ones in the order of the keys' bytes. value NULL: the count. Returns how
 * many there are. Looks at each slot once.
 */
u32 keys_top(const struct keys *k, struct key_row *rows, u32 n,
             double (*value)(void *ctx, const struct key_row *row), void *ctx);
void keys_stats(const struct keys *k, struct keys_stats *s);

/*
 * The pattern that a key belongs to: `user:123:feed` is one of `user:*:feed`. The key is cut into
 * parts at each byte of `delimiters` (NULL: ":/|,;@#"). In each part,
 *
 *   - all of it becomes `*` when it is made of decimal digits, or of at least eight hexadecimal
 *     digits and dashes with a decimal digit among them (hashes, UUIDs);
 *   - else decimal digits at its end become `*`, but for a version: v and one or two digits.
 *
 * Writes at most `room` bytes, without NUL, and returns how many. A result that does not fit is
 * cut. The pattern is never longer than the key.
 */
u32 keys_fold(struct str key, const char *delimiters, char *out, u32 room);

#define KEYS_HASHED 17u /* sixteen digits and a NUL */
/*
 * What is shown instead of a key that is to stay private: hash_strong in hexadecimal. The same key
 * and secret always give the same digits; with a secret nobody knows, keys can not be found by
 * trying.
 */
void keys_hide(struct str key, const struct hash_secret *secret, char out[KEYS_HASHED]);

#endif
