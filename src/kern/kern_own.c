/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that memtap runs itself: before each run the keys of maps are listed for one that goes
 * through them without the kernel's help (gen/gen_walk.c); and intervals are kept by a clock of
 * memtap's where they do that.
 */
#include "kern/kern.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

/* ---- the keys of a map ---- */

struct list {
	u8 *at;
	u64 n, room; /* n may be more: the program says so */
	u32 size;
};

static bool add(void *ctx, const void *key, const void *cells)
{
	struct list *l = ctx;

	(void)cells;
	if (++l->n < l->room)
		memcpy(l->at + l->n * l->size, key, l->size);
	return true;
}

static bool list_keys(struct live *l, u32 map, struct err *e)
{
	const struct umap *m = &l->unit->maps.v[map];
	struct list list = { .room = live_map_room(l, map), .size = m->value_size };
	size_t bytes = list.room * list.size;
	bool ok;

	list.at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, l->maps[map], 0);
	if (list.at == MAP_FAILED)
		return err_sys(e, errno, "can not list the keys of %s",
		               l->unit->maps.v[m->of].name);
	ok = live_map_each(l, m->of, add, &list, e);
	memcpy(list.at, &list.n, sizeof(list.n));
	munmap(list.at, bytes);
	return ok;
}

bool kern_run(struct live *l, u32 prog, u32 *result, struct err *e)
{
	const struct uprog *p = &l->unit->progs.v[prog];
	bool ok = true;
	int r;

	for (u32 i = 0; ok && i < l->unit->maps.n; i++) {
		const struct umap *m = &l->unit->maps.v[i];

		if (m->role == UMAP_KEYS && unit_uses(p, i))
			ok = list_keys(l, i, e);
		else if (m->role == UMAP_FRESH && unit_uses(p, i))
			ok = live_map_clear(l, i, e);
	}
	if (!ok)
		return false;
	r = sys_prog_run(kern_prog_fd(l, prog, 0), result);
	return r >= 0 || err_sys(e, -r, "can not run %s", p->name);
}

/* ---- the clock ---- */

u64 live_clock_next(const struct live *l)
{
	u64 next = UINT64_MAX;

	for (u32 i = 0; i < l->clocks.n; i++)
		next = MIN(next, l->clocks.v[i].next);
	return next;
}

/* Of intervals that are over already one counts. */
bool live_clock_run(struct live *l, struct err *e)
{
	for (u32 i = 0; i < l->clocks.n; i++) {
		struct clock *c = &l->clocks.v[i];
		u64 now = clock_ns(CLOCK_MONOTONIC);
		u32 ignored;

		if (now < c->next)
			continue;
		c->next = MAX(c->next + c->period, now);
		if (!kern_run(l, c->prog, &ignored, e))
			return false;
	}
	return true;
}
