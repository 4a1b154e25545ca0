/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The model of mctop's screen. A row is a copy of all that is known of a key, so the page about it
 * needs nothing else, and neither does a paused table.
 */
#include "ui/hot_screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define US_COLUMN 7u

struct hot_line {
	struct hot_row row; /* its key and `more` are in the arena */
	struct hot_key more;
	double age; /* seconds since the last call */
};

/* ---- columns -------------------------------------------------------------------------------- */

static const struct hot_line *line(const void *row)
{
	return row;
}

static void print_key(struct buf *b, const void *row)
{
	report_key(b, line(row)->row.key);
	if (!line(row)->row.key.n)
		buf_puts(b, "\"\"");
	if (line(row)->row.key_size > line(row)->row.key.n)
		buf_puts(b, "..");
}

static void print_calls(struct buf *b, const void *row)
{
	report_number(b, (double)line(row)->row.calls);
}

static void print_error(struct buf *b, const void *row)
{
	if (line(row)->row.error) /* mostly there is none */
		report_number(b, (double)line(row)->row.error);
}

static void print_rate(struct buf *b, const void *row)
{
	report_number(b, line(row)->row.rate);
}

static double hit_share(const void *row)
{
	const struct hot_key *k = &line(row)->more;
	double share = hot_hit_rate(k->found, k->absent);

	return isnan(share) ? -1 : share;
}

static void print_hits(struct buf *b, const void *row)
{
	double share = hit_share(row);

	if (share < 0)
		buf_putc(b, '-');
	else
		buf_printf(b, "%.1f", share);
}

static void print_misses(struct buf *b, const void *row)
{
	report_number(b, (double)line(row)->more.misses);
}

static void print_size(struct buf *b, const void *row)
{
	if (line(row)->more.n_sizes)
		report_number(b, (double)line(row)->more.size);
	else
		buf_putc(b, '-');
}

static void print_bytes(struct buf *b, const void *row)
{
	report_number(b, (double)line(row)->more.bytes);
}

static void print_us(struct buf *b, u64 ns)
{
	if (!ns)
		buf_putc(b, '-');
	else
		buf_printf(b, ns < 100000 ? "%.1f" : "%.0f", (double)ns / 1000);
}

static void print_p50(struct buf *b, const void *row)
{
	print_us(b, line(row)->row.p50);
}

static void print_p99(struct buf *b, const void *row)
{
	print_us(b, line(row)->row.p99);
}

static void print_cpu(struct buf *b, const void *row)
{
	if (isnan(line(row)->row.cpu))
		buf_putc(b, '-');
	else
		buf_printf(b, "%.1f", line(row)->row.cpu);
}

static void print_age(struct buf *b, const void *row)
{
	buf_printf(b, "%.1f", line(row)->age);
}

static void print_client(struct buf *b, const void *row)
{
	client_host(b, &line(row)->more.clients[0].who);
}

static double value_calls(const void *row)
{
	return (double)line(row)->row.calls;
}

static double value_rate(const void *row)
{
	return line(row)->row.rate;
}

static double value_misses(const void *row)
{
	return (double)line(row)->more.misses;
}

static double value_size(const void *row)
{
	return line(row)->more.n_sizes ? (double)line(row)->more.size : -1;
}

static double value_bytes(const void *row)
{
	return (double)line(row)->more.bytes;
}

static double value_latency(const void *row)
{
	return (double)line(row)->row.p99;
}

static double value_cpu(const void *row)
{
	return (double)line(row)->more.cpu;
}

/* The latest first. */
static double value_last(const void *row)
{
	return -line(row)->age;
}

static const struct top_column columns[] = {
	{ "KEY", 16, 0, 0, "the key", print_key, NULL },
	{ "CALLS", 7, 0, 'C', "calls since the start", print_calls, value_calls },
	{ "ERR", 6, 10, 0, "calls that may have been another key's", print_error, NULL },
	{ "RATE/S", 8, 1, 'R', "calls a second in the last interval", print_rate, value_rate },
	{ "HIT%", 6, 4, 0, "of the lookups, those that found it", print_hits, NULL },
	{ "MISSES", 7, 6, 'M', "misses", print_misses, value_misses },
	{ "SIZE", 7, 2, 'S', "size of the value", print_size, value_size },
	{ "BYTES", 7, 3, 'B', "bytes of values moved", print_bytes, value_bytes },
	{ "P50us", US_COLUMN, 8, 0, "half of the calls took less", print_p50, NULL },
	{ "P99us", US_COLUMN, 5, 'L', "latency, p99", print_p99, value_latency },
	{ "CPU%", 6, 7, 'U', "use of the processor, of that of all", print_cpu, value_cpu },
	{ "LAST", 6, 9, 'N', "the last access", print_age, value_last },
	{ "CLIENT", 15, 11, 0, "who asks most", print_client, NULL },
};

static const struct {
	char key;
	enum hot_sort by;
} sorts[] = {
	{ 'C', HOT_CALLS }, { 'S', HOT_SIZE },    { 'R', HOT_RATE },   { 'B', HOT_BYTES },
	{ 'N', HOT_LAST },  { 'L', HOT_LATENCY }, { 'M', HOT_MISSES }, { 'U', HOT_CPU },
};

/* ---- rows ----------------------------------------------------------------------------------- */

static void copy_row(const struct hot_screen *s, struct arena *a, struct hot_line *to,
                     const struct hot_row *row)
{
	u64 clock = s->now.clock;

	to->row = *row;
	to->more = *row->more;
	to->row.key.p = arena_strndup(a, row->key.p, row->key.n);
	to->row.more = NULL; /* it is `more` */
	to->age = clock > to->more.last ? (double)(clock - to->more.last) / 1e9 : 0;
}

static u32 fetch(void *ctx, const struct top_query *q, struct arena *a, void *rows)
{
	struct hot_screen *s = ctx;
	struct hot_query query = { .ascending = q->ascending, .n = q->n, .filter = q->filter };
	struct hot_row *found = calloc(q->n, sizeof(*found));
	struct hot_line *to = rows;
	u32 n;

	if (!found)
		base_no_memory();
	for (u32 i = 0; i < ARRAY_SIZE(sorts); i++)
		if (sorts[i].key == columns[q->column].key)
			query.by = sorts[i].by;
	n = hot_top(s->hot, &query, found);
	for (u32 i = 0; i < n; i++)
		copy_row(s, a, &to[i], &found[i]);
	free(found);
	return n;
}

static bool again(void *ctx, struct arena *a, void *row)
{
	struct hot_screen *s = ctx;
	struct hot_line *to = row;
	struct hot_row found;
	struct arena kept = { 0 };

	if (!hot_find(s->hot, to->row.key, to->row.key_size, &found))
		return false;
	copy_row(s, &kept, to, &found);
	arena_free(a); /* the key it was looked up by */
	*a = kept;
	return true;
}

static bool dump(void *ctx, struct buf *b)
{
	struct hot_screen *s = ctx;

	return !s->dump || s->dump(s->dump_ctx, b);
}

static void whole(void *ctx, struct buf *b)
{
	verbs_text(b, hot_verbs(((struct hot_screen *)ctx)->hot));
}

static void dump_and_clear(void *ctx, struct buf *b)
{
	struct hot_screen *s = ctx;

	if (!dump(ctx, b))
		return;
	hot_clear(s->hot, s->now.clock);
	buf_puts(b, b->n ? "; counting starts anew" : "counting starts anew");
}

/* ---- above the table ------------------------------------------------------------------------ */

static void head(void *ctx, struct buf *b)
{
	const struct hot_screen *s = ctx;
	const struct hot_totals *t = hot_totals(s->hot);
	struct keys_stats stats;

	hot_stats(s->hot, &stats);
	report_clock(b, s->now.time);
	buf_printf(b, "  %s %u%s  ", s->now.server, s->now.pid,
	           s->now.gone ? "  has ended, waiting for it" : "");
	report_number(b, t->seconds > 0 ? (double)t->interval_calls / t->seconds : 0);
	buf_puts(b, " calls/s");
	if (t->found + t->absent)
		buf_printf(b, "  hits %.1f %%", hot_hit_rate(t->found, t->absent));
	buf_puts(b, "  p50 ");
	print_us(b, latency_quantile(&t->latency, 0.5));
	buf_puts(b, " us  p99 ");
	print_us(b, latency_quantile(&t->latency, 0.99));
	buf_puts(b, " us\n");
	report_number(b, (double)t->calls);
	buf_puts(b, " calls  ");
	report_number(b, stats.distinct);
	buf_puts(b, " keys");
	if (!stats.exact)
		buf_printf(b, " +-%.1f %%", stats.distinct_error * 100);
	buf_puts(b, "  ");
	missed_print(b, &s->now.missed);
	report_sample(b, s->hot);
	buf_putc(b, '\n');
}

/* ---- the page about a key ------------------------------------------------------------------- */

static void page_counts(struct buf *b, const struct hot_line *l)
{
	const struct hot_key *k = &l->more;

	print_key(b, l);
	buf_printf(b, "  (%u bytes)\n\ncalls   %llu", l->row.key_size,
	           (unsigned long long)l->row.calls);
	if (l->row.error)
		buf_printf(b, ", of which %llu may have been another key's",
		           (unsigned long long)l->row.error);
	buf_puts(b, "\nrate    ");
	report_number(b, l->row.rate);
	buf_puts(b, "/s in the last interval, ");
	report_number(b, l->row.decayed);
	buf_printf(b,
	           "/s with older ones counting less\nfound   %llu hits, %llu misses, %u errors\n",
	           (unsigned long long)k->hits, (unsigned long long)k->misses, k->errors);
	buf_printf(b, "moved   %llu bytes; last call %.1f s ago\n", (unsigned long long)k->bytes,
	           l->age);
	if (k->timed)
		buf_printf(b, "took    %.1f us of a processor for each call, %.1f %% of all\n",
		           (double)k->cpu / 1000 / k->timed, l->row.cpu);
}

static void page_commands(struct buf *b, const struct hot_key *k)
{
	buf_puts(b, "asked   ");
	for (u32 i = 0, n = 0; i < OPS; i++)
		if (k->ops[i])
			buf_printf(b, "%s%s %u", n++ ? ", " : "", proto_op_name(i), k->ops[i]);
	buf_puts(b, "\n");
}

static void page_clients(struct buf *b, const struct hot_key *k)
{
	buf_puts(b, "\nclients\n");
	for (u32 i = 0; i < HOT_CLIENTS; i++) {
		if (!k->clients[i].calls)
			continue;
		buf_puts(b, "  ");
		client_host(b, &k->clients[i].who);
		buf_printf(b, "  %llu\n", (unsigned long long)k->clients[i].calls);
	}
}

/* The newest first. */
static void page_sizes(struct buf *b, const struct hot_key *k, u64 clock)
{
	buf_puts(b, "\nsizes\n");
	for (u32 i = 0; i < MIN(k->n_sizes, HOT_SIZES); i++) {
		const struct hot_size *size = &k->sizes[(k->n_sizes - 1 - i) % HOT_SIZES];

		buf_printf(b, "  %10llu bytes since %.1f s\n", (unsigned long long)size->size,
		           clock > size->time ? (double)(clock - size->time) / 1e9 : 0);
	}
	if (k->n_sizes > HOT_SIZES)
		buf_printf(b, "  and %u changes before\n", k->n_sizes - HOT_SIZES);
}

#define BAR 40u

/* Powers of two, each of four buckets. */
static void page_latency(struct buf *b, const struct latency *l)
{
	u64 sums[LATENCY_BUCKETS / 4] = { 0 }, most = 0;
	u32 first = ARRAY_SIZE(sums), last = 0;

	for (u32 i = 0; i < LATENCY_BUCKETS; i++) {
		sums[i / 4] += l->n[i];
		most = MAX(most, sums[i / 4]);
		if (l->n[i]) {
			first = MIN(first, i / 4);
			last = i / 4;
		}
	}
	buf_puts(b, "\nlatency, from the read to the answer, us\n");
	for (u32 i = first; i <= last && most; i++) {
		u32 n = (u32)(sums[i] * BAR / most);

		buf_printf(b, "  %9.1f %9llu ", (double)latency_from(i * 4) / 1000,
		           (unsigned long long)sums[i]);
		buf_fill(b, '#', n ? n : sums[i] > 0);
		buf_putc(b, '\n');
	}
	if (!most)
		buf_puts(b, "  no answer was seen\n");
}

static void page(void *ctx, struct buf *b, const void *row)
{
	const struct hot_screen *s = ctx;
	const struct hot_line *l = row;

	page_counts(b, l);
	page_commands(b, &l->more);
	if (l->more.left_out) {
		buf_printf(b,
		           "\nlatencies, sizes and clients are kept of one key in %u, and not of "
		           "this one\n",
		           hot_sample(s->hot));
		return;
	}
	page_latency(b, &l->more.latency);
	page_sizes(b, &l->more, s->now.clock);
	page_clients(b, &l->more);
}

void hot_screen_init(struct hot_screen *s, enum hot_sort by)
{
	s->model = (struct top_model){
		.columns = columns,
		.n_columns = ARRAY_SIZE(columns),
		.first = 1,
		.row_size = sizeof(struct hot_line),
		.fetch = fetch,
		.head = head,
		.again = again,
		.page = page,
		.whole = whole,
		.dump = dump_and_clear,
		.ctx = s,
	};
	for (u32 i = 0; i < ARRAY_SIZE(columns); i++)
		for (u32 k = 0; k < ARRAY_SIZE(sorts); k++)
			if (columns[i].key == sorts[k].key && sorts[k].by == by)
				s->model.first = i;
}
