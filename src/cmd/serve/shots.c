/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/serve/shots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hmap.h"

static void drop(struct shots *s, struct shot *one)
{
	s->bytes -= one->z.n;
	buf_free(&one->z);
	free(one->name);
	*one = (struct shot){ 0 };
}

/* The oldest go, which come first from s->next on. */
static void make_room(struct shots *s, size_t bytes)
{
	drop(s, &s->v[s->next]);
	for (u32 i = 1; i < SHOTS && s->bytes + bytes > SHOTS_BYTES; i++)
		drop(s, &s->v[(s->next + i) % SHOTS]);
}

void shots_add(struct shots *s, const char *name, u64 start, u64 at, struct str folded)
{
	struct shot one = { .start = start, .at = at, .size = folded.n };
	uLongf n = compressBound(folded.n);

	buf_fill(&one.z, 0, n);
	one.name = strdup(name);
	if (!one.name || compress((Bytef *)one.z.p, &n, (const Bytef *)folded.p, folded.n) != Z_OK)
		base_no_memory();
	one.z.n = n;
	make_room(s, n);
	if (s->bytes + n > SHOTS_BYTES) { /* by itself */
		buf_free(&one.z);
		free(one.name);
		return;
	}
	one.z.p = realloc(one.z.p, n);
	if (!one.z.p)
		base_no_memory();
	one.z.cap = n;
	s->bytes += n;
	s->v[s->next] = one;
	s->next = (s->next + 1) % SHOTS;
}

static u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

const struct shot *shots_find(const struct shots *s, const char *name, u64 start, u64 at)
{
	const struct shot *best = NULL;

	for (u32 i = 0; i < SHOTS; i++) {
		const struct shot *one = &s->v[i];

		if (one->name && one->start == start && strcmp(one->name, name) == 0 &&
		    (!best || distance(one->at, at) < distance(best->at, at)))
			best = one;
	}
	return best;
}

void shots_unpack(const struct shot *one, struct buf *to)
{
	uLongf n = one->size;
	size_t at = to->n;

	buf_fill(to, 0, n);
	if (n && uncompress((Bytef *)to->p + at, &n, (const Bytef *)one->z.p, one->z.n) != Z_OK)
		base_no_memory();
}

/* The stack of a line and its value; false at the end. */
static bool next_line(struct str *rest, struct str *stack, u64 *value)
{
	struct str line;
	const char *space;

	do {
		if (!rest->n)
			return false;
		line = str_cut(*rest, '\n', rest);
		space = line.n ? memrchr(line.p, ' ', line.n) : NULL;
	} while (!space);
	*stack = (struct str){ line.p, (u32)(space - line.p) };
	*value = strtoull(space + 1, NULL, 10);
	return true;
}

void shots_less(struct buf *to, struct str now, struct str before)
{
	struct hmap old = { 0 };
	struct str stack;
	void **had;
	u64 value;

	while (next_line(&before, &stack, &value))
		hmap_put(&old, stack.p, stack.n, (void *)(uintptr_t)value);
	while (next_line(&now, &stack, &value)) {
		had = hmap_find(&old, stack.p, stack.n);
		if (had && value <= (uintptr_t)*had)
			continue;
		buf_add(to, stack.p, stack.n);
		buf_printf(to, " %" PRIu64 "\n", value - (had ? (uintptr_t)*had : 0));
	}
	hmap_free(&old);
}

void shots_free(struct shots *s)
{
	for (u32 i = 0; i < SHOTS; i++)
		drop(s, &s->v[i]);
}
