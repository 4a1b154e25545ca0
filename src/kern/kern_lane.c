/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reader of lanes (struct unit_lanes): their records as one row, in order by time.
 *
 * What a record follows from, the answer from the request, is to come before it, and it may be in
 * another lane. So a round hands over what is not later than its own start, and of each lane what
 * was begun by then: whatever any of that follows from was complete before, and is among it. A
 * record in there that is not complete holds the round up; what it keeps back might be needed.
 */
#include "kern/kern.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "base/clock.h"

#define LOOKS 200u /* at a record that is being written */

static void *map_array(const struct live *l, u32 map, size_t size)
{
	return mmap(NULL, ROUND_UP(size, arch_page()), PROT_READ | PROT_WRITE, MAP_SHARED,
	            l->maps[map], 0);
}

bool kern_lanes_open(struct live *l, struct err *e)
{
	s32 lanes = unit_map(l->unit, UMAP_LANES), parts = unit_map(l->unit, UMAP_PARTS);
	struct lanes *a = &l->lanes;

	if (lanes < 0)
		return true;
	a->shape = l->unit->lanes;
	a->stride = l->unit->maps.v[parts].value_size;
	a->data_size = a->stride * a->shape.parts * a->shape.n;
	a->lanes = map_array(l, (u32)lanes, sizeof(*a->lanes) * a->shape.n);
	a->data = map_array(l, (u32)parts, a->data_size);
	if (a->lanes == MAP_FAILED || a->data == MAP_FAILED)
		return err_sys(e, errno, "can not map the records");
	return true;
}

void kern_lanes_close(struct live *l)
{
	struct lanes *a = &l->lanes;

	if (a->lanes && a->lanes != MAP_FAILED)
		munmap(a->lanes, ROUND_UP(sizeof(*a->lanes) * a->shape.n, arch_page()));
	if (a->data && a->data != MAP_FAILED)
		munmap(a->data, ROUND_UP(a->data_size, arch_page()));
	*a = (struct lanes){ 0 };
}

/* A lane that has something to be handed over, and its next record. */
struct next {
	u32 lane;
	u64 end;
	struct unit_lane_head *head;
	u64 size, time;
};

struct round {
	u64 start;
	struct next next[UNIT_LANES];
	u32 n;
	bool held_up;
};

static struct unit_lane_head *head_at(const struct lanes *a, u32 lane)
{
	u64 at = a->at[lane];
	u64 part = lane * a->shape.parts + (at / a->shape.part & (a->shape.parts - 1));

	return (void *)(a->data + part * a->stride + (at & (a->shape.part - 1)));
}

/* The size of a record; 0: it is not complete. Acquire: what it says was written before. */
static u64 look(const struct unit_lane_head *h)
{
	u64 size = 0;

	for (u32 i = 0; i < LOOKS && !size; i++)
		size = __atomic_load_n(&h->size, __ATOMIC_ACQUIRE);
	return size;
}

/* Release: programs may write here again, and find zeros. */
static void give_back(const struct lanes *a, u32 lane)
{
	__atomic_store_n(&a->lanes[lane].read, a->at[lane], __ATOMIC_RELEASE);
}

/* Finds the next record of the i-th place, or takes the place out. */
static void find_next(const struct lanes *a, struct round *r, u32 i)
{
	struct next *next = &r->next[i];

	if (a->at[next->lane] != next->end) {
		next->head = head_at(a, next->lane);
		next->size = look(next->head);
		next->time = next->head->time;
		r->held_up |= !next->size;
		if (!next->size || next->time <= r->start)
			return;
	}
	give_back(a, next->lane);
	*next = r->next[--r->n];
}

static void begin_round(const struct lanes *a, struct round *r)
{
	r->start = clock_ns(CLOCK_MONOTONIC);
	r->held_up = false;
	r->n = a->shape.n;
	for (u32 i = 0; i < r->n; i++) {
		r->next[i].lane = i;
		r->next[i].end = __atomic_load_n(&a->lanes[i].end, __ATOMIC_ACQUIRE);
	}
	for (u32 i = r->n; i--;)
		find_next(a, r, i);
}

static struct next *earliest(struct round *r)
{
	struct next *first = r->next;

	for (u32 i = 1; i < r->n; i++)
		if (r->next[i].time < first->time)
			first = &r->next[i];
	return first;
}

/* True when all was handed over, and there was something. */
static bool read_round(struct lanes *a, live_record_fn *cb, void *ctx)
{
	struct round r;
	bool more = true, any = false;

	begin_round(a, &r);
	while (more && r.n && !r.held_up) {
		struct next *next = earliest(&r);
		size_t took = ROUND_UP(sizeof(*next->head) + next->size, 8u);

		more = cb(ctx, next->head + 1, (u32)next->size);
		any = true;
		memset(next->head, 0, took);
		a->at[next->lane] += took;
		find_next(a, &r, (u32)(next - r.next));
	}
	for (u32 i = 0; i < r.n; i++)
		give_back(a, r.next[i].lane);
	return more && any && !r.held_up;
}

void kern_lanes_read(struct live *l, live_record_fn *cb, void *ctx)
{
	while (l->lanes.data && read_round(&l->lanes, cb, ctx))
		;
}

void kern_lanes_at(const struct live *l, struct live_ring *at)
{
	const struct lanes *a = &l->lanes;
	u64 size = (u64)a->shape.part * a->shape.parts;

	for (u32 lane = 0; a->data && lane < a->shape.n; lane++) {
		u64 end = __atomic_load_n(&a->lanes[lane].end, __ATOMIC_RELAXED);
		u64 waiting = end - a->at[lane];

		at->read += a->at[lane];
		at->reserved += end;
		if (!at->size || waiting * at->size > at->waiting * size) {
			at->waiting = waiting;
			at->size = size;
		}
	}
}
