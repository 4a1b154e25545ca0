/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is shown instead of a key: its pattern or its hash; see keys.h. */
#include "agg/keys.h"

#include <stdio.h>
#include <string.h>

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
