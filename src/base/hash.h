/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hashes that nobody can foresee who does not know the secret. Keys of caches come from strangers,
 * who must be able neither to fill one chain of a table nor to turn a hash that hides a key back by
 * trying all keys.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/base.h"

#define HASH_SHORT 64u /* bytes */

/* Random numbers, all of it; or the first two, where it is known to all anyway. */
struct hash_secret {
	u64 k[2 + HASH_SHORT / 8]; /* the first two: of SipHash */
};

/* For tables and sketches, whose hashes are not shown: NH of UMAC up to HASH_SHORT bytes, then
 * SipHash-1-3 (Aumasson, Bernstein). */
u64 hash_quick(const struct hash_secret *s, const void *p, size_t n);
/* SipHash-2-4: where the hash is shown. */
u64 hash_strong(const struct hash_secret *s, const void *p, size_t n);
/* All 64 bits of the result depend on all bits of n; one to one, 0 stays 0. */
u64 hash_mix(u64 n);

#endif
