/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The size of a cache as text; see sizing.h. */
#include "cache/sizing.h"

#include <stdio.h>
#include <string.h>

#define BAR       40u
#define BAR_SHORT 32u /* beside an error */

/* A number to the right of `width` columns. */
static void right(struct buf *b, int width, void (*print)(struct buf *b, double n), double n)
{
	struct buf text = { 0 };

	print(&text, n);
	buf_printf(b, "%*s", width, buf_text(&text));
	buf_free(&text);
}

static void bar(struct buf *b, double share, u32 width)
{
	u32 n = MIN((u32)(share * width + 0.5), width);

	buf_putc(b, '|');
	buf_fill(b, '@', n);
	buf_fill(b, ' ', width - n);
	buf_putc(b, '|');
}

/* 1K, 16M; plain digits where that would not be exact. */
static void print_edge(struct buf *b, u64 n)
{
	static const char units[] = "KMGTPE";
	u32 i = 0;

	while (n && n % 1024 == 0 && i < sizeof(units) - 1) {
		n /= 1024;
		i++;
	}
	buf_printf(b, "%llu", (unsigned long long)n);
	if (i)
		buf_putc(b, units[i - 1]);
}

static void print_row(struct buf *b, const struct sizes_row *row, u64 most)
{
	struct buf edges = { 0 };

	buf_putc(&edges, '[');
	print_edge(&edges, row->low);
	if (row->high - row->low > 1) {
		buf_puts(&edges, ", ");
		print_edge(&edges, row->high);
		buf_putc(&edges, ')');
	} else {
		buf_putc(&edges, ']');
	}
	buf_printf(b, "%-16s %10llu ", buf_text(&edges), (unsigned long long)row->n);
	bar(b, (double)row->n / (double)most, BAR);
	buf_putc(b, '\n');
	buf_free(&edges);
}

static void print_sizes(struct buf *b, const struct sizes *s)
{
	struct sizes_row rows[SIZES_ROWS];
	u32 n = sizes_rows(s, rows);
	u64 most = 1;

	buf_printf(b,
	           "entry size in bytes: mean %.0f, p50 %llu, p90 %llu, p95 %llu, p99 %llu, max "
	           "%llu\n\n",
	           sizes_mean(s), (unsigned long long)sizes_at(s, 0.5),
	           (unsigned long long)sizes_at(s, 0.9), (unsigned long long)sizes_at(s, 0.95),
	           (unsigned long long)sizes_at(s, 0.99), (unsigned long long)s->max);
	for (u32 i = 0; i < n; i++)
		most = MAX(most, rows[i].n);
	for (u32 i = 0; i < n; i++)
		print_row(b, &rows[i], most);
}

/* ---- memory ---- */

static void print_memory(struct buf *b, const struct sizing *s)
{
	struct sizing_memory rows[SIZING_ROWS];
	u32 n = sizing_memory(s, rows);

	buf_puts(b, "\nmemory");
	if (s->o.how)
		buf_printf(b, ", estimated by %s", s->o.how);
	else if (s->o.alloc != ALLOC_NONE)
		buf_printf(b, ", as %s rounds", alloc_name(s->o.alloc));
	if (s->o.overhead) {
		buf_puts(b, ", with ");
		sizing_print_count(b, (double)s->o.overhead);
		buf_puts(b, " bytes more an entry");
	}
	buf_printf(b, "\n%12s %12s %12s %12s\n", "entries", "at the mean", "at p95", "at p99");
	for (u32 i = 0; i < n; i++) {
		right(b, 12, sizing_print_count, (double)rows[i].entries);
		right(b, 13, sizing_print_bytes, rows[i].mean);
		right(b, 13, sizing_print_bytes, rows[i].p95);
		right(b, 13, sizing_print_bytes, rows[i].p99);
		buf_putc(b, '\n');
	}
}

static void print_limit(struct buf *b, const struct sizing *s)
{
	struct sizing_memory fits = sizing_fits(s);

	buf_puts(b, "\nA limit of ");
	sizing_print_bytes(b, (double)s->o.limit);
	buf_puts(b, " holds ");
	sizing_print_count(b, fits.mean);
	buf_puts(b, " entries at the mean, ");
	sizing_print_count(b, fits.p95);
	buf_puts(b, " at p95, ");
	sizing_print_count(b, fits.p99);
	buf_puts(b, " at p99.\n");
}

/* ---- the curve ---- */

static void print_point(struct buf *b, const struct sizing_point *p, bool sampled)
{
	right(b, 12, sizing_print_count, p->entries);
	right(b, 13, sizing_print_bytes, p->bytes);
	buf_printf(b, "   %5.1f ", p->hits * 100);
	if (sampled)
		buf_printf(b, "± %4.1f ", p->error * 100);
	buf_puts(b, "%  ");
	bar(b, p->hits, sampled ? BAR_SHORT : BAR);
	if (p->mark)
		buf_printf(b, " %s", p->mark);
	buf_putc(b, '\n');
}

/* "95 % of today's hits need 24,000 entries, about 15 MiB." */
static void print_need(struct buf *b, const struct sizing *s)
{
	struct sizing_point p = sizing_share(s, 0.95);

	buf_puts(b, "\n95 % of today's hits need ");
	sizing_print_count(b, p.entries);
	buf_puts(b, " entries, about ");
	sizing_print_bytes(b, p.bytes);
	buf_puts(b, ".\n");
	if (s->o.limit)
		buf_printf(b, "With that limit %.1f %% of all uses would be hits.\n",
		           shards_hits_bytes(s->shards, (double)s->o.limit) * 100);
	if (s->o.entries)
		buf_printf(b, "With %llu entries %.1f %% of all uses would be hits.\n",
		           (unsigned long long)s->o.entries,
		           shards_hits(s->shards, (double)s->o.entries) * 100);
}

static void print_curve(struct buf *b, const struct sizing *s)
{
	struct sizing_point points[SIZING_POINTS];
	u32 n = sizing_curve(s, points);
	struct shards_stats st;

	shards_stats(s->shards, &st);
	buf_puts(b, "\nhits of an LRU cache by its size: ");
	sizing_print_count(b, (double)st.uses);
	buf_puts(b, st.uses == 1 ? " use of " : " uses of ");
	buf_puts(b, st.rate < 1 ? "about " : "");
	sizing_print_count(b, st.keys_all);
	buf_puts(b, st.keys_all >= 0.5 && st.keys_all < 1.5 ? " key" : " keys");
	if (st.rate < 1)
		buf_printf(b, ", of which %.2g %% were watched", st.rate * 100);
	if (!n) {
		buf_puts(b,
		         "\nNo key was used twice: no cache of any size would have had a hit.\n");
		return;
	}
	buf_printf(b, "\n%12s %12s %9s\n", "entries", "memory", "hits");
	for (u32 i = 0; i < n; i++)
		print_point(b, &points[i], st.rate < 1);
	if (st.rate < 1)
		buf_puts(b, "\nThe hits are an estimate, with its 95 % confidence interval.\n");
	print_need(b, s);
}

static void print_head(struct buf *b, const struct sizing *s)
{
	sizing_print_count(b, (double)s->sizes.n);
	buf_puts(b, s->sizes.n == 1 ? " entry was put in" : " entries were put in");
	if (s->has_evictions) {
		buf_puts(b, ", ");
		sizing_print_count(b, (double)s->evictions);
		buf_puts(b, " taken out; ");
		sizing_print_count(b, (double)s->sizes.n - (double)s->evictions);
		buf_puts(b, " more are in it than at the start");
	}
	if (s->has_lookups) {
		buf_puts(b, "; ");
		sizing_print_count(b, (double)s->lookups);
		buf_puts(b, s->lookups == 1 ? " lookup" : " lookups");
	}
	if (s->has_hits && s->lookups)
		buf_printf(b, ", %.1f %% hits", (double)s->hits / (double)s->lookups * 100);
	buf_puts(b, "\n");
}

void sizing_text(struct buf *b, const struct sizing *s)
{
	print_head(b, s);
	if (s->sizes.n) {
		print_sizes(b, &s->sizes);
		print_memory(b, s);
		if (s->o.limit)
			print_limit(b, s);
	}
	if (s->shards)
		print_curve(b, s);
	if (s->lost) {
		buf_putc(b, '\n');
		sizing_print_count(b, (double)s->lost);
		buf_puts(b, " events were lost: counts are too low.\n");
	}
	if (s->unseen) {
		buf_putc(b, '\n');
		sizing_print_count(b, (double)s->unseen);
		buf_puts(b,
		         " replies not seen: lookups without one are uses, not hits or misses.\n");
	}
}
