/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SipHash as its authors describe it, "SipHash: a fast short-input PRF" (2012), with the number of
 * rounds as a parameter.
 */
#include "base/hash.h"

#include <endian.h>
#include <string.h>

struct sip {
	u64 a, b, c, d;
};

static u64 rotate(u64 x, unsigned int by)
{
	return x << by | x >> (64 - by);
}

static inline void sip_round(struct sip *v)
{
	v->a += v->b;
	v->c += v->d;
	v->b = rotate(v->b, 13) ^ v->a;
	v->d = rotate(v->d, 16) ^ v->c;
	v->a = rotate(v->a, 32);
	v->c += v->b;
	v->a += v->d;
	v->b = rotate(v->b, 17) ^ v->c;
	v->d = rotate(v->d, 21) ^ v->a;
	v->c = rotate(v->c, 32);
}

static inline void sip_word(struct sip *v, u64 word, int rounds)
{
	v->d ^= word;
	for (int i = 0; i < rounds; i++)
		sip_round(v);
	v->a ^= word;
}

static inline u64 sip_hash(const struct hash_secret *s, const void *bytes, size_t n, int rounds,
                           int last_rounds)
{
	const u8 *p = bytes;
	/* "somepseudorandomlygeneratedbytes" */
	struct sip v = { s->k[0] ^ 0x736f6d6570736575u, s->k[1] ^ 0x646f72616e646f6du,
		         s->k[0] ^ 0x6c7967656e657261u, s->k[1] ^ 0x7465646279746573u };
	u64 word;

	for (size_t left = n; left >= 8; left -= 8, p += 8) {
		memcpy(&word, p, 8);
		sip_word(&v, le64toh(word), rounds);
	}
	word = (u64)n << 56;
	for (size_t i = 0; i < n % 8; i++)
		word |= (u64)p[i] << 8 * i;
	sip_word(&v, word, rounds);
	v.c ^= 0xff;
	for (int i = 0; i < last_rounds; i++)
		sip_round(&v);
	return v.a ^ v.b ^ v.c ^ v.d;
}

u64 hash_quick(const struct hash_secret *s, const void *p, size_t n)
{
	return sip_hash(s, p, n, 1, 3);
}

u64 hash_strong(const struct hash_secret *s, const void *p, size_t n)
{
	return sip_hash(s, p, n, 2, 4);
}

/* The finalizer of MurmurHash3 (Appleby). */
u64 hash_mix(u64 n)
{
	n = (n ^ n >> 33) * 0xff51afd7ed558ccdu;
	n = (n ^ n >> 33) * 0xc4ceb9fe1a85ec53u;
	return n ^ n >> 33;
}
