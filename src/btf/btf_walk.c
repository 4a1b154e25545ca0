/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Passes over all types, and the way from an id to its type.
 *
 * The one idea: nothing is numbered in advance. A pass goes block by block (btf_lanes.c), may stop
 * early, and leaves marks behind: the offset of about every 32nd type. An id is then found by a
 * binary search among the marks and a short walk from there; an id after the last mark makes the
 * pass go on. Blocks always start at the same places, so passes of several threads, begun at
 * different times, agree on what they add.
 *
 * The marks are at most 28 KiB; very large files are marked less densely.
 */
#include "btf/btf_impl.h"

#include <stdlib.h>

#define STRIDE_MIN   BTF_LANE_STEP
#define TYPE_USUAL   16u    /* bytes of a type, at the least, on average */
#define WINDOW_BLOCK 32768u /* a block where bytes are copied out of the file */

/* ---- marks ---------------------------------------------------------------------------------- */

static void marks_init(const struct btf *b, struct btf_marks *x)
{
	x->stride = STRIDE_MIN;
	while (b->types_n / TYPE_USUAL / x->stride > BTF_MARKS_MAX)
		x->stride *= 2;
	atomic_store(&x->known, btf_first(b));
	atomic_store(&x->whole, !b->types_n);
}

struct btf_marks *btf_marks_get(const struct btf *b)
{
	struct btf *own = b->own;

	if (!atomic_load_explicit(&own->marks_made, memory_order_acquire)) {
		pthread_mutex_lock(&own->lock);
		if (!atomic_load(&own->marks_made))
			marks_init(b, &own->marks);
		atomic_store_explicit(&own->marks_made, true, memory_order_release);
		pthread_mutex_unlock(&own->lock);
	}
	return &own->marks;
}

static void mark_add(struct btf_marks *x, u32 id, u32 off)
{
	u32 n = atomic_load_explicit(&x->n, memory_order_relaxed);

	if (n == BTF_MARKS_MAX || (n && id - x->v[n - 1].id < x->stride))
		return;
	x->v[n] = (struct btf_mark){ id, off };
	atomic_store_explicit(&x->n, n + 1, memory_order_release);
}

/* Where a pass is: at type `id`, `off` bytes into the section. */
struct place {
	u32 id, off;
	bool end; /* no type is here */
};

/* Adds a block that was walked from `at` to `next`, unless somebody has already. */
static void marks_grow(const struct btf *b, const struct btf_block *k, struct place at,
                       const struct place *next)
{
	struct btf_marks *x = btf_marks_get(b);
	pthread_mutex_t *lock = &b->own->lock;

	if (atomic_load_explicit(&x->whole, memory_order_acquire) ||
	    atomic_load_explicit(&x->known, memory_order_acquire) > at.id)
		return;
	pthread_mutex_lock(lock);
	if (atomic_load(&x->known) == at.id && !atomic_load(&x->whole)) {
		for (u32 i = 0; i < k->n_lanes; at.id += k->lane[i++].n)
			for (u32 j = 0; j < k->lane[i].n; j += BTF_LANE_STEP)
				mark_add(x, at.id + j, at.off + k->lane[i].step[j / BTF_LANE_STEP]);
		x->known_off = next->off;
		atomic_store_explicit(&x->known, next->id, memory_order_release);
		atomic_store_explicit(&x->whole, next->end, memory_order_release);
	}
	pthread_mutex_unlock(lock);
}

/* ---- passes --------------------------------------------------------------------------------- */

/* Blocks are large and mostly not needed: they are not cleared. */
static void block_init(struct btf_block *k, const struct btf *b, const struct btf_filter *f)
{
	k->btf = b;
	k->filter = f;
}

/* Walks the block at *at, and moves *at past it. False when no type is here. */
static bool block_next(struct btf_block *k, struct place *at, u8 *scratch)
{
	const struct btf *b = k->btf;
	struct btf_source *s = &b->own->src;
	u32 left = b->types_n - at->off;
	struct place next = *at;

	if (at->end || left < BTF_RECORD)
		return false;
	k->n = MIN(left, s->fd < 0 ? BTF_BLOCK : WINDOW_BLOCK);
	k->end = left;
	k->p = btf_source_view(s, (u64)(b->types + at->off - s->p), k->n, scratch);
	if (!k->p)
		return false;
	btf_block_walk(k);
	for (u32 i = 0; i < k->n_lanes; i++)
		next.id += k->lane[i].n;
	next.off += k->lane[k->n_lanes - 1].stop;
	next.end = k->lane[k->n_lanes - 1].bad || b->types_n - next.off < BTF_RECORD;
	marks_grow(b, k, *at, &next);
	*at = next;
	return true;
}

static bool block_hits(const struct btf_block *k, struct place at, btf_hit_fn *cb, void *ctx)
{
	for (u32 i = 0; i < k->n_lanes; at.id += k->lane[i++].n) {
		const struct btf_lane *l = &k->lane[i];

		for (u32 j = 0; j < l->n_hits; j++) {
			u32 off = l->hits[j].word * 4u;
			struct btf_found h = { at.id + l->hits[j].nth, at.off + off, k->p + off };

			if (!cb(ctx, &h))
				return false;
		}
	}
	return true;
}

bool btf_pass(const struct btf *b, const struct btf_filter *f, btf_hit_fn *cb, void *ctx)
{
	struct place at = { .id = btf_first(b) }, before = at;
	u8 scratch[WINDOW_BLOCK];
	struct btf_block k;

	block_init(&k, b, f);
	for (; block_next(&k, &at, scratch); before = at)
		if (!block_hits(&k, before, cb, ctx))
			return false;
	return true;
}

/* Goes on with the walk until `id` is known, or there is no more. */
static void walk_to(const struct btf *b, struct btf_marks *x, u32 id)
{
	u8 scratch[WINDOW_BLOCK];
	struct btf_block k;

	block_init(&k, b, NULL);
	while (!atomic_load_explicit(&x->whole, memory_order_acquire) &&
	       atomic_load_explicit(&x->known, memory_order_acquire) <= id) {
		struct place at;

		pthread_mutex_lock(&b->own->lock);
		at = (struct place){ atomic_load(&x->known), x->known_off, atomic_load(&x->whole) };
		pthread_mutex_unlock(&b->own->lock);
		if (!block_next(&k, &at, scratch))
			break;
	}
}

u32 btf_count(const struct btf *b)
{
	struct btf_marks *x = btf_marks_get(b);

	/* Looking first is for those who ask often: walk_to clears room for a walk. */
	if (!atomic_load_explicit(&x->whole, memory_order_acquire))
		walk_to(b, x, UINT32_MAX);
	return atomic_load_explicit(&x->known, memory_order_acquire);
}

u32 btf_first(const struct btf *b)
{
	u32 first = atomic_load_explicit(&b->first, memory_order_relaxed);

	if (!first) {
		first = btf_count(b->base);
		atomic_store_explicit(&b->own->first, first, memory_order_relaxed);
	}
	return first;
}

void btf_walk_end(const struct btf *b, u32 *id, u32 *off)
{
	struct btf_marks *x = btf_marks_get(b);

	*id = btf_count(b);
	*off = x->known_off;
}

/* ---- from an id to its type ----------------------------------------------------------------- */

/* The file of split BTF that has the id. */
static const struct btf *level_of(const struct btf *b, u32 id)
{
	while (b->base && id < btf_first(b))
		b = b->base;
	return b;
}

const u8 *btf_record_at(const struct btf *b, u32 off, u32 *n)
{
	const u8 *p = b->types + off;
	u64 length;

	if (off > b->types_n || b->types_n - off < BTF_RECORD || !btf_need(b, p, BTF_RECORD))
		return NULL;
	length = btf_length(b, btf_load(b, p + 4));
	if (length > b->types_n - off || !btf_need(b, p, length))
		return NULL;
	*n = (u32)length;
	return p;
}

/* The last mark at or before the id. */
static struct place nearest_mark(const struct btf *b, const struct btf_marks *x, u32 id)
{
	u32 low = 0, high = atomic_load_explicit(&x->n, memory_order_acquire);

	if (!high)
		return (struct place){ .id = btf_first(b) };
	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (x->v[middle].id <= id)
			low = middle;
		else
			high = middle;
	}
	return (struct place){ x->v[low].id, x->v[low].off, false };
}

static bool walk_from_mark(const struct btf *b, const struct btf_marks *x, u32 id, u32 *off)
{
	struct place at;

	for (at = nearest_mark(b, x, id); at.id < id; at.id++) {
		const u8 *p = b->types + at.off;

		if (!btf_need(b, p, BTF_RECORD))
			return false;
		at.off += (u32)btf_length(b, btf_load(b, p + 4));
	}
	*off = at.off;
	return true;
}

bool btf_offset(const struct btf *b, u32 id, u32 *off)
{
	struct btf_marks *x = btf_marks_get(b);
	const u32 *all = atomic_load_explicit(&b->own->all, memory_order_acquire);
	_Atomic u64 *slot;
	u64 seen;

	if (id < btf_first(b))
		return false;
	if (atomic_load_explicit(&x->known, memory_order_acquire) <= id)
		walk_to(b, x, id);
	if (atomic_load_explicit(&x->known, memory_order_acquire) <= id)
		return false;
	if (all) {
		*off = all[id - btf_first(b)];
		return true;
	}
	slot = &x->places[id % BTF_RECENT];
	seen = atomic_load_explicit(slot, memory_order_relaxed);
	if (seen >> 32 == id) {
		*off = (u32)seen;
		return true;
	}
	if (!walk_from_mark(b, x, id, off))
		return false;
	atomic_store_explicit(slot, (u64)id << 32 | *off, memory_order_relaxed);
	return true;
}

const u8 *btf_record(const struct btf *b, u32 id, const struct btf **in, u32 *n)
{
	u32 off;

	*in = level_of(b, id);
	return id && btf_offset(*in, id, &off) ? btf_record_at(*in, off, n) : NULL;
}

/* ---- every type ----------------------------------------------------------------------------- */

void btf_iter_init(struct btf_iter *it, const struct btf *b, u32 from)
{
	const struct btf *in;

	memset(it, 0, sizeof(*it));
	it->_btf = b;
	it->t.id = from ? from - 1 : 0;
	in = level_of(b, it->t.id + 1);
	if (!btf_offset(in, it->t.id + 1, &it->_off))
		it->t.id = UINT32_MAX - 1;
}

bool btf_next(struct btf_iter *it)
{
	u32 id = it->t.id, n;

	while (++id < UINT32_MAX) {
		const struct btf *in = level_of(it->_btf, id);
		const u8 *p;

		if (in->base ? id == btf_first(in) : id == 1)
			it->_off = 0;
		p = btf_record_at(in, it->_off, &n);
		if (!p)
			break;
		it->_off += n;
		it->t.id = id;
		if (btf_info_read(in, id, p, n, &it->t))
			return true;
	}
	it->t.id = UINT32_MAX - 1;
	return false;
}

/* False for an INT that is an old bit-field's type. */
static bool int_is_full(const struct btf *b, u32 off)
{
	const u8 *p = b->types + off;
	u32 word;

	if (btf_kind_of(btf_load(b, p + 4)) != BTF_KIND_INT)
		return true;
	word = btf_need(b, p + BTF_RECORD, 4) ? btf_load(b, p + BTF_RECORD) : 0;
	return !(word >> 16 & 0xff) && (word & 0xff) == btf_load(b, p + 8) * 8;
}

bool btf_index(const struct btf *b)
{
	_Atomic(u32 *) *slot = &b->own->all;
	u32 first = btf_first(b), n = btf_count(b) - first, off = 0, *all, *none = NULL;
	bool full = true;

	if (b->base && !btf_index(b->base))
		return false;
	if (atomic_load(slot))
		return true;
	all = malloc(((size_t)n + 1) * sizeof(*all));
	if (!all)
		return false;
	for (u32 i = 0; i < n; i++) {
		all[i] = off;
		if (!btf_need(b, b->types + off, BTF_RECORD)) {
			free(all);
			return false;
		}
		full &= int_is_full(b, off);
		off += (u32)btf_length(b, btf_load(b, b->types + off + 4));
	}
	atomic_store_explicit(&b->own->full_ints, full, memory_order_relaxed);
	if (!atomic_compare_exchange_strong(slot, &none, all))
		free(all);
	return true;
}
