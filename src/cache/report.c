// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The hot keys as text, and in columns for formats and CSV. All print the same numbers; text rounds
 * them, and keeps to what fits a line.
 */
#include "cache/report.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "out/csv.h"

#define KEY_WIDTH 48u /* text: a longer key moves its columns */

void report_key(struct buf *b, struct str key)
{
	for (u32 i = 0; i < key.n; i++) {
		u8 c = (u8)key.p[i];

		if (c == '\\')
			buf_puts(b, "\\\\");
		else if (c < ' ' || c > '~')
			buf_printf(b, "\\x%02x", c);
		else
			buf_putc(b, (char)c);
	}
}

void report_number(struct buf *b, double n)
{
	static const char units[] = " kMGTP";
	u32 unit = 0;

	while (n >= 999.95 && unit + 2 < sizeof(units)) {
		n /= 1000;
		unit++;
	}
	if (unit)
		buf_printf(b, "%.1f%c", n, units[unit]);
	else
		buf_printf(b, "%.0f", n);
}

static double seconds_of(u64 ns)
{
	return (double)ns / 1e9;
}

static u64 covered(const struct report_of *r)
{
	u64 calls = 0;

	for (u32 i = 0; i < r->n; i++)
		calls += r->rows[i].calls - r->rows[i].error;
	return calls;
}

static double covered_share(const struct report_of *r)
{
	u64 calls = hot_totals(r->hot)->calls;

	return calls ? (double)covered(r) * 100 / (double)calls : 0;
}

static double total_rate(const struct hot_totals *t)
{
	return t->seconds > 0 ? (double)t->interval_calls / t->seconds : 0;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* A percentage; not known: "-". */
static void put_share(struct buf *b, u32 width, double share)
{
	if (isnan(share))
		buf_printf(b, "%*s", (int)width, "-");
	else
		buf_printf(b, "%*.1f", (int)width, share);
}

static void put_right(struct buf *b, u32 width, double n)
{
	struct buf text = { 0 };

	report_number(&text, n);
	buf_printf(b, " %*s", (int)width, buf_text(&text));
	buf_free(&text);
}

/* Microseconds from nanoseconds. */
static void put_us(struct buf *b, u32 width, u64 ns)
{
	if (!ns)
		buf_printf(b, " %*s", (int)width, "-");
	else if (ns < 100000)
		buf_printf(b, " %*.1f", (int)width, (double)ns / 1000);
	else
		buf_printf(b, " %*.0f", (int)width, (double)ns / 1000);
}

void report_clock(struct buf *b, u64 time)
{
	time_t seconds = (time_t)(time / 1000000000);
	char text[16] = "";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	buf_puts(b, text);
}

void report_sample(struct buf *b, const struct hot *h)
{
	if (hot_sample(h) > 1)
		buf_printf(b, "; latencies, sizes and clients of one key in %u", hot_sample(h));
}

static void text_total(struct buf *b, const struct report_of *r)
{
	const struct hot_totals *t = hot_totals(r->hot);
	struct keys_stats s;

	hot_stats(r->hot, &s);
	report_clock(b, r->time);
	buf_printf(b, " %s %u%s: %.0f calls/s, ", r->server, r->pid,
	           r->gone ? " has ended, waiting for it" : "", total_rate(t));
	put_share(b, 0, hot_hit_rate(t->found, t->absent));
	buf_puts(b, " % hits, p50");
	put_us(b, 0, latency_quantile(&t->latency, 0.5));
	buf_puts(b, " us, p99");
	put_us(b, 0, latency_quantile(&t->latency, 0.99));
	buf_printf(b, " us, %.0f keys", s.distinct);
	if (!s.exact)
		buf_printf(b, " (+-%.1f %%)", s.distinct_error * 100);
	buf_putc(b, '\n');
}

static void text_row(struct buf *b, const struct report_of *r, const struct hot_row *row, u32 width,
                     bool errors)
{
	const struct hot_key *k = row->more;
	struct buf text = { 0 };

	report_key(&text, row->key);
	if (!row->key.n)
		buf_puts(&text, "\"\"");
	buf_printf(b, "%-*s %9llu", (int)width, buf_text(&text), (unsigned long long)row->calls);
	if (errors)
		buf_printf(b, " %7llu", (unsigned long long)row->error);
	put_right(b, 8, row->rate);
	put_share(b, 7, hot_hit_rate(k->found, k->absent));
	buf_printf(b, " %7llu", (unsigned long long)k->misses);
	if (k->n_sizes)
		buf_printf(b, " %8llu", (unsigned long long)k->size);
	else
		buf_printf(b, " %8s", "-");
	put_right(b, 8, (double)k->bytes);
	put_us(b, 7, row->p50);
	put_us(b, 7, row->p99);
	put_share(b, 7, row->cpu);
	buf_printf(b, " %6.1f  ", r->clock > k->last ? (double)(r->clock - k->last) / 1e9 : 0.0);
	client_host(b, &k->clients[0].who);
	buf_putc(b, '\n');
	buf_free(&text);
}

static u32 key_width(const struct report_of *r)
{
	struct buf text = { 0 };
	u32 width = 20;

	for (u32 i = 0; i < r->n; i++) {
		buf_reset(&text);
		report_key(&text, r->rows[i].key);
		width = MAX(width, (u32)MIN(text.n, KEY_WIDTH));
	}
	buf_free(&text);
	return width;
}

void report_text(struct buf *b, const struct report_of *r)
{
	u32 width = key_width(r);
	struct keys_stats s;

	hot_stats(r->hot, &s);
	text_total(b, r);
	buf_printf(b, "%-*s %9s%s %8s %6s %7s %8s %8s %7s %7s %6s %6s  %s\n", (int)width, "KEY",
	           "CALLS", s.exact ? "" : "     ERR", "RATE/S", "HIT%", "MISSES", "SIZE", "BYTES",
	           "P50us", "P99us", "CPU%", "LAST", "CLIENT");
	for (u32 i = 0; i < r->n; i++)
		text_row(b, r, &r->rows[i], width, !s.exact);
	buf_printf(b, "these %u are %.1f %% of %llu calls; ", r->n, covered_share(r),
	           (unsigned long long)hot_totals(r->hot)->calls);
	missed_print(b, &r->missed);
	report_sample(b, r->hot);
	buf_putc(b, '\n');
	if (r->commands)
		verbs_text(b, hot_verbs(r->hot));
	buf_putc(b, '\n');
}

/* ---- in columns ----------------------------------------------------------------------------- */

/* Of a key. An object has all but the first and the last, which it has elsewhere. */
enum {
	KEY_TIME,
	KEY_KEY,
	KEY_CALLS,
	KEY_ERROR,
	KEY_RATE,
	KEY_DECAYED,
	KEY_HITS,
	KEY_MISSES,
	KEY_LOOKUPS,
	KEY_FOUND,
	KEY_SIZE,
	KEY_BYTES,
	KEY_P50,
	KEY_P99,
	KEY_CPU,
	KEY_TIMED,
	KEY_LAST,
	KEY_CLIENT,
	KEY_COLUMNS
};

static const struct column key_columns[KEY_COLUMNS] = {
	[KEY_TIME] = { "time", NULL, COLUMN_LABEL, UNIT_SECONDS, 3 },
	[KEY_KEY] = COL_TEXT("key", NULL),
	[KEY_CALLS] = COL_COUNT("calls", NULL),
	[KEY_ERROR] = COL_COUNT("error", "so many calls may be too many"),
	[KEY_RATE] = COL_RATE("rate", "calls, of the interval"),
	[KEY_DECAYED] = COL_RATE("rate_decayed", "calls, of the last ones more"),
	[KEY_HITS] = COL_COUNT("hits", NULL),
	[KEY_MISSES] = COL_COUNT("misses", NULL),
	[KEY_LOOKUPS] = COL_COUNT("lookups", "answered calls that looked for something"),
	[KEY_FOUND] = COL_COUNT("lookup_hits", "... and found it"),
	[KEY_SIZE] = COL_BYTES("size", "of the value"),
	[KEY_BYTES] = { "bytes", "moved", COLUMN_COUNTER, UNIT_BYTES, 0 },
	[KEY_P50] = COL_MICROSECONDS("p50_us", "latency"),
	[KEY_P99] = COL_MICROSECONDS("p99_us", "latency"),
	[KEY_CPU] = { "cpu_us", "on the processor, in all", COLUMN_COUNTER, UNIT_MICROSECONDS, 1 },
	[KEY_TIMED] = COL_COUNT("cpu_calls", "... of so many calls"),
	[KEY_LAST] = { "last_s", "since it was last used", COLUMN_GAUGE, UNIT_SECONDS, 3 },
	[KEY_CLIENT] = COL_LABEL("client", "that used it most"),
};

static struct figure whole(u64 n)
{
	return (struct figure){ .kind = FIGURE_WHOLE, .whole = n };
}

static struct figure real(double n)
{
	return (struct figure){ .kind = FIGURE_REAL, .real = n };
}

static struct figure us(u64 ns)
{
	return ns ? real((double)ns / 1000) : (struct figure){ .kind = FIGURE_UNKNOWN };
}

static struct figure cpu(u64 ns, u64 calls)
{
	return calls ? real((double)ns / 1000) : (struct figure){ .kind = FIGURE_UNKNOWN };
}

static struct figure text_in(const struct buf *b)
{
	return (struct figure){ .kind = FIGURE_TEXT, .text = { b->n ? b->p : "", (u32)b->n } };
}

/* KEY_COLUMNS of them. `text` is room for the key, `client` for who used it. */
static void key_figures(const struct report_of *r, const struct hot_row *row, struct buf *text,
                        struct buf *client, struct figure *f)
{
	const struct hot_key *k = row->more;

	buf_reset(text);
	buf_reset(client);
	report_key(text, row->key);
	client_host(client, &k->clients[0].who);
	f[KEY_TIME] = real(seconds_of(r->time));
	f[KEY_KEY] = text_in(text);
	f[KEY_CALLS] = whole(row->calls);
	f[KEY_ERROR] = whole(row->error);
	f[KEY_RATE] = real(row->rate);
	f[KEY_DECAYED] = real(row->decayed);
	f[KEY_HITS] = whole(k->hits);
	f[KEY_MISSES] = whole(k->misses);
	f[KEY_LOOKUPS] = whole((u64)k->found + k->absent);
	f[KEY_FOUND] = whole(k->found);
	f[KEY_SIZE] = k->n_sizes ? whole(k->size) : (struct figure){ .kind = FIGURE_UNKNOWN };
	f[KEY_BYTES] = whole(k->bytes);
	f[KEY_P50] = us(row->p50);
	f[KEY_P99] = us(row->p99);
	f[KEY_CPU] = cpu(k->cpu, k->timed);
	f[KEY_TIMED] = whole(k->timed);
	f[KEY_LAST] = real(r->clock > k->last ? seconds_of(r->clock - k->last) : 0);
	f[KEY_CLIENT] = text_in(client);
}

static void put_total(struct tree *t, const struct report_of *r)
{
	static const struct column commands = COL_COUNT("commands", NULL),
				   errors = COL_COUNT("errors", NULL),
				   keys = COL_GAUGE("keys", "different ones"),
				   keys_error = COL_RATIO("keys_error", "of their number"),
				   exact = COL_LABEL("exact", NULL),
				   share = COL_RATIO("covered", "calls of the keys listed"),
				   sample = COL_GAUGE("sample", "latencies, sizes and clients "
	                                                        "of one key in so many");
	const struct hot_totals *n = hot_totals(r->hot);
	struct figure p50 = us(latency_quantile(&n->latency, 0.5)),
		      p99 = us(latency_quantile(&n->latency, 0.99)), on_cpu = cpu(n->cpu, n->timed);
	struct keys_stats s;

	hot_stats(r->hot, &s);
	tree_object(t, "total");
	tree_real(t, &key_columns[KEY_RATE], total_rate(n));
	tree_whole(t, &key_columns[KEY_CALLS], n->calls);
	tree_whole(t, &commands, n->commands);
	tree_whole(t, &key_columns[KEY_HITS], n->hits);
	tree_whole(t, &key_columns[KEY_MISSES], n->misses);
	tree_whole(t, &key_columns[KEY_LOOKUPS], n->found + n->absent);
	tree_whole(t, &key_columns[KEY_FOUND], n->found);
	tree_whole(t, &errors, n->errors);
	tree_whole(t, &key_columns[KEY_BYTES], n->bytes);
	tree_put(t, &key_columns[KEY_P50], &p50);
	tree_put(t, &key_columns[KEY_P99], &p99);
	tree_put(t, &key_columns[KEY_CPU], &on_cpu);
	tree_whole(t, &key_columns[KEY_TIMED], n->timed);
	tree_real(t, &keys, s.distinct);
	tree_real(t, &keys_error, s.exact ? 0 : s.distinct_error);
	tree_flag(t, &exact, s.exact);
	tree_real(t, &share, covered_share(r) / 100);
	tree_whole(t, &sample, hot_sample(r->hot));
	missed_tree(t, &r->missed);
	tree_end(t);
}

static void put_commands(struct tree *t, const struct hot_key *k)
{
	tree_object(t, "commands");
	for (u32 op = 0; op < OPS; op++)
		if (k->ops[op])
			tree_whole(t, &(struct column)COL_COUNT(proto_op_name(op), NULL),
			           k->ops[op]);
	tree_end(t);
}

static void put_clients(struct tree *t, const struct hot_key *k, struct buf *text)
{
	tree_list(t, "clients");
	for (u32 i = 0; i < HOT_CLIENTS; i++) {
		struct figure client;

		if (!k->clients[i].calls)
			continue;
		buf_reset(text);
		client_host(text, &k->clients[i].who);
		client = text_in(text);
		tree_object(t, NULL);
		tree_put(t, &key_columns[KEY_CLIENT], &client);
		tree_whole(t, &key_columns[KEY_CALLS], k->clients[i].calls);
		tree_end(t);
	}
	tree_end(t);
}

void report_tree(struct tree *t, const struct report_of *r)
{
	static const struct column name = COL_LABEL("name", NULL), pid = COL_LABEL("pid", NULL),
				   running = COL_LABEL("running", NULL);
	struct buf text = { 0 }, client = { 0 };
	struct figure f[KEY_COLUMNS];

	tree_object(t, NULL);
	tree_real(t, &key_columns[KEY_TIME], seconds_of(r->time));
	tree_object(t, "server");
	tree_text(t, &name, r->server);
	tree_whole(t, &pid, r->pid);
	tree_flag(t, &running, !r->gone);
	tree_end(t);
	put_total(t, r);
	tree_list(t, "keys");
	for (u32 i = 0; i < r->n; i++) {
		key_figures(r, &r->rows[i], &text, &client, f);
		tree_object(t, NULL);
		for (u32 k = KEY_KEY; k <= KEY_LAST; k++)
			tree_put(t, &key_columns[k], &f[k]);
		put_commands(t, r->rows[i].more);
		put_clients(t, r->rows[i].more, &client);
		tree_end(t);
	}
	tree_end(t);
	if (r->commands)
		verbs_tree(t, hot_verbs(r->hot));
	tree_end(t);
	buf_free(&text);
	buf_free(&client);
}

/* Which of them a line of CSV has. */
static bool in_csv(u32 column)
{
	return column != KEY_LAST;
}

void report_csv_head(struct buf *b)
{
	for (u32 i = 0; i < KEY_COLUMNS; i++)
		if (in_csv(i))
			csv_head(b, i, &key_columns[i]);
	buf_putc(b, '\n');
}

void report_csv(struct buf *b, const struct report_of *r)
{
	struct buf text = { 0 }, client = { 0 };
	struct figure f[KEY_COLUMNS];

	for (u32 i = 0; i < r->n; i++) {
		key_figures(r, &r->rows[i], &text, &client, f);
		for (u32 k = 0; k < KEY_COLUMNS; k++)
			if (in_csv(k))
				csv_figure(b, k, &key_columns[k], &f[k]);
		buf_putc(b, '\n');
	}
	buf_free(&text);
	buf_free(&client);
}
