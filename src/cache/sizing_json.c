/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The size of a cache as JSON; see sizing.h. Bytes and entries are whole numbers. */
#include "cache/sizing.h"

#include "out/json.h"

static void member(struct buf *b, const char *name, double n)
{
	buf_printf(b, "\"%s\": ", name);
	json_unsigned(b, n < 1.8e19 ? (u64)(n + 0.5) : UINT64_MAX);
}

static void put_sizes(struct buf *b, const struct sizes *s)
{
	static const struct {
		const char *name;
		double share;
	} shares[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p95", 0.95 }, { "p99", 0.99 } };
	struct sizes_row rows[SIZES_ROWS];
	u32 n = sizes_rows(s, rows);

	buf_printf(b, "\"size\": {\"mean\": %.1f, ", sizes_mean(s));
	member(b, "min", (double)s->min);
	for (u32 i = 0; i < ARRAY_SIZE(shares); i++) {
		buf_puts(b, ", ");
		member(b, shares[i].name, (double)sizes_at(s, shares[i].share));
	}
	buf_puts(b, ", ");
	member(b, "max", (double)s->max);
	buf_puts(b, "}, \"buckets\": [");
	for (u32 i = 0; i < n; i++) {
		buf_puts(b, i ? ", {" : "{");
		member(b, "min", (double)rows[i].low);
		buf_puts(b, ", ");
		member(b, "max", (double)(rows[i].high - 1));
		buf_puts(b, ", ");
		member(b, "count", (double)rows[i].n);
		buf_putc(b, '}');
	}
	buf_puts(b, "]");
}

/* Name NULL: an element of a list. */
static void put_memory(struct buf *b, const char *name, u64 n, const struct sizing_memory *m)
{
	buf_putc(b, '{');
	member(b, name, (double)n);
	buf_puts(b, ", ");
	member(b, "mean", m->mean);
	buf_puts(b, ", ");
	member(b, "p95", m->p95);
	buf_puts(b, ", ");
	member(b, "p99", m->p99);
	buf_putc(b, '}');
}

static void put_memories(struct buf *b, const struct sizing *s)
{
	struct sizing_memory rows[SIZING_ROWS], fits = sizing_fits(s);
	u32 n = sizing_memory(s, rows);

	if (s->o.how)
		buf_printf(b, ", \"estimated_by\": \"%s\", ", s->o.how);
	else
		buf_printf(b, ", \"allocator\": \"%s\", ", alloc_name(s->o.alloc));
	member(b, "overhead", (double)s->o.overhead);
	buf_puts(b, ", \"memory\": [");
	for (u32 i = 0; i < n; i++) {
		buf_puts(b, i ? ", " : "");
		put_memory(b, "entries", rows[i].entries, &rows[i]);
	}
	buf_puts(b, "]");
	if (s->o.limit) {
		buf_puts(b, ", \"limit\": ");
		put_memory(b, "bytes", s->o.limit, &fits);
	}
}

static void put_point(struct buf *b, const struct sizing_point *p)
{
	buf_putc(b, '{');
	member(b, "entries", p->entries);
	buf_puts(b, ", ");
	member(b, "bytes", p->bytes);
	buf_printf(b, ", \"hit_ratio\": %.4f, \"error\": %.4f}", p->hits, p->error);
}

static void put_curve(struct buf *b, const struct sizing *s)
{
	struct sizing_point points[SIZING_POINTS], p;
	u32 n = sizing_curve(s, points);
	struct shards_stats st;

	shards_stats(s->shards, &st);
	buf_puts(b, ", \"curve\": {");
	member(b, "uses", (double)st.uses);
	buf_puts(b, ", ");
	member(b, "keys", st.keys_all);
	buf_printf(b, ", \"watched\": %.6g, \"most\": %.4f, \"points\": [", st.rate,
	           shards_hits_most(s->shards));
	for (u32 i = 0; i < n; i++) {
		buf_puts(b, i ? ", " : "");
		put_point(b, &points[i]);
	}
	buf_puts(b, "]");
	if (n) {
		buf_puts(b, ", \"knee\": ");
		p = sizing_knee(s);
		put_point(b, &p);
		buf_puts(b, ", \"need_95\": ");
		p = sizing_share(s, 0.95);
		put_point(b, &p);
	}
	buf_putc(b, '}');
}

void sizing_json(struct buf *b, const struct sizing *s)
{
	buf_puts(b, "{\"type\": \"cachesize\", \"data\": {");
	member(b, "inserts", (double)s->sizes.n);
	buf_puts(b, ", ");
	if (s->has_evictions) {
		member(b, "evictions", (double)s->evictions);
		buf_puts(b, ", ");
	}
	if (s->has_lookups) {
		member(b, "lookups", (double)s->lookups);
		buf_puts(b, ", ");
	}
	if (s->has_hits) {
		member(b, "hits", (double)s->hits);
		buf_puts(b, ", ");
	}
	member(b, "lost", (double)s->lost);
	buf_puts(b, ", ");
	put_sizes(b, &s->sizes);
	put_memories(b, s);
	if (s->shards)
		put_curve(b, s);
	buf_puts(b, "}}");
}
