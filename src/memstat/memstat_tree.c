/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What memstat has seen as figures in columns. Sizes are bytes. */
#include <time.h>

#include "memstat/memstat.h"

const struct column memstat_mem_columns[N_MEM] = {
	[MEM_TOTAL] = COL_BYTES("total", "Memory of the machine."),
	[MEM_FREE] = COL_BYTES("free", "Memory that nobody uses."),
	[MEM_AVAILABLE] = COL_BYTES("available", "Memory that can be had without swapping."),
	[MEM_BUFFERS] = COL_BYTES("buffers", "Cached blocks of block devices."),
	[MEM_CACHED] = COL_BYTES("cached", "Cached pages of files."),
	[MEM_DIRTY] = COL_BYTES("dirty", "To be written to files."),
	[MEM_WRITEBACK] = COL_BYTES("writeback", "Being written to files."),
	[MEM_ANON] = COL_BYTES("anonymous", "Memory of processes that is in no file."),
	[MEM_MAPPED] = COL_BYTES("mapped", "Pages of files that processes have mapped."),
	[MEM_SHMEM] = COL_BYTES("shared", "Shared memory and tmpfs."),
	[MEM_SLAB] = COL_BYTES("slab", "Objects of the kernel."),
	[MEM_SLAB_FIXED] = COL_BYTES("slab_unreclaimable",
	                             "Objects of the kernel that it can not drop."),
	[MEM_PAGE_TABLES] = COL_BYTES("page_tables", "Page tables of processes."),
	[MEM_KERNEL_STACK] = COL_BYTES("kernel_stacks", "Kernel stacks of threads."),
	[MEM_SWAP_TOTAL] = COL_BYTES("swap_total", "Size of all swap."),
	[MEM_SWAP_FREE] = COL_BYTES("swap_free", "Swap that nobody uses."),
	[MEM_SWAP_CACHED] = COL_BYTES("swap_cached", "In memory and in swap."),
	[MEM_ZSWAPPED] = COL_BYTES("zswapped",
	                           "What zswap holds, its size before it was compressed."),
	[MEM_COMMITTED] = COL_BYTES("committed", "Memory promised to processes."),
	[MEM_COMMIT_LIMIT] = COL_BYTES("commit_limit",
	                               "As much as may be promised where overcommit is off."),
	[MEM_THP] = COL_BYTES("transparent_huge", "Anonymous memory in transparent huge pages."),
	[MEM_HUGE_TOTAL] = COL_GAUGE("huge_pages", "Huge pages in the pool."),
	[MEM_HUGE_FREE] = COL_GAUGE("huge_pages_free", "Huge pages in the pool that nobody uses."),
	[MEM_HUGE_RESERVED] = COL_GAUGE("huge_pages_reserved",
	                                "Huge pages in the pool that are promised."),
	[MEM_HUGE_SIZE] = COL_BYTES("huge_page_size", "Size of the pool's huge pages."),
};

const struct column memstat_event_columns[N_EVENT] = {
	[EVENT_FAULT] = COL_COUNT("faults", "Page faults."),
	[EVENT_MAJOR] = COL_COUNT("major_faults", "Page faults that read a device."),
	[EVENT_SWAP_IN] = COL_PAGES("swap_in", "Pages read from swap."),
	[EVENT_SWAP_OUT] = COL_PAGES("swap_out", "Pages written to swap."),
	[EVENT_SCAN_KSWAPD] = COL_PAGES("scan_kswapd", "Pages that kswapd looked at for reclaim."),
	[EVENT_SCAN_DIRECT] = COL_PAGES("scan_direct",
	                                "Pages that processes looked at for reclaim."),
	[EVENT_SCAN_OTHER] = COL_PAGES("scan_other",
	                               "Pages that khugepaged looked at, or on request."),
	[EVENT_SCAN_ALL] = COL_PAGES("scan", "Pages looked at for reclaim, by all."),
	[EVENT_STEAL_ALL] = COL_PAGES("reclaimed", "Pages reclaimed."),
	[EVENT_STALL] = COL_COUNT("stalls",
	                          "Times that a process had to reclaim before it got memory."),
	[EVENT_REFAULT] = COL_PAGES("refaults", "Pages read again soon after they were reclaimed."),
	[EVENT_COMPACT] = COL_COUNT("compaction_stalls",
	                            "Times that a process had to compact memory."),
	[EVENT_THP] = COL_COUNT("huge_faults", "Page faults that got a transparent huge page."),
	[EVENT_THP_FALLBACK] = COL_COUNT("huge_fallbacks",
	                                 "Page faults that should have got one and did not."),
	[EVENT_OOM_KILL] = COL_COUNT("oom_kills", "Processes killed for lack of memory."),
};

static const struct column scan_limits = COL_RATE("scan_limits",
                                                  "Pages looked at for limits of control groups.");

static const struct column pid = COL_LABEL("pid", NULL), comm = COL_LABEL("comm", NULL),
			   used = COL_BYTES("used", NULL), when = COL_LABEL("time", NULL);

void memstat_time(struct buf *b, u64 real_ns, const char *format)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	char text[64];
	struct tm tm;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* of callers, constant */
	if (localtime_r(&seconds, &tm))
		buf_add(b, text, strftime(text, sizeof(text), format, &tm));
#pragma GCC diagnostic pop
}

static void put_time(struct tree *t, u64 real_ns)
{
	struct buf text = { 0 };

	memstat_time(&text, real_ns, "%FT%T%z");
	tree_text(t, &when, buf_text(&text));
	buf_free(&text);
}

/* Of what is counted, how much in a second. */
static void put_rate(struct tree *t, const struct column *counted, double rate)
{
	struct column c = COL_RATE(counted->name, counted->help);

	tree_real(t, &c, rate);
}

void memstat_each_total(const struct memstat *m,
                        void (*fn)(void *ctx, const struct column *c, u64 n), void *ctx)
{
	for (u32 i = 0; i < N_MEM; i++)
		fn(ctx, &memstat_mem_columns[i], m->mem[i]);
	for (u32 i = 0; i < N_EVENT; i++)
		fn(ctx, &memstat_event_columns[i], m->events[i]);
}

static void put_numbers(struct tree *t, const struct memstat_view *v)
{
	tree_object(t, "memory");
	for (u32 i = 0; i < N_MEM; i++)
		tree_whole(t, &memstat_mem_columns[i], v->now->mem[i]);
	tree_end(t);
	tree_object(t, "since_boot");
	for (u32 i = 0; i < N_EVENT; i++)
		tree_whole(t, &memstat_event_columns[i], v->now->events[i]);
	tree_end(t);
	tree_object(t, "per_second");
	for (u32 i = 0; i < N_EVENT; i++)
		put_rate(t, &memstat_event_columns[i], memstat_rate(v, i));
	tree_real(t, &scan_limits, memstat_limit_scan(v));
	tree_end(t);
}

static void put_swaps(struct tree *t, const struct memstat *m)
{
	static const struct column name = COL_LABEL("name", NULL), type = COL_LABEL("type", NULL),
				   size = COL_BYTES("size", NULL),
				   priority = COL_LABEL("priority", NULL);

	tree_list(t, "swap_devices");
	for (u32 i = 0; i < m->swaps.n; i++) {
		const struct memstat_swap *s = &m->swaps.v[i];

		tree_object(t, NULL);
		tree_text(t, &name, s->name);
		tree_text(t, &type, s->kind);
		tree_whole(t, &size, s->size);
		tree_whole(t, &used, s->used);
		tree_signed(t, &priority, s->priority);
		tree_end(t);
	}
	tree_end(t);
}

static void put_shares(struct tree *t, const char *name, const u32 shares[3])
{
	static const struct column columns[] = { COL_PERCENT("avg10", "of 10 s"),
		                                 COL_PERCENT("avg60", "of 60 s"),
		                                 COL_PERCENT("avg300", "of 300 s") };

	tree_object(t, name);
	for (u32 i = 0; i < ARRAY_SIZE(columns); i++)
		tree_real(t, &columns[i], shares[i] / 100.0);
	tree_end(t);
}

static void put_pressure(struct tree *t, const struct memstat_pressure *p)
{
	static const struct column pressure = COL_LABEL("pressure", NULL);

	if (!p->known) {
		tree_unknown(t, &pressure);
		return;
	}
	tree_object(t, pressure.name);
	put_shares(t, "some", (u32[]){ p->some10, p->some60, p->some300 });
	put_shares(t, "full", (u32[]){ p->full10, p->full60, p->full300 });
	tree_end(t);
}

static void put_group(struct tree *t, const struct memstat_group *g)
{
	static const struct column cgroup = COL_LABEL("cgroup", NULL),
				   limit = COL_BYTES("limit", NULL);

	if (!g->limit) {
		tree_unknown(t, &limit);
		return;
	}
	tree_object(t, limit.name);
	tree_text(t, &cgroup, g->path);
	tree_whole(t, &used, g->used);
	tree_whole(t, &limit, g->limit);
	tree_whole(t, &memstat_event_columns[EVENT_OOM_KILL], g->oom_kills);
	tree_end(t);
}

static void put_oom(struct tree *t, const struct memstat_view *v)
{
	static const struct column log = COL_LABEL("oom_log", NULL),
				   kills = COL_COUNT("kills", NULL),
				   by_limit = COL_LABEL("cgroup_limit", "of its control group");
	const struct memstat *m = v->now;

	if (m->log_error) {
		tree_unknown(t, &log);
		return;
	}
	tree_object(t, log.name);
	tree_whole(t, &kills, m->log_kills);
	tree_list(t, "last");
	for (u32 i = 0; i < m->n_kills; i++) {
		tree_object(t, NULL);
		put_time(t, m->kills[i].usec * 1000 + v->boot_to_real);
		tree_whole(t, &pid, m->kills[i].pid);
		tree_flag(t, &by_limit, m->kills[i].by_limit);
		tree_text(t, &comm, m->kills[i].comm);
		tree_end(t);
	}
	tree_end(t);
	tree_end(t);
}

static void put_top(struct tree *t, const struct memstat_view *v)
{
	static const struct column rss = COL_BYTES("rss", "resident"),
				   swap = COL_BYTES("swap", NULL),
				   pss = COL_BYTES("pss", "proportional share"),
				   minor = COL_RATE("faults_per_second", NULL),
				   major = COL_RATE("major_faults_per_second", NULL);

	tree_list(t, "processes");
	for (u32 i = 0; i < v->n_top; i++) {
		const struct memstat_process *p = &v->top[i];

		tree_object(t, NULL);
		tree_whole(t, &pid, p->pid);
		tree_text(t, &comm, p->comm);
		tree_whole(t, &rss, p->rss);
		tree_whole(t, &swap, p->swap);
		if (p->has_pss)
			tree_whole(t, &pss, p->pss);
		tree_real(t, &minor, (double)p->minor / v->seconds);
		tree_real(t, &major, (double)p->major / v->seconds);
		tree_end(t);
	}
	tree_end(t);
}

static void put_advice(struct tree *t, const struct memstat_view *v)
{
	static const struct column command = COL_LABEL("command", NULL),
				   why = COL_LABEL("why", NULL);
	struct memstat_advice advice[MEMSTAT_ADVICE];
	u32 n = memstat_advise(v, advice);

	tree_list(t, "next");
	for (u32 i = 0; i < n; i++) {
		tree_object(t, NULL);
		tree_text(t, &command, advice[i].command);
		tree_text(t, &why, advice[i].text);
		tree_end(t);
	}
	tree_end(t);
}

void memstat_tree(struct tree *t, const struct memstat_view *v)
{
	static const struct column type = COL_LABEL("type", NULL),
				   seconds = { "seconds", NULL, COLUMN_GAUGE, UNIT_SECONDS, 3 };

	tree_object(t, NULL);
	tree_text(t, &type, "memstat");
	put_time(t, v->now->ns + v->boot_to_real);
	tree_real(t, &seconds, v->seconds);
	put_numbers(t, v);
	put_swaps(t, v->now);
	put_pressure(t, &v->now->pressure);
	put_group(t, &v->now->group);
	put_oom(t, v);
	put_top(t, v);
	put_advice(t, v);
	tree_end(t);
}
