/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The heaviest keys of a stream; see keys.h.
 *
 *   heads:   hash --> slot --link--> slot             which slot a key has
 *   levels:  count 1 <-> count 2 <-> count 7 <-> ...  one for each count that occurs, in order;
 *            each with a ring of its slots, longest there first
 *   filter:  hash --> what the keys there that have no slot were hit at most
 *
 * A hit moves a slot to the next level, which is its neighbour or is made there: no search, no
 * sorting. The slot that is taken over is the first one of the first level. The filter is what
 * Space-Saving lacks: a key has to come up to the smallest count in its cell before it gets a slot,
 * so that a stream of keys that come once changes few slots, and a key is charged what its own cell
 * says and not the smallest count. A key that loses its slot leaves its count in its cell.
 *
 * As long as each key gets a slot, nobody asks which count is the smallest: a slot has its count
 * itself then, and levels are made when the slots are used up.
 *
 * What a hit costs is mostly memory that is in no cache. So a slot begins with a line that has all
 * it is found by, a short key too, and the payload begins with the next one.
 *
 * Slots, levels and cells are numbered; slot and level 0 are none. All memory is got at the start
 * and is zero, so that pages nobody has used yet cost nothing.
 */
#include "agg/keys.h"

#include <stdlib.h>
#include <string.h>

#include "agg/distinct.h"
#include "base/arena.h"
#include "base/huge.h"

#define SLOTS_MIN      16u
#define SLOTS_MAX      (1u << 28)
#define CELLS_PER_SLOT 4u
#define LINE           64u /* of the processor's caches */

struct slot {
	u64 hash;
	union {
		u64 error;
		u64 count; /* before there are levels */
	};
	u32 size; /* of the key, really */
	u16 kept;
	char key[]; /* up to the line's end; a longer one is after the payload */
};

#define SHORT (LINE - offsetof(struct slot, key))

/* Of the slot with the same number: together, so that a search and a step to the next level, which
 * takes one along from its neighbours to others, seldom leave them. */
struct link {
	u32 tag; /* half of the hash */
	u32 next;
	u32 level;
	u32 before, after; /* in the level's ring */
};

struct level {
	u64 count;
	u32 first; /* slot; `before` it is the last one */
	u32 lower, higher;
};

struct keys {
	struct keys_options o;
	u32 stride, key_at; /* bytes from slot to slot, and to a long key */
	u32 n, used;        /* slots */
	u32 n_levels;       /* handed out so far */
	u32 free_level;     /* chain through `higher` */
	u32 lowest;
	bool ranked;  /* there are levels */
	u64 expected; /* hash of the key that was expected last */
	u64 hits, unslotted, takeovers, cut, bytes;
	u8 *slots; /* the first begins a line, of a large table a huge page */
	u8 *memory;
	struct level *levels;
	u32 *heads;
	struct link *links;
	u32 *filter; /* would stop at 2^32 - 1: that takes 2^32 hits for each slot */
	struct distinct distinct;
};

static struct slot *slot_at(const struct keys *k, u32 i)
{
	return (struct slot *)(void *)(k->slots + (size_t)i * k->stride);
}

static char *slot_key(const struct keys *k, const struct slot *s)
{
	return (char *)(uintptr_t)(s->kept > SHORT ? (const char *)s + k->key_at : s->key);
}

static void *slot_payload(const struct slot *s)
{
	return (char *)(uintptr_t)s + LINE;
}

/* Spreads hashes evenly over 0 .. n - 1. */
static u32 spread(u64 hash, u32 n)
{
	return (u32)((hash >> 32) * n >> 32);
}

static u64 slot_cost(const struct keys *k)
{
	return k->stride + sizeof(struct level) + sizeof(struct link) + sizeof(*k->heads) +
	       CELLS_PER_SLOT * sizeof(*k->filter);
}

static size_t slot_bytes(const struct keys *k, u32 n)
{
	return (size_t)(n + 1) * k->stride;
}

static bool keys_memory(struct keys *k)
{
	size_t bytes = slot_bytes(k, k->n), align = bytes < HUGE_PAGE ? LINE : HUGE_PAGE;

	k->memory = calloc(1, bytes + align - 1);
	k->slots = k->memory + (-(uintptr_t)k->memory & (align - 1));
	k->levels = calloc(k->n + 1, sizeof(*k->levels));
	k->links = calloc(k->n + 1, sizeof(*k->links));
	k->heads = calloc(k->n, sizeof(*k->heads));
	k->filter = calloc((size_t)k->n * CELLS_PER_SLOT, sizeof(*k->filter));
	return k->memory && k->levels && k->links && k->heads && k->filter;
}

static void keys_release(struct keys *k)
{
	free(k->memory);
	free(k->levels);
	free(k->links);
	free(k->heads);
	free(k->filter);
}

struct keys *keys_new(const struct keys_options *o, struct err *e)
{
	struct keys *k = calloc(1, sizeof(*k));
	u64 fixed = sizeof(*k) + LINE - 1, least, n;

	if (!k) {
		err_set(e, "no memory for the table of keys");
		return NULL;
	}
	k->o = *o;
	k->o.limit = o->limit ? o->limit : KEYS_LIMIT;
	k->o.key_max = o->key_max ? MIN(o->key_max, UINT16_MAX) : KEYS_KEY_MAX;
	k->key_at = LINE + ROUND_UP(o->payload, 8u);
	k->stride = ROUND_UP(k->key_at + (k->o.key_max > SHORT ? k->o.key_max : 0), LINE);
	fixed += k->stride + sizeof(struct level) + sizeof(struct link);
	n = k->o.limit > fixed ? (k->o.limit - fixed) / slot_cost(k) : 0;
	k->n = (u32)MIN(n, SLOTS_MAX);
	k->bytes = fixed + k->n * slot_cost(k);
	least = fixed + SLOTS_MIN * slot_cost(k);
	if (k->n < SLOTS_MIN) {
		err_set(e, "%llu bytes are too few for a table of keys: it needs %llu",
		        (unsigned long long)k->o.limit, (unsigned long long)least);
	} else if (!keys_memory(k)) {
		err_set(e, "no memory for a table of keys of %llu bytes",
		        (unsigned long long)k->bytes);
	} else {
		return k;
	}
	keys_free(k);
	return NULL;
}

void keys_free(struct keys *k)
{
	if (k)
		keys_release(k);
	free(k);
}

void keys_clear(struct keys *k)
{
	memset(k->slots, 0, slot_bytes(k, k->used));
	memset(k->levels, 0, (k->n_levels + 1) * sizeof(*k->levels));
	memset(k->heads, 0, k->n * sizeof(*k->heads));
	memset(k->filter, 0, (size_t)k->n * CELLS_PER_SLOT * sizeof(*k->filter));
	memset(&k->distinct, 0, sizeof(k->distinct));
	k->used = k->n_levels = k->free_level = k->lowest = 0;
	k->ranked = false;
	k->hits = k->unslotted = k->takeovers = k->cut = 0;
}

/* ---- levels ---- */

/* The level of `count`, which stands after level `below` (0: in front of all) if there is one. */
static u32 level_after(struct keys *k, u32 below, u64 count)
{
	u32 above = below ? k->levels[below].higher : k->lowest, i;

	if (above && k->levels[above].count == count)
		return above;
	i = k->free_level;
	if (i)
		k->free_level = k->levels[i].higher;
	else
		i = ++k->n_levels;
	k->levels[i] = (struct level){ .count = count, .lower = below, .higher = above };
	*(below ? &k->levels[below].higher : &k->lowest) = i;
	if (above)
		k->levels[above].lower = i;
	return i;
}

static void level_drop(struct keys *k, u32 i)
{
	struct level *l = &k->levels[i];

	*(l->lower ? &k->levels[l->lower].higher : &k->lowest) = l->higher;
	if (l->higher)
		k->levels[l->higher].lower = l->lower;
	l->higher = k->free_level;
	k->free_level = i;
}

/* Puts a slot at the end of a level's ring. */
static void level_join(struct keys *k, u32 level, u32 i)
{
	struct level *l = &k->levels[level];
	struct link *s = &k->links[i], *first;

	s->level = level;
	if (!l->first) {
		l->first = s->before = s->after = i;
		return;
	}
	first = &k->links[l->first];
	s->after = l->first;
	s->before = first->before;
	k->links[first->before].after = i;
	first->before = i;
}

static void level_leave(struct keys *k, u32 i)
{
	const struct link *s = &k->links[i];
	struct level *l = &k->levels[s->level];

	if (s->after == i) {
		level_drop(k, s->level);
		return;
	}
	k->links[s->before].after = s->after;
	k->links[s->after].before = s->before;
	if (l->first == i)
		l->first = s->after;
}

/* One more for a slot. */
static void slot_raise(struct keys *k, u32 i)
{
	const struct link *s = &k->links[i];
	struct level *l = &k->levels[s->level];
	u64 count = l->count + 1;
	u32 to;

	if (s->after == i && !(l->higher && k->levels[l->higher].count == count)) {
		l->count = count; /* alone there: the level itself moves */
		return;
	}
	to = level_after(k, s->level, count);
	level_leave(k, i);
	level_join(k, to, i);
}

static u64 slot_count(const struct keys *k, u32 i)
{
	return k->ranked ? k->levels[k->links[i].level].count : slot_at(k, i)->count;
}

struct counted {
	u64 count;
	u32 slot;
};

static int by_count(const void *pa, const void *pb)
{
	const struct counted *a = pa, *b = pb;

	if (a->count != b->count)
		return a->count > b->count ? 1 : -1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

/* All slots are used: makes the levels. The filter has been of no use so far, and has room. */
static void slots_rank(struct keys *k)
{
	size_t bytes = (size_t)k->n * CELLS_PER_SLOT * sizeof(*k->filter);
	struct counted *order = (struct counted *)(void *)k->filter;
	u32 level = 0;

	_Static_assert(sizeof(*order) <= CELLS_PER_SLOT * sizeof(*k->filter), "room for all");
	for (u32 i = 0; i < k->used; i++) {
		struct slot *s = slot_at(k, i + 1);

		order[i] = (struct counted){ s->count, i + 1 };
		s->error = 0;
	}
	qsort(order, k->used, sizeof(*order), by_count);
	for (u32 i = 0; i < k->used; i++) {
		bool same = level && k->levels[level].count == order[i].count;

		level = same ? level : level_after(k, level, order[i].count);
		level_join(k, level, order[i].slot);
	}
	memset(k->filter, 0, bytes);
	k->ranked = true;
}

/* ---- keys ---- */

/* What is compared and stored of a key. */
struct asked {
	u64 hash;
	struct str kept;
	u32 size;
};

static u64 hash_of(const struct keys *k, struct str key)
{
	return hash_quick(&k->o.secret, key.p, key.n);
}

static struct asked asked_key(const struct keys *k, struct str key, u32 size, u64 hash)
{
	struct asked a = { hash ? hash : hash_of(k, key), key, size };

	if (size != key.n)
		a.hash ^= hash_mix(size);
	a.kept.n = MIN(key.n, k->o.key_max);
	return a;
}

static u32 slot_find(const struct keys *k, const struct asked *a)
{
	u32 i = k->heads[spread(a->hash, k->n)];

	for (; i; i = k->links[i].next) {
		const struct slot *s = slot_at(k, i);

		if (k->links[i].tag == (u32)a->hash && s->hash == a->hash && s->size == a->size &&
		    s->kept == a->kept.n && str_same(slot_key(k, s), a->kept.p, a->kept.n))
			return i;
	}
	return 0;
}

/* Gives slot i, which is in no chain and on no level, to a key. */
static void *slot_give(struct keys *k, u32 i, const struct asked *a)
{
	u32 *head = &k->heads[spread(a->hash, k->n)];
	struct slot *s = slot_at(k, i);

	s->hash = a->hash;
	s->size = a->size;
	s->kept = (u16)a->kept.n;
	memset(slot_payload(s), 0, k->o.payload);
	if (a->kept.n)
		memcpy(slot_key(k, s), a->kept.p, a->kept.n);
	k->links[i] = (struct link){ .tag = (u32)a->hash, .next = *head };
	*head = i;
	return slot_payload(s);
}

/* Takes the slot that lost least off its key; returns its number. */
static u32 slot_take(struct keys *k)
{
	u32 i = k->levels[k->lowest].first;
	struct slot *s = slot_at(k, i);
	u32 *at = &k->heads[spread(s->hash, k->n)];
	u32 *cell = &k->filter[spread(s->hash, k->n * CELLS_PER_SLOT)];
	u64 count = slot_count(k, i);

	while (*at != i)
		at = &k->links[*at].next;
	*at = k->links[i].next;
	*cell = (u32)MAX(*cell, MIN(count, UINT32_MAX));
	level_leave(k, i);
	k->takeovers++;
	return i;
}

/* What the key expected before this one needs: its head is at hand by now, so nobody waits. Mostly
 * it is the first of its chain. */
static void fetch_slot(const struct keys *k)
{
	u32 i = k->heads[spread(k->expected, k->n)];
	const char *slot = (const char *)slot_at(k, i);

	__builtin_prefetch(&k->links[i]);
	for (u32 at = 0; at < LINE + k->o.near; at += LINE)
		__builtin_prefetch(slot + at);
}

u64 keys_expect(struct keys *k, struct str key)
{
	u64 hash = hash_of(k, key);

	__builtin_prefetch(&k->heads[spread(hash, k->n)]);
	fetch_slot(k);
	k->expected = hash;
	return hash;
}

void *keys_hit(struct keys *k, struct str key, u32 size)
{
	return keys_hit_expected(k, key, size, 0);
}

void *keys_hit_expected(struct keys *k, struct str key, u32 size, u64 expected)
{
	struct asked a = asked_key(k, key, size, expected);
	u32 i = slot_find(k, &a), *cell, below;
	void *payload;
	u64 error;

	k->hits++;
	k->cut += a.kept.n < size;
	if (i) {
		if (k->ranked)
			slot_raise(k, i);
		else
			slot_at(k, i)->count++;
		return slot_payload(slot_at(k, i));
	}
	distinct_add(&k->distinct, a.hash);
	if (k->used < k->n) {
		payload = slot_give(k, ++k->used, &a);
		huge_used(k->slots, slot_bytes(k, k->n), slot_bytes(k, k->used - 1),
		          slot_bytes(k, k->used));
		slot_at(k, k->used)->count = 1;
		return payload;
	}
	if (!k->ranked)
		slots_rank(k);
	cell = &k->filter[spread(a.hash, k->n * CELLS_PER_SLOT)];
	error = *cell;
	if (error + 1 < k->levels[k->lowest].count) {
		++*cell;
		k->unslotted++;
		return NULL;
	}
	i = slot_take(k);
	/* Its count is the smallest one of all or one more. */
	below = k->lowest && k->levels[k->lowest].count <= error ? k->lowest : 0;
	payload = slot_give(k, i, &a);
	slot_at(k, i)->error = error;
	level_join(k, level_after(k, below, error + 1), i);
	return payload;
}

static void key_row_fill(const struct keys *k, u32 i, struct key_row *row)
{
	struct slot *s = slot_at(k, i);

	*row = (struct key_row){
		.key = { slot_key(k, s), s->kept },
		.key_size = s->size,
		.count = slot_count(k, i),
		.error = k->ranked ? s->error : 0,
		.payload = slot_payload(s),
	};
}

bool keys_find(const struct keys *k, struct str key, u32 size, struct key_row *row)
{
	struct asked a = asked_key(k, key, size, 0);
	u32 i = slot_find(k, &a);

	if (i)
		key_row_fill(k, i, row);
	return i;
}

void keys_stats(const struct keys *k, struct keys_stats *s)
{
	*s = (struct keys_stats){
		.hits = k->hits,
		.unslotted = k->unslotted,
		.takeovers = k->takeovers,
		.cut = k->cut,
		.used = k->used,
		.slots = k->n,
		.bytes = k->bytes,
		.exact = !k->takeovers && !k->unslotted,
	};
	s->distinct = s->exact ? k->used : distinct_count(&k->distinct);
	s->distinct_error = s->exact ? 0 : DISTINCT_ERROR;
}

/* ---- listing ---- */

struct ranked {
	double value;
	struct key_row row;
};

/* Below 0: a is listed before b. */
static int rank(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	int c;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	c = memcmp(a->row.key.p, b->row.key.p, MIN(a->row.key.n, b->row.key.n));
	if (!c)
		c = (a->row.key.n > b->row.key.n) - (a->row.key.n < b->row.key.n);
	return c;
}

/* Lets the entry at `i` of a heap, in which the last one listed is on top, sink to its place. */
static void heap_sink(struct ranked *heap, u32 n, u32 i)
{
	for (;;) {
		u32 child = 2 * i + 1;
		struct ranked moved;

		if (child >= n)
			return;
		if (child + 1 < n && rank(&heap[child + 1], &heap[child]) > 0)
			child++;
		if (rank(&heap[i], &heap[child]) >= 0)
			return;
		moved = heap[i];
		heap[i] = heap[child];
		heap[child] = moved;
		i = child;
	}
}

u32 keys_top(const struct keys *k, struct key_row *rows, u32 n,
             double (*value)(void *ctx, const struct key_row *row), void *ctx)
{
	u32 most = MIN(MIN(n, KEYS_LISTED), k->used), got = 0;
	struct arena scratch = { 0 };
	struct ranked *heap = arena_array(&scratch, struct ranked, most);

	for (u32 i = 1; i <= k->used && most; i++) {
		struct ranked r;

		key_row_fill(k, i, &r.row);
		r.value = value ? value(ctx, &r.row) : (double)r.row.count;
		if (!(r.value >= 0))
			continue;
		if (got < most) {
			heap[got++] = r;
			if (got == most)
				for (u32 at = most / 2; at-- > 0;)
					heap_sink(heap, most, at);
		} else if (rank(&r, &heap[0]) < 0) {
			heap[0] = r;
			heap_sink(heap, most, 0);
		}
	}
	qsort(heap, got, sizeof(*heap), rank);
	for (u32 i = 0; i < got; i++)
		rows[i] = heap[i].row;
	arena_free(&scratch);
	return got;
}
