/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Open addressing with linear probing, at most three quarters full; see hmap.h. */
#include "base/hmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a (Fowler, Noll, Vo), 32 bits. */
static u32 hash_bytes(const void *key, size_t n)
{
	const u8 *p = key;
	u32 h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}

/* The slot of the key, or the free slot where it belongs. */
static struct hmap_slot *slot_of(const struct hmap *m, const void *key, size_t n, u32 hash)
{
	for (u32 i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct hmap_slot *s = &m->slots[i];

		if (!s->key || (s->hash == hash && s->n == n && memcmp(s->key, key, n) == 0))
			return s;
	}
}

void **hmap_find(const struct hmap *m, const void *key, size_t n)
{
	struct hmap_slot *s;

	if (!m->cap)
		return NULL;
	s = slot_of(m, key, n, hash_bytes(key, n));
	return s->key ? &s->value : NULL;
}

static void hmap_grow(struct hmap *m)
{
	struct hmap bigger = { .cap = m->cap ? m->cap * 2 : 32, .n = m->n };

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		base_no_memory();
	for (u32 i = 0; i < m->cap; i++) {
		struct hmap_slot *s = &m->slots[i];

		if (s->key)
			*slot_of(&bigger, s->key, s->n, s->hash) = *s;
	}
	free(m->slots);
	*m = bigger;
}

void hmap_put(struct hmap *m, const void *key, size_t n, void *value)
{
	u32 hash = hash_bytes(key, n);
	struct hmap_slot *s;

	if ((m->n + 1) * 4 > m->cap * 3)
		hmap_grow(m);
	s = slot_of(m, key, n, hash);
	if (!s->key) {
		*s = (struct hmap_slot){ .key = key, .n = (u32)n, .hash = hash };
		m->n++;
	}
	s->value = value;
}

void hmap_free(struct hmap *m)
{
	free(m->slots);
	*m = (struct hmap){ 0 };
}
