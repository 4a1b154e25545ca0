// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The hot keys as text, JSON and CSV. All three print the same numbers; text rounds them, and keeps
 * to what fits a line.
 */
#include "cache/report.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "out/json.h"

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

/* Of the calls of which it is known whether there was something, those where there was. */
static double hit_share(u64 hits, u64 misses)
{
	return hits + misses ? (double)hits * 100 / (double)(hits + misses) : NAN;
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

/* ---- text ------------------------------------------------------------------------------------- */

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

static void text_total(struct buf *b, const struct report_of *r)
{
	const struct hot_totals *t = hot_totals(r->hot);
	time_t seconds = (time_t)(r->time / 1000000000);
	struct keys_stats s;
	char clock[16] = "";
	struct tm tm;

	hot_stats(r->hot, &s);
	if (localtime_r(&seconds, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	buf_printf(b, "%s %s %u: %.0f calls/s, ", clock, r->server, r->pid, total_rate(t));
	put_share(b, 0, hit_share(t->hits, t->misses));
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
	put_share(b, 7, hit_share(k->hits, k->misses));
	buf_printf(b, " %7llu", (unsigned long long)k->misses);
	if (k->sized)
		buf_printf(b, " %8llu", (unsigned long long)k->size);
	else
		buf_printf(b, " %8s", "-");
	put_right(b, 8, (double)k->bytes);
	put_us(b, 7, row->p50);
	put_us(b, 7, row->p99);
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

static void print_text(struct buf *b, const struct report_of *r)
{
	u32 width = key_width(r);
	struct keys_stats s;

	hot_stats(r->hot, &s);
	text_total(b, r);
	buf_printf(b, "%-*s %9s%s %8s %6s %7s %8s %8s %7s %7s %6s  %s\n", (int)width, "KEY",
	           "CALLS", s.exact ? "" : "     ERR", "RATE/S", "HIT%", "MISSES", "SIZE", "BYTES",
	           "P50us", "P99us", "LAST", "CLIENT");
	for (u32 i = 0; i < r->n; i++)
		text_row(b, r, &r->rows[i], width, !s.exact);
	buf_printf(b, "these %u are %.1f %% of %llu calls; ", r->n, covered_share(r),
	           (unsigned long long)hot_totals(r->hot)->calls);
	missed_print(b, &r->missed);
	buf_puts(b, "\n\n");
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void json_name(struct buf *b, const char *name)
{
	buf_printf(b, ",\"%s\":", name);
}

static void json_u64(struct buf *b, const char *name, u64 n)
{
	json_name(b, name);
	json_unsigned(b, n);
}

/* Not known: null. */
static void json_us(struct buf *b, const char *name, u64 ns)
{
	json_name(b, name);
	if (ns)
		buf_printf(b, "%.1f", (double)ns / 1000);
	else
		buf_puts(b, "null");
}

static void json_total(struct buf *b, const struct report_of *r)
{
	const struct hot_totals *t = hot_totals(r->hot);
	struct keys_stats s;

	hot_stats(r->hot, &s);
	buf_printf(b, "\"total\":{\"rate\":%.1f", total_rate(t));
	json_u64(b, "calls", t->calls);
	json_u64(b, "commands", t->commands);
	json_u64(b, "hits", t->hits);
	json_u64(b, "misses", t->misses);
	json_u64(b, "errors", t->errors);
	json_u64(b, "bytes", t->bytes);
	json_us(b, "p50_us", latency_quantile(&t->latency, 0.5));
	json_us(b, "p99_us", latency_quantile(&t->latency, 0.99));
	buf_printf(b, ",\"keys\":%.0f,\"keys_error\":%.4f,\"exact\":%s,\"covered\":%.4f",
	           s.distinct, s.exact ? 0 : s.distinct_error, s.exact ? "true" : "false",
	           covered_share(r) / 100);
	buf_putc(b, ',');
	missed_json(b, &r->missed);
	buf_putc(b, '}');
}

static void json_commands(struct buf *b, const struct hot_key *k)
{
	const char *comma = "";

	buf_puts(b, ",\"commands\":{");
	for (u32 op = 0; op < OPS; op++) {
		if (!k->ops[op])
			continue;
		buf_printf(b, "%s\"%s\":%u", comma, op_name(op), k->ops[op]);
		comma = ",";
	}
	buf_putc(b, '}');
}

static void json_clients(struct buf *b, const struct hot_key *k)
{
	const char *comma = "";

	buf_puts(b, ",\"clients\":[");
	for (u32 i = 0; i < HOT_CLIENTS; i++) {
		if (!k->clients[i].calls)
			continue;
		buf_printf(b, "%s{\"client\":\"", comma);
		client_host(b, &k->clients[i].who);
		buf_putc(b, '"');
		json_u64(b, "calls", k->clients[i].calls);
		buf_putc(b, '}');
		comma = ",";
	}
	buf_putc(b, ']');
}

static void json_row(struct buf *b, const struct report_of *r, const struct hot_row *row)
{
	const struct hot_key *k = row->more;
	struct buf text = { 0 };

	report_key(&text, row->key);
	buf_puts(b, "{\"key\":");
	json_string(b, (struct str){ text.n ? text.p : "", (u32)text.n });
	buf_free(&text);
	json_u64(b, "calls", row->calls);
	json_u64(b, "error", row->error);
	buf_printf(b, ",\"rate\":%.1f,\"rate_decayed\":%.1f", row->rate, row->decayed);
	json_u64(b, "hits", k->hits);
	json_u64(b, "misses", k->misses);
	json_name(b, "size");
	if (k->sized)
		json_unsigned(b, k->size);
	else
		buf_puts(b, "null");
	json_u64(b, "bytes", k->bytes);
	json_us(b, "p50_us", row->p50);
	json_us(b, "p99_us", row->p99);
	buf_printf(b, ",\"last_s\":%.3f",
	           r->clock > k->last ? (double)(r->clock - k->last) / 1e9 : 0.0);
	json_commands(b, k);
	json_clients(b, k);
	buf_putc(b, '}');
}

static void print_json(struct buf *b, const struct report_of *r)
{
	buf_printf(b, "{\"time\":%.3f,\"server\":{\"name\":", seconds_of(r->time));
	json_string(b, str_of(r->server));
	buf_printf(b, ",\"pid\":%u},", r->pid);
	json_total(b, r);
	buf_puts(b, ",\"keys\":[");
	for (u32 i = 0; i < r->n; i++) {
		if (i)
			buf_putc(b, ',');
		json_row(b, r, &r->rows[i]);
	}
	buf_puts(b, "]}\n");
}

/* ---- CSV -------------------------------------------------------------------------------------- */

static void csv_us(struct buf *b, u64 ns)
{
	if (ns)
		buf_printf(b, ",%.1f", (double)ns / 1000);
	else
		buf_putc(b, ',');
}

/* RFC 4180: in quotes, which are doubled. A key can not begin a formula: it is text. */
static void csv_key(struct buf *b, struct str key)
{
	struct buf text = { 0 };

	report_key(&text, key);
	buf_putc(b, '"');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"')
			buf_putc(b, '"');
		buf_putc(b, text.p[i]);
	}
	buf_putc(b, '"');
	buf_free(&text);
}

static void csv_row(struct buf *b, const struct report_of *r, const struct hot_row *row)
{
	const struct hot_key *k = row->more;

	buf_printf(b, "%.3f,", seconds_of(r->time));
	csv_key(b, row->key);
	buf_printf(b, ",%llu,%llu,%.1f,%.1f,%llu,%llu,", (unsigned long long)row->calls,
	           (unsigned long long)row->error, row->rate, row->decayed,
	           (unsigned long long)k->hits, (unsigned long long)k->misses);
	if (k->sized)
		buf_printf(b, "%llu", (unsigned long long)k->size);
	buf_printf(b, ",%llu", (unsigned long long)k->bytes);
	csv_us(b, row->p50);
	csv_us(b, row->p99);
	buf_putc(b, ',');
	client_host(b, &k->clients[0].who);
	buf_putc(b, '\n');
}

static void print_csv(struct buf *b, const struct report_of *r)
{
	for (u32 i = 0; i < r->n; i++)
		csv_row(b, r, &r->rows[i]);
}

/* ---- all of them ------------------------------------------------------------------------------ */

static void (*const forms[])(struct buf *b, const struct report_of *r) = {
	[REPORT_TEXT] = print_text,
	[REPORT_JSON] = print_json,
	[REPORT_CSV] = print_csv,
};

void report_head(struct buf *b, enum report_form form)
{
	if (form == REPORT_CSV)
		buf_puts(b, "time,key,calls,error,rate,rate_decayed,hits,misses,size,bytes,p50_us,"
		            "p99_us,client\n");
}

void report_print(struct buf *b, enum report_form form, const struct report_of *r)
{
	forms[form](b, r);
}
