/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rates that forget, and what is shown instead of a key: its pattern or its hash; see keys.h. */
#include "agg/keys.h"

#include <stdio.h>
#include <string.h>

#define LN2 0.69314718055994531

/* 2^-x for x >= 0, to nine digits: whole halvings, and the series of e^-y for what is left. */
static double halved(double x)
{
	u32 whole;
	double y, term = 1, sum = 1;

	if (!(x < 1000))
		return 0;
	whole = (u32)x;
	y = -LN2 * (x - whole);
	for (int i = 1; i < 13; i++) {
		term *= y / i;
		sum += term;
	}
	for (; whole >= 63; whole -= 63)
		sum /= 1ull << 63;
	return sum / (double)(1ull << whole);
}

void rate_hit(struct rate *r, u64 time, u64 half, double weight)
{
	r->value = rate_at(r, time, half) + weight * LN2 / (double)half;
	r->time = MAX(r->time, time);
}

double rate_at(const struct rate *r, u64 time, u64 half)
{
	u64 passed = time > r->time ? time - r->time : 0;

	return r->value ? r->value * halved((double)passed / (double)half) : 0;
}

static bool is_decimal(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* How much of a part, from its start, stays; the rest of it becomes `*`. */
static u32 part_stays(struct str part)
{
	u32 decimal = 0, hex = 0, tail = 0;

	for (u32 i = 0; i < part.n; i++) {
		bool digit = is_decimal(part.p[i]);

		decimal += digit;
		hex += is_hex(part.p[i]) || part.p[i] == '-';
		tail = digit ? tail + 1 : 0;
	}
	if (hex == part.n && (decimal == part.n || (part.n >= 8 && decimal)))
		return 0;
	if (tail == part.n - 1 && tail <= 2 && (part.p[0] == 'v' || part.p[0] == 'V'))
		return part.n;
	return part.n - tail;
}

u32 keys_fold(struct str key, const char *delimiters, char *out, u32 room)
{
	struct str set = str_of(delimiters ? delimiters : ":/|,;@#");
	u32 n = 0, at = 0;

	while (at < key.n && n < room) {
		struct str part = { key.p + at, 0 };
		u32 stays;

		while (at + part.n < key.n && !memchr(set.p, part.p[part.n], set.n))
			part.n++;
		stays = part.n ? part_stays(part) : 0;
		at += part.n;
		for (u32 i = 0; i < stays && n < room; i++)
			out[n++] = part.p[i];
		if (stays < part.n && n < room)
			out[n++] = '*';
		if (at < key.n && n < room)
			out[n++] = key.p[at++];
	}
	return n;
}

void keys_hide(struct str key, const struct hash_secret *secret, char out[KEYS_HASHED])
{
	snprintf(out, KEYS_HASHED, "%016llx",
	         (unsigned long long)hash_strong(secret, key.p, key.n));
}
