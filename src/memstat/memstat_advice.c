/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What looks bad, and the tool that says more. A row of the table is one thing to look at: a
 * function that says whether it is so and in which words, and the command to run next. The gravest
 * comes first. The bounds are those from which on a look costs less than not having looked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "memstat/memstat.h"

#define MANY_FAULTS   20000.0 /* a second: at half a microsecond each, 1 % of a CPU */
#define MANY_MAJOR    10.0
#define MANY_REFAULTS 100.0

typedef bool advice_fn(const struct memstat_view *v, char *text, size_t room);

static u32 percent(u64 part, u64 whole)
{
	return whole ? (u32)((double)part * 100 / (double)whole) : 0;
}

static bool oom(const struct memstat_view *v, char *text, size_t room)
{
	const struct memstat *m = v->now;
	u64 n = MAX(m->events[EVENT_OOM_KILL], m->log_kills);

	if (!n)
		return false;
	snprintf(text, room, "%" PRIu64 " process%s killed for lack of memory since boot", n,
	         n == 1 ? " was" : "es were");
	return true;
}

static bool swap_in(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_rate(v, EVENT_SWAP_IN);

	snprintf(text, room, "swapping in %.0f pages/s", n);
	return n >= 1;
}

static bool swap_out(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_rate(v, EVENT_SWAP_OUT);

	snprintf(text, room, "swapping out %.0f pages/s", n);
	return n >= 1;
}

static bool direct(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_rate(v, EVENT_SCAN_DIRECT), stalls = memstat_rate(v, EVENT_STALL);

	snprintf(text, room,
	         "processes reclaim memory themselves: %.0f pages/s scanned, %.0f stalls/s", n,
	         stalls);
	return n >= 1 || stalls >= 1;
}

static bool limit_scan(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_limit_scan(v);

	snprintf(text, room, "the limits of control groups cost reclaim: %.0f pages/s scanned", n);
	return n >= 1;
}

static bool group_full(const struct memstat_view *v, char *text, size_t room)
{
	const struct memstat_group *g = &v->now->group;
	u32 share = percent(g->used, g->limit);

	snprintf(text, room, "control group %s uses %u %% of its limit", g->path ? g->path : "",
	         share);
	return g->limit && share >= 90;
}

static bool pressure(const struct memstat_view *v, char *text, size_t room)
{
	u32 some = v->now->pressure.some10;

	snprintf(text, room, "processes waited for memory %u.%02u %% of the last 10 s", some / 100,
	         some % 100);
	return some >= 100;
}

static bool kswapd(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_rate(v, EVENT_SCAN_KSWAPD);

	snprintf(text, room, "kswapd scans %.0f pages/s", n);
	return n >= 1;
}

static bool scarce(const struct memstat_view *v, char *text, size_t room)
{
	u32 share = percent(v->now->mem[MEM_AVAILABLE], v->now->mem[MEM_TOTAL]);

	snprintf(text, room, "only %u %% of the memory is available", share);
	return v->now->mem[MEM_TOTAL] && share < 10;
}

static bool swap_full(const struct memstat_view *v, char *text, size_t room)
{
	u64 total = v->now->mem[MEM_SWAP_TOTAL];
	u32 share = percent(total - MIN(total, v->now->mem[MEM_SWAP_FREE]), total);

	snprintf(text, room, "swap is %u %% full", share);
	return total && share >= 80;
}

static bool refaults(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_rate(v, EVENT_REFAULT);

	snprintf(text, room, "%.0f pages/s are read again soon after they were reclaimed", n);
	return n >= MANY_REFAULTS;
}

static bool major(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_rate(v, EVENT_MAJOR);

	snprintf(text, room, "%.0f major faults/s", n);
	return n >= MANY_MAJOR;
}

static bool faults(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_rate(v, EVENT_FAULT);

	snprintf(text, room, "%.0f page faults/s", n);
	return n >= MANY_FAULTS;
}

static bool compaction(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_rate(v, EVENT_COMPACT);

	snprintf(text, room, "%.0f allocations/s wait for compaction", n);
	return n >= 1;
}

static bool fallback(const struct memstat_view *v, char *text, size_t room)
{
	double n = memstat_rate(v, EVENT_THP_FALLBACK);

	snprintf(text, room, "%.0f huge page faults/s got small pages", n);
	return n >= 1;
}

static bool pool_empty(const struct memstat_view *v, char *text, size_t room)
{
	const u64 *m = v->now->mem;

	snprintf(text, room, "all %" PRIu64 " huge pages of the pool are in use or reserved",
	         m[MEM_HUGE_TOTAL]);
	return m[MEM_HUGE_TOTAL] && m[MEM_HUGE_FREE] <= m[MEM_HUGE_RESERVED];
}

static const struct {
	advice_fn *applies;
	const char *command; /* "%u": the pid of the largest process */
} advice[] = {
	{ oom, "memtap oomkill" },          { swap_in, "memtap swapin" },
	{ direct, "memtap drsnoop" },       { limit_scan, "memtap drsnoop" },
	{ group_full, "memtap drsnoop" },   { pressure, "memtap drsnoop" },
	{ swap_out, "memtap vmscan" },      { kswapd, "memtap vmscan" },
	{ scarce, "memtap memleak -p %u" }, { swap_full, "memtap swapin" },
	{ refaults, "memtap ffaults" },     { major, "memtap ffaults" },
	{ compaction, "memtap vmscan" },    { fallback, "memtap hfaults" },
	{ pool_empty, "memtap hfaults" },   { faults, "memtap faults" },
};

_Static_assert(ARRAY_SIZE(advice) <= MEMSTAT_ADVICE, "all may be so at once");

u32 memstat_advise(const struct memstat_view *v, struct memstat_advice out[MEMSTAT_ADVICE])
{
	u32 n = 0;

	for (u32 i = 0; i < ARRAY_SIZE(advice); i++) {
		const char *pid = strstr(advice[i].command, "%u");

		if (!advice[i].applies(v, out[n].text, sizeof(out[n].text)))
			continue;
		if (pid && v->n_top)
			snprintf(out[n].command, sizeof(out[n].command), "%.*s%u",
			         (int)(pid - advice[i].command), advice[i].command, v->top[0].pid);
		else
			snprintf(out[n].command, sizeof(out[n].command), "%s",
			         pid ? "memtap memleak" : advice[i].command);
		n++;
	}
	return n;
}
