/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The screen of memstat. All sizes are in the unit that leaves them below 1024. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "memstat/memstat.h"

static void add_size(struct buf *b, u64 bytes)
{
	static const char units[] = "BKMGTPE";
	double n = (double)bytes;
	u32 i = 0;

	for (; n >= 999.5 && units[i + 1]; i++)
		n /= 1024;
	buf_printf(b, i && n < 9.95 ? "%.1f%c" : "%.0f%c", n, units[i]);
}

static void add_named(struct buf *b, const char *name, u64 bytes)
{
	buf_printf(b, "  %s ", name);
	add_size(b, bytes);
}

static void add_share(struct buf *b, u64 part, u64 whole)
{
	if (whole)
		buf_printf(b, " (%.0f %%)", (double)part * 100 / (double)whole);
}

static void text_memory(struct buf *b, const u64 *m)
{
	buf_puts(b, "memory  ");
	add_named(b, "total", m[MEM_TOTAL]);
	add_named(b, "free", m[MEM_FREE]);
	add_named(b, "available", m[MEM_AVAILABLE]);
	add_share(b, m[MEM_AVAILABLE], m[MEM_TOTAL]);
	add_named(b, "cached", m[MEM_CACHED] + m[MEM_BUFFERS]);
	add_named(b, "dirty", m[MEM_DIRTY]);
	add_named(b, "writeback", m[MEM_WRITEBACK]);
	buf_puts(b, "\nused    ");
	add_named(b, "anonymous", m[MEM_ANON]);
	add_named(b, "shared", m[MEM_SHMEM]);
	add_named(b, "slab", m[MEM_SLAB]);
	add_named(b, "(unreclaimable", m[MEM_SLAB_FIXED]);
	buf_puts(b, ")");
	add_named(b, "page tables", m[MEM_PAGE_TABLES]);
	add_named(b, "stacks", m[MEM_KERNEL_STACK]);
	add_named(b, "committed", m[MEM_COMMITTED]);
	add_share(b, m[MEM_COMMITTED], m[MEM_COMMIT_LIMIT]);
	buf_putc(b, '\n');
}

static void text_swap(struct buf *b, const struct memstat_view *v)
{
	const struct memstat *m = v->now;
	u64 total = m->mem[MEM_SWAP_TOTAL], used = total - MIN(total, m->mem[MEM_SWAP_FREE]);

	buf_puts(b, "swap    ");
	if (m->swaps.n) {
		add_named(b, "total", total);
		add_named(b, "used", used);
		add_share(b, used, total);
		add_named(b, "cached", m->mem[MEM_SWAP_CACHED]);
		buf_printf(b, "  in %.0f/s  out %.0f/s", memstat_rate(v, EVENT_SWAP_IN),
		           memstat_rate(v, EVENT_SWAP_OUT));
	} else {
		buf_puts(b, "  no device");
	}
	for (u32 i = 0; i < m->swaps.n; i++) {
		const struct memstat_swap *s = &m->swaps.v[i];

		buf_printf(b, "\n          %s, %s, priority %d", s->name, s->kind, s->priority);
		add_named(b, "size", s->size);
		add_named(b, "used", s->used);
	}
	buf_putc(b, '\n');
}

static void text_rates(struct buf *b, const struct memstat_view *v)
{
	buf_printf(b, "faults    %.0f/s  major %.0f/s  refaults %.0f/s\n",
	           memstat_rate(v, EVENT_FAULT), memstat_rate(v, EVENT_MAJOR),
	           memstat_rate(v, EVENT_REFAULT));
	buf_printf(b,
	           "reclaim   scanned %.0f/s (kswapd %.0f, direct %.0f, limits %.0f)  reclaimed "
	           "%.0f/s  stalls %.0f/s  compaction %.0f/s\n",
	           memstat_rate(v, EVENT_SCAN_ALL), memstat_rate(v, EVENT_SCAN_KSWAPD),
	           memstat_rate(v, EVENT_SCAN_DIRECT), memstat_limit_scan(v),
	           memstat_rate(v, EVENT_STEAL_ALL), memstat_rate(v, EVENT_STALL),
	           memstat_rate(v, EVENT_COMPACT));
}

static void text_huge(struct buf *b, const struct memstat_view *v)
{
	const u64 *m = v->now->mem;

	buf_puts(b, "huge    ");
	add_named(b, "transparent", m[MEM_THP]);
	buf_printf(b, "  faults %.0f/s  fallbacks %.0f/s  pool", memstat_rate(v, EVENT_THP),
	           memstat_rate(v, EVENT_THP_FALLBACK));
	if (!m[MEM_HUGE_TOTAL])
		buf_puts(b, " none");
	else
		buf_printf(b, " %" PRIu64 " pages, %" PRIu64 " free, %" PRIu64 " reserved",
		           m[MEM_HUGE_TOTAL], m[MEM_HUGE_FREE], m[MEM_HUGE_RESERVED]);
	buf_putc(b, '\n');
}

static void text_pressure(struct buf *b, const struct memstat_pressure *p)
{
	if (!p->known) {
		buf_puts(b, "pressure  not measured by this kernel (CONFIG_PSI, psi=1)\n");
		return;
	}
	buf_printf(b,
	           "pressure  some %u.%02u %%  full %u.%02u %% of 10 s;  %u.%02u %%  %u.%02u %% of "
	           "60 s;  %u.%02u %%  %u.%02u %% of 300 s\n",
	           p->some10 / 100, p->some10 % 100, p->full10 / 100, p->full10 % 100,
	           p->some60 / 100, p->some60 % 100, p->full60 / 100, p->full60 % 100,
	           p->some300 / 100, p->some300 % 100, p->full300 / 100, p->full300 % 100);
}

static void text_group(struct buf *b, const struct memstat_group *g)
{
	buf_puts(b, "limit   ");
	if (!g->limit) {
		buf_puts(b, g->path ? "  none for this control group\n" : "  no control group\n");
		return;
	}
	buf_printf(b, "  control group %s:", g->path);
	add_named(b, "used", g->used);
	add_named(b, "of", g->limit);
	add_share(b, g->used, g->limit);
	buf_printf(b, "  OOM kills %" PRIu64 "\n", g->oom_kills);
}

static void text_oom(struct buf *b, const struct memstat_view *v)
{
	const struct memstat *m = v->now;

	buf_printf(b, "OOM       %" PRIu64 " kill%s since boot", m->events[EVENT_OOM_KILL],
	           m->events[EVENT_OOM_KILL] == 1 ? "" : "s");
	if (m->log_error)
		buf_printf(b, "  (the kernel's log can not be read: %s)", strerror(m->log_error));
	else
		buf_printf(b, ", %" PRIu64 " in the kernel's log", m->log_kills);
	for (u32 i = 0; i < m->n_kills; i++) {
		const struct memstat_kill *k = &m->kills[i];

		buf_puts(b, "\n          ");
		memstat_time(b, k->usec * 1000 + v->boot_to_real, "%F %T");
		buf_printf(b, "  %s, pid %u%s", k->comm, k->pid,
		           k->by_limit ? ", by the limit of its control group" : "");
	}
	buf_putc(b, '\n');
}

static void text_top(struct buf *b, const struct memstat_view *v)
{
	buf_printf(b, "\n%8s %8s %8s%s %6s %10s %8s  %s\n", "PID", "RSS", "SWAP",
	           v->pss ? "      PSS" : "", "MEM%", "FAULTS/s", "MAJOR/s", "COMMAND");
	for (u32 i = 0; i < v->n_top; i++) {
		const struct memstat_process *p = &v->top[i];
		u64 columns[] = { p->rss, p->swap, p->pss };
		u64 total = MAX(v->now->mem[MEM_TOTAL], 1u);

		buf_printf(b, "%8u", p->pid);
		for (u32 k = 0; k < (v->pss ? 3u : 2u); k++) {
			struct buf size = { 0 };

			add_size(&size, columns[k]);
			buf_printf(b, " %8s", k == 2 && !p->has_pss ? "-" : buf_text(&size));
			buf_free(&size);
		}
		buf_printf(b, " %6.1f %10.0f %8.0f  %s\n", (double)p->rss * 100 / (double)total,
		           (double)p->minor / v->seconds, (double)p->major / v->seconds, p->comm);
	}
}

void memstat_text(struct buf *b, const struct memstat_view *v)
{
	struct memstat_advice advice[MEMSTAT_ADVICE];
	u32 n = memstat_advise(v, advice);

	memstat_time(b, v->now->ns + v->boot_to_real, "%T");
	buf_printf(b, "  rates of the last %.1f s\n", v->seconds);
	text_memory(b, v->now->mem);
	text_swap(b, v);
	text_rates(b, v);
	text_huge(b, v);
	text_pressure(b, &v->now->pressure);
	text_group(b, &v->now->group);
	text_oom(b, v);
	text_top(b, v);
	buf_puts(b, n ? "\nLook next at\n" : "\nNothing here asks for a closer look.\n");
	for (u32 i = 0; i < n; i++)
		buf_printf(b, "  %-22s %s\n", advice[i].command, advice[i].text);
}
