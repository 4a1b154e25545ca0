/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The last ten minutes of memory, as a ring of looks: 42 KB whatever happens. */
#include <string.h>

#include "base/clock.h"
#include "memstat/memstat.h"

void memstat_history_add(struct memstat_history *h, const struct memstat *m)
{
	struct memstat_moment *to = &h->v[h->next];

	h->next = (h->next + 1) % MEMSTAT_MOMENTS;
	h->n = MIN(h->n + 1, MEMSTAT_MOMENTS);
	to->real_ms = clock_ns(CLOCK_REALTIME) / 1000000;
	to->ns = m->ns;
	memcpy(to->mem, m->mem, sizeof(to->mem));
	memcpy(to->events, m->events, sizeof(to->events));
	to->some_us = m->pressure.some_us;
	to->full_us = m->pressure.full_us;
}

/* The oldest is 0. */
static const struct memstat_moment *moment(const struct memstat_history *h, u32 i)
{
	return &h->v[(h->next + MEMSTAT_MOMENTS - h->n + i) % MEMSTAT_MOMENTS];
}

/* Of two counts, how much in a second between moments i - 1 and i. */
static double rate(const struct memstat_history *h, u32 i, u64 before, u64 now)
{
	u64 ns = moment(h, i)->ns - moment(h, i - 1)->ns;

	return ns && now > before ? (double)(now - before) * 1e9 / (double)ns : 0;
}

static void put_times(struct tree *t, const struct memstat_history *h)
{
	static const struct column time = COL_GAUGE("time", "milliseconds since 1970");

	tree_list(t, time.name);
	for (u32 i = 1; i < h->n; i++)
		tree_whole(t, &time, moment(h, i)->real_ms);
	tree_end(t);
}

static void put_sizes(struct tree *t, const struct memstat_history *h)
{
	tree_object(t, "memory");
	for (u32 k = 0; k < N_MEM; k++) {
		tree_list(t, memstat_mem_columns[k].name);
		for (u32 i = 1; i < h->n; i++)
			tree_whole(t, &memstat_mem_columns[k], moment(h, i)->mem[k]);
		tree_end(t);
	}
	tree_end(t);
}

static void put_rates(struct tree *t, const struct memstat_history *h)
{
	static const struct column c = COL_RATE("rate", NULL);

	tree_object(t, "per_second");
	for (u32 k = 0; k < N_EVENT; k++) {
		tree_list(t, memstat_event_columns[k].name);
		for (u32 i = 1; i < h->n; i++)
			tree_real(t, &c,
			          rate(h, i, moment(h, i - 1)->events[k], moment(h, i)->events[k]));
		tree_end(t);
	}
	tree_end(t);
}

/* Microseconds in a second are a ten-thousandth of a percent each. */
static void put_pressure(struct tree *t, const struct memstat_history *h)
{
	static const struct column c = COL_PERCENT("share", "of the time since the moment before");

	tree_object(t, "pressure");
	tree_list(t, "some");
	for (u32 i = 1; i < h->n; i++)
		tree_real(t, &c,
		          rate(h, i, moment(h, i - 1)->some_us, moment(h, i)->some_us) / 1e4);
	tree_end(t);
	tree_list(t, "full");
	for (u32 i = 1; i < h->n; i++)
		tree_real(t, &c,
		          rate(h, i, moment(h, i - 1)->full_us, moment(h, i)->full_us) / 1e4);
	tree_end(t);
	tree_end(t);
}

void memstat_history_tree(struct tree *t, const struct memstat_history *h)
{
	static const struct column type = COL_LABEL("type", NULL);

	tree_object(t, NULL);
	tree_text(t, &type, "memstat_history");
	put_times(t, h);
	put_sizes(t, h);
	put_rates(t, h);
	put_pressure(t, h);
	tree_end(t);
}
