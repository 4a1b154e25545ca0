/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two hashes that take a secret.
 *
 * SipHash as its authors describe it, "SipHash: a fast short-input PRF" (2012), with the number of
 * rounds as a parameter.
 *
 * NH of UMAC (Black, Halevi, Krawczyk, Krovetz, Rogaway, "UMAC: Fast and Secure Message
 * Authentication", 1999) with words of 64 bits, for what is short: words are added to words of the
 * secret, multiplied in pairs, and the products of 128 bits added up. Whatever two inputs somebody
 * chooses, no more than two secrets in 2^64 give them the same sum. The sum has patterns, so one
 * more product mixes it; that shows nothing of the secret to who does not see hashes.
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

/* ---- NH ------------------------------------------------------------------------------------- */

typedef unsigned __int128 u128;

/* Digits of pi: a secret of zeros, as that of tests, is no worse than another one that is known. */
static const struct hash_secret digits = {
	{ 0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89,
	  0x452821e638d01377, 0xbe5466cf34e90c6c, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917,
	  0x9216d5d98979fb1b, 0xd1310ba698dfb5ac }
};

static inline u64 word_of(const struct hash_secret *s, u32 i)
{
	return s->k[i] ^ digits.k[i];
}

static inline u64 bytes8(const u8 *p)
{
	u64 word;

	memcpy(&word, p, 8);
	return le64toh(word);
}

static inline u64 bytes4(const u8 *p)
{
	u32 word;

	memcpy(&word, p, 4);
	return le32toh(word);
}

/* 1 to 7 bytes, some of them twice. */
static inline u64 bytes_few(const u8 *p, size_t n)
{
	if (n >= 4)
		return bytes4(p) | bytes4(p + n - 4) << 32;
	return p[0] | (u64)p[n / 2] << 8 | (u64)p[n - 1] << 16;
}

/* Inputs of the same length that differ, differ in their words: each byte is in one at least. */
static inline u64 short_hash(const struct hash_secret *s, const u8 *p, size_t n)
{
	u64 a = 0, b = 0;
	u128 sum = n;
	u32 i = 2;

	for (; n > 16; n -= 16, p += 16, i += 2)
		sum += (u128)(bytes8(p) + word_of(s, i)) * (bytes8(p + 8) + word_of(s, i + 1));
	if (n >= 8) {
		a = bytes8(p);
		b = bytes8(p + n - 8);
	} else if (n) {
		a = bytes_few(p, n);
	}
	sum += (u128)(a + word_of(s, i)) * (b + word_of(s, i + 1));
	sum = (u128)((u64)sum ^ word_of(s, 0)) * ((u64)(sum >> 64) ^ word_of(s, 1));
	return (u64)sum ^ (u64)(sum >> 64);
}

/* ---- what others see ------------------------------------------------------------------------ */

u64 hash_quick(const struct hash_secret *s, const void *p, size_t n)
{
	return n <= HASH_SHORT ? short_hash(s, p, n) : sip_hash(s, p, n, 1, 3);
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
