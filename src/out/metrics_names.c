/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "out/metrics_names.h"

#include <string.h>

#include "base/hash.h"

#define SPARE 256u

bool metrics_names_fit(const struct type *t)
{
	switch (t->kind) {
	case TYPE_INT:
	case TYPE_BOOL:
	case TYPE_STR:
	case TYPE_INET:
	case TYPE_MAC:
		return true;
	case TYPE_TUPLE:
		for (u32 i = 0; i < t->n_fields; i++)
			if (!metrics_names_fit(t->fields[i].type))
				return false;
		return true;
	default: /* symbols, users, control groups */
		return false;
	}
}

void metrics_names_begin(struct metrics_names *s, u32 rows)
{
	u32 mask = 2 * SPARE - 1;

	s->last = NULL;
	if (s->places && s->n <= 2 * rows + SPARE && s->n + rows <= s->mask / 4 * 3)
		return;
	metrics_names_free(s);
	while (mask / 4 < rows)
		mask = 2 * mask + 1;
	s->mask = mask;
	s->places = arena_array(&s->arena, struct metrics_name *, mask + 1);
}

/* There is room for all rows of the page. */
static struct metrics_name *look_up(struct metrics_names *s, const u8 *key, u32 size)
{
	static const struct hash_secret secret = { { 0x243f6a8885a308d3, 0x13198a2e03707344 } };
	u32 hash = (u32)hash_quick(&secret, key, size), at = hash & s->mask;
	struct metrics_name *one;

	for (; (one = s->places[at]); at = (at + 1) & s->mask)
		if (one->key_hash == hash && memcmp(one->key, key, size) == 0)
			return one;
	one = arena_new(&s->arena, struct metrics_name);
	one->key = (const u8 *)arena_strndup(&s->arena, (const char *)key, size);
	one->key_hash = hash;
	s->places[at] = one;
	s->n++;
	return one;
}

/* The kernel gives keys in the same order each time, but for those that are new. */
struct metrics_name *metrics_names_find(struct metrics_names *s, const u8 *key, u32 size)
{
	struct metrics_name **next = s->last ? &s->last->next : &s->first;

	if (!*next || memcmp((*next)->key, key, size) != 0)
		*next = look_up(s, key, size);
	s->last = *next;
	return s->last;
}

void metrics_names_free(struct metrics_names *s)
{
	arena_free(&s->arena);
	*s = (struct metrics_names){ 0 };
}
