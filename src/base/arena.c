/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A bump allocator over a list of chunks. Each is four times the one before, up to 1 MiB, so a
 * small script costs few pages (what malloc() clears is touched) and a large one few mallocs: from
 * 128 KiB on they are fresh pages, of which only those that are used are ever touched.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	_Alignas(16) char data[];
};

#define CHUNK_MIN  2048u
#define CHUNK_MAX  (1u << 20)
#define GROW_LARGE 64u

static struct arena_chunk *chunk_new(struct arena *a, size_t need)
{
	size_t size = a->head ? MIN(a->head->size * 4, CHUNK_MAX) : CHUNK_MIN;
	struct arena_chunk *c;

	size = MAX(size, need);
	c = calloc(1, sizeof(*c) + size);
	if (!c)
		base_no_memory();
	c->size = size;
	c->next = a->head;
	a->head = c;
	return c;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->head;
	void *p;

	if (size > SIZE_MAX / 2)
		base_no_memory();
	size = ROUND_UP(MAX(size, 1), (size_t)16);
	if (!c || c->size - c->used < size)
		c = chunk_new(a, size);
	p = c->data + c->used;
	c->used += size;
	return p;
}

char *arena_strndup(struct arena *a, const char *p, size_t n)
{
	char *s = arena_alloc(a, n + 1);

	if (n)
		memcpy(s, p, n);
	return s;
}

char *arena_strdup(struct arena *a, const char *p)
{
	return arena_strndup(a, p, strlen(p));
}

char *arena_join(struct arena *arena, const char *a, char sep, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	char *s = arena_alloc(arena, n + m + 2);

	memcpy(s, a, n + 1);
	s[n] = sep;
	memcpy(s + n + 1, b, m + 1);
	return s;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *s;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = arena_alloc(a, (size_t)MAX(n, 0) + 1);
	vsnprintf(s, (size_t)MAX(n, 0) + 1, fmt, again);
	va_end(again);
	return s;
}

void *arena_grow(struct arena *a, const void *old, size_t elem, u32 n, u32 *cap)
{
	u32 want = n ? n * 2 : elem < GROW_LARGE ? 8 : 2; /* of what is large there is often one */
	void *p = arena_alloc(a, elem * want);

	if (n)
		memcpy(p, old, elem * n);
	*cap = want;
	return p;
}

void arena_reset(struct arena *a)
{
	struct arena_chunk *last = a->head;

	if (!last)
		return;
	a->head = last->next;
	arena_free(a);
	memset(last->data, 0, last->used);
	last->used = 0;
	last->next = NULL;
	a->head = last;
}

void arena_free(struct arena *a)
{
	while (a->head) {
		struct arena_chunk *c = a->head;

		a->head = c->next;
		free(c);
	}
}
