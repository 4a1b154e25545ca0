/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cache/hot_metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cache/report.h"
#include "out/metrics_native.h"

#define CURVE_FIRST 16u /* 64 KiB */
#define CURVE_MOST  44u

void hot_served_add(struct hot_served *s, u64 ns)
{
	u32 bit = ns ? 63 - (u32)__builtin_clzll(ns) : 0;

	bit = MAX(bit, HOT_SERVED_FIRST) - HOT_SERVED_FIRST;
	s->n[MIN(bit, HOT_SERVED - 1)]++;
	s->ns += ns;
}

/* ---- samples ---- */

static void family(struct buf *b, const struct hot_metrics *m, const char *name, const char *kind,
                   const char *help)
{
	metrics_family(b, m->form, name, kind, help);
}

/* NAME_SUFFIX{labels,label="text"} up to the number; label NULL: without. */
static void sample(struct buf *b, const struct hot_metrics *m, const char *name, const char *suffix,
                   const char *label, struct str text)
{
	buf_printf(b, "%s%s{%s", name, suffix, m->labels);
	if (label) {
		buf_printf(b, ",%s=", label);
		metrics_label(b, text);
	}
	buf_puts(b, "} ");
}

static void number(struct buf *b, const struct hot_metrics *m, const char *name, const char *suffix,
                   const char *label, const char *text, u64 n)
{
	sample(b, m, name, suffix, label, str_of(text));
	buf_printf(b, "%" PRIu64 "\n", n);
}

static void seconds(struct buf *b, u64 ns)
{
	buf_printf(b, "%" PRIu64 ".%09u\n", ns / 1000000000, (u32)(ns % 1000000000));
}

/* ---- the server ---- */

static void whole(struct buf *b, const struct hot_metrics *m, const char *name, const char *kind,
                  const char *help, u64 n)
{
	family(b, m, name, kind, help);
	number(b, m, name, *kind == 'c' ? "_total" : "", NULL, "", n);
}

static void add_info(struct buf *b, const struct hot_metrics *m)
{
	struct buf where = { 0 };

	buf_puts(&where, "server=");
	metrics_label(&where, str_of(m->server));
	if (m->where)
		metrics_cgroup(&where, m->where);
	family(b, m, "cache_server", "info", "The program, and the container or unit it is in.");
	buf_printf(b, "cache_server_info{%s,%s} 1\n", m->labels, buf_text(&where));
	buf_free(&where);
}

static void add_server(struct buf *b, const struct hot_metrics *m)
{
	const struct hot_totals *t = hot_totals(m->hot);
	struct keys_stats keys;

	hot_stats(m->hot, &keys);
	add_info(b, m);
	whole(b, m, "cache_up", "gauge", "1 while the server runs.", m->up);
	whole(b, m, "cache_commands", "counter", "Commands that the server was given.",
	      t->commands);
	family(b, m, "cache_calls", "counter", "Keys in these commands, each a call.");
	for (u32 i = 0; i < OPS; i++)
		if (t->ops[i])
			number(b, m, "cache_calls", "_total", "op", proto_op_name(i), t->ops[i]);
	family(b, m, "cache_lookups", "counter", "Keys that were looked for.");
	number(b, m, "cache_lookups", "_total", "result", "hit", t->found);
	number(b, m, "cache_lookups", "_total", "result", "miss", t->absent);
	whole(b, m, "cache_errors", "counter", "Calls that the server refused.", t->errors);
	whole(b, m, "cache_value_bytes", "counter", "Bytes of values, to and from clients.",
	      t->bytes);
	family(b, m, "cache_cpu_seconds", "counter",
	       "That the server's threads were on a processor for answered calls.");
	sample(b, m, "cache_cpu_seconds", "_total", NULL, STR(""));
	seconds(b, t->cpu);
	whole(b, m, "cache_keys", "gauge", "Different keys so far, an estimate when they are many.",
	      (u64)keys.distinct);
	whole(b, m, "cache_missed_events", "counter",
	      "System calls that were missed: what follows may be too low.", m->missed.events);
}

/* Below 2^11 ns is taken for more than half of that. */
static void add_native(struct buf *b, const struct hot_metrics *m, const char *name)
{
	struct native h = { 0 };

	for (u32 i = 0; i < HOT_SERVED; i++)
		if (m->served->n[i])
			metrics_native_add(&h, ldexp(1.5e-9, (int)(HOT_SERVED_FIRST + i)),
			                   m->served->n[i]);
	sample(b, m, name, "_native", NULL, STR(""));
	metrics_native_print(b, &h);
}

static void add_served(struct buf *b, const struct hot_metrics *m)
{
	const char *name = "cache_service_seconds";
	u64 below = 0;

	family(b, m, name, "histogram",
	       "From the read of a request to the write of its answer, by key.");
	for (u32 i = 0; i < HOT_SERVED - 1; i++) {
		u64 high = (2ull << (HOT_SERVED_FIRST + i)) - 1;

		below += m->served->n[i];
		buf_printf(b, "%s_bucket{%s,le=\"%" PRIu64 ".%09u\"} %" PRIu64 "\n", name,
		           m->labels, high / 1000000000, (u32)(high % 1000000000), below);
	}
	below += m->served->n[HOT_SERVED - 1];
	number(b, m, name, "_bucket", "le", "+Inf", below);
	number(b, m, name, "_count", NULL, "", below);
	sample(b, m, name, "_sum", NULL, STR(""));
	seconds(b, m->served->ns);
	if (m->form == METRICS_NATIVE)
		add_native(b, m, name);
}

/* ---- its keys ---- */

static u64 calls_of(const struct hot_row *r)
{
	return r->calls;
}

static u64 error_of(const struct hot_row *r)
{
	return r->error;
}

static u64 misses_of(const struct hot_row *r)
{
	return r->more->absent;
}

static u64 bytes_of(const struct hot_row *r)
{
	return r->more->bytes;
}

#define NOT_KNOWN UINT64_MAX

static u64 size_of(const struct hot_row *r)
{
	return r->more->n_sizes ? r->more->size : NOT_KNOWN;
}

static const struct {
	const char *name, *kind, *help;
	u64 (*value)(const struct hot_row *r);
} of_key[] = {
	{ "cache_key_calls", "counter", "Calls of the hottest keys.", calls_of },
	{ "cache_key_calls_error", "gauge", "By how many cache_key_calls may be too high.",
	  error_of },
	{ "cache_key_misses", "counter", "Lookups of a key that was not there.", misses_of },
	{ "cache_key_value_bytes", "counter", "Bytes of its values, to and from clients.",
	  bytes_of },
	{ "cache_key_size_bytes", "gauge", "Bytes of its value when it was seen last.", size_of },
};

static struct str key_of(struct buf *text, const struct hot_row *r)
{
	buf_reset(text);
	report_key(text, r->key);
	return (struct str){ buf_text(text), (u32)text->n };
}

static void add_cpu(struct buf *b, const struct hot_metrics *m, struct buf *text)
{
	const char *name = "cache_key_cpu_seconds";

	family(b, m, name, "counter", "That a processor took for calls of the key.");
	for (u32 i = 0; i < m->n; i++) {
		sample(b, m, name, "_total", "key", key_of(text, &m->rows[i]));
		seconds(b, m->rows[i].more->cpu);
	}
}

static void add_latency(struct buf *b, const struct hot_metrics *m, struct buf *text)
{
	const char *name = "cache_key_service_seconds";

	family(b, m, name, "summary", "How long answers about a key took.");
	for (u32 i = 0; i < m->n; i++) {
		struct str key = key_of(text, &m->rows[i]);
		u64 ns[] = { m->rows[i].p50, m->rows[i].p99 };
		const char *const q[] = { "0.5", "0.99" };

		for (u32 k = 0; ns[0] && k < ARRAY_SIZE(ns); k++) {
			buf_printf(b, "%s{%s,key=", name, m->labels);
			metrics_label(b, key);
			buf_printf(b, ",quantile=\"%s\"} ", q[k]);
			seconds(b, ns[k]);
		}
	}
}

static void add_keys(struct buf *b, const struct hot_metrics *m)
{
	struct buf text = { 0 };

	for (u32 i = 0; m->n && i < ARRAY_SIZE(of_key); i++) {
		family(b, m, of_key[i].name, of_key[i].kind, of_key[i].help);
		for (u32 k = 0; k < m->n; k++) {
			u64 value = of_key[i].value(&m->rows[k]);

			if (value == NOT_KNOWN)
				continue;
			sample(b, m, of_key[i].name, *of_key[i].kind == 'c' ? "_total" : "", "key",
			       key_of(&text, &m->rows[k]));
			buf_printf(b, "%" PRIu64 "\n", value);
		}
	}
	if (m->n)
		add_cpu(b, m, &text);
	add_latency(b, m, &text);
	buf_free(&text);
}

/* ---- the curve ---- */

static void point(struct buf *b, const struct hot_metrics *m, const char *name, const char *label,
                  const char *text, double value)
{
	sample(b, m, name, "", label, str_of(text));
	buf_printf(b, "%.6g\n", value);
}

/* At powers of two of bytes, as far as more brings more. */
static void add_curve(struct buf *b, const struct hot_metrics *m)
{
	const char *ratio = "cache_curve_hit_ratio", *bytes = "cache_curve_bytes";
	const struct shards *s = m->sizing->shards;
	double enough = shards_bytes(s, 0.999);
	char text[24];

	if (!(enough > 0))
		return;
	family(b, m, ratio, "gauge",
	       "Lookups that a cache of so many bytes would answer, as a share of all.");
	for (u32 i = CURVE_FIRST; i < CURVE_MOST; i++) {
		snprintf(text, sizeof(text), "%llu", 1ull << i);
		point(b, m, ratio, "size", text, shards_hits_bytes(s, ldexp(1, (int)i)));
		if (ldexp(1, (int)i) >= enough)
			break;
	}
	family(b, m, "cache_curve_hit_ratio_most", "gauge",
	       "... that one that is never full would.");
	point(b, m, "cache_curve_hit_ratio_most", NULL, "", shards_hits_most(s));
	family(b, m, bytes, "gauge",
	       "The size at the knee of the curve, and where it has 95 % of its most hits.");
	point(b, m, bytes, "point", "knee", sizing_knee(m->sizing).bytes);
	point(b, m, bytes, "point", "95%", sizing_share(m->sizing, 0.95).bytes);
}

void hot_metrics(struct buf *b, const struct hot_metrics *m)
{
	add_server(b, m);
	add_served(b, m);
	add_keys(b, m);
	if (m->sizing)
		add_curve(b, m);
}
