/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the text, which collectors write and families.c puts together: so in one place a metric
 * gets its name and labels. The samples of a histogram or summary follow each other there and
 * differ in the last label; they are one message.
 */
#include "out/metrics_proto.h"

#include <math.h>
#include <string.h>

#include "out/metrics_lines.h"
#include "out/protobuf.h"

/* ---- families ------------------------------------------------------------------------------- */

#define VARINT_MOST 10u

enum kind { COUNTER, GAUGE, SUMMARY, UNTYPED, HISTOGRAM }; /* as MetricType */

struct writer {
	struct buf *to;
	size_t family; /* where the open one begins in it: room for its size */
	struct buf metric, part, room;
	struct str name;
	enum kind kind;
	struct buf value;  /* the summary or histogram that is being read */
	struct str labels; /* ... its labels */
	bool open, has_sum;
};

static u64 double_bits(double value)
{
	u64 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static u8 *put_varint(u8 *at, u64 value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (u8)(value | 0x80);
	*at++ = (u8)value;
	return at;
}

static void add_labels(struct writer *w, struct str labels)
{
	struct str key, value;

	while (metrics_next_label(&labels, &key, &value)) {
		protobuf_text(&w->part, 1, key);
		protobuf_text(&w->part, 2, metrics_plain(&w->room, value));
		protobuf_message(&w->metric, 1, &w->part);
	}
}

/* What has no sum says so. */
static void close_series(struct writer *w)
{
	if (!w->open)
		return;
	if (!w->has_sum)
		protobuf_double(&w->value, 2, NAN);
	add_labels(w, w->labels);
	protobuf_message(&w->metric, w->kind == SUMMARY ? 4 : 7, &w->value);
	protobuf_message(w->to, 4, &w->metric);
	w->open = false;
}

static void close_family(struct writer *w)
{
	u8 *at, *from;
	size_t n;

	close_series(w);
	if (!w->name.n)
		return;
	at = (u8 *)w->to->p + w->family;
	from = at + VARINT_MOST;
	n = w->to->n - w->family - VARINT_MOST;
	at = put_varint(at, n);
	memmove(at, from, n);
	w->to->n = (size_t)(at + n - (u8 *)w->to->p);
	w->name.n = 0;
}

/* ---- counters and gauges, which are most ---- */

static u32 varint_size(u64 value)
{
	u32 n = 1;

	for (; value >= 0x80; value >>= 7)
		n++;
	return n;
}

static u8 *put_text(u8 *at, u32 field, struct str s)
{
	at = put_varint(at, field << 3 | 2);
	at = put_varint(at, s.n);
	if (s.n)
		memcpy(at, s.p, s.n);
	return at + s.n;
}

/* The labels as they stand, the last one too. NULL: it is no list of labels. */
static u8 *put_labels(struct writer *w, u8 *at, struct str *rest)
{
	struct str key, value;

	while (metrics_next_label(rest, &key, &value)) {
		value = metrics_plain(&w->room, value);
		*at++ = 1 << 3 | 2;
		at = put_varint(at,
		                2 + varint_size(key.n) + key.n + varint_size(value.n) + value.n);
		at = put_text(at, 1, key);
		at = put_text(at, 2, value);
	}
	return rest->n && rest->p[0] == '}' ? at : NULL;
}

static void put_metric(struct buf *to, const u8 *metric, size_t n)
{
	u8 *at = (u8 *)buf_need(to, n + 1 + VARINT_MOST);

	*at++ = 4 << 3 | 2;
	at = put_varint(at, n);
	memcpy(at, metric, n);
	to->n = (size_t)(at + n - (u8 *)to->p);
}

/* A label is 18 bytes and its text at most, and its text and 4 in the line. */
static void add_plain(struct writer *w, struct str line)
{
	u8 *from = (u8 *)buf_need(&w->metric, 4 * (size_t)line.n + 64), *at = from;
	u32 n = w->name.n;
	struct str rest;
	double value;

	while (n < line.n && line.p[n] != '{' && line.p[n] != ' ')
		n++;
	rest = (struct str){ line.p + n, line.n - n };
	if (rest.n && rest.p[0] == '{') {
		rest = (struct str){ rest.p + 1, rest.n - 1 };
		at = put_labels(w, at, &rest);
		rest = (struct str){ rest.p + 1, rest.n ? rest.n - 1 : 0 };
	}
	rest = str_trim(rest, " ");
	if (!at || !rest.n)
		return;
	value = metrics_real(rest);
	*at++ = (u8)((w->kind == COUNTER ? 3 : 2) << 3 | 2);
	*at++ = 9;
	*at++ = 1 << 3 | 1;
	for (u32 i = 0; i < 8; i++)
		*at++ = (u8)(double_bits(value) >> 8 * i);
	put_metric(w->to, from, (size_t)(at - from));
}

static void add_bucket(struct writer *w, const struct metrics_sample *s)
{
	protobuf_number(&w->part, 1, metrics_number(s->value));
	protobuf_double(&w->part, 2, str_is(s->last, "+Inf") ? INFINITY : metrics_real(s->last));
	protobuf_message(&w->value, 3, &w->part);
}

/* A run of buckets side by side is a span; counts are differences to the one before. */
static void add_buckets(struct writer *w, struct str all)
{
	struct buf deltas = { 0 };
	s64 at = 0, before = 0, start = 0;
	u64 n;
	u32 run = 0;

	while (all.n) {
		s64 i = metrics_bucket(str_cut(all, ' ', &all), &n);

		if (run && i != at) {
			protobuf_number(&w->part, 2, run);
			protobuf_message(&w->value, 12, &w->part);
			run = 0;
		}
		if (!run++)
			protobuf_signed(&w->part, 1, i - start);
		at = start = i + 1;
		protobuf_signed(&deltas, 13, (s64)n - before);
		before = (s64)n;
	}
	if (run) {
		protobuf_number(&w->part, 2, run);
		protobuf_message(&w->value, 12, &w->part);
	}
	buf_add(&w->value, deltas.p, deltas.n);
	buf_free(&deltas);
}

/* The width of the zero bucket is that of Prometheus' own libraries; it tells a native histogram in
 * which nothing was counted yet. */
static void add_native(struct writer *w, struct str all)
{
	u64 zero;

	protobuf_signed(&w->value, 5, (s64)metrics_number(str_cut(all, ' ', &all)));
	protobuf_double(&w->value, 6, 0x1p-128);
	zero = metrics_number(str_cut(all, ' ', &all));
	protobuf_number(&w->value, 7, zero);
	add_buckets(w, all);
}

static void add_part(struct writer *w, const struct metrics_sample *s)
{
	struct str suffix = { s->name.p + w->name.n, s->name.n - w->name.n };

	if (w->open && !str_eq(w->labels, s->labels))
		close_series(w);
	if (!w->open) {
		w->open = true;
		w->has_sum = false;
		w->labels = s->labels;
	}
	if (str_is(suffix, "_bucket")) {
		add_bucket(w, s);
	} else if (str_is(suffix, "_count")) {
		protobuf_number(&w->value, 1, metrics_number(s->value));
	} else if (str_is(suffix, "_sum")) {
		protobuf_double(&w->value, 2, metrics_real(s->value));
		w->has_sum = true;
	} else if (str_is(suffix, "_native")) {
		add_native(w, s->value);
	}
}

static void begin_family(struct writer *w, struct str line)
{
	static const char *const kinds[] = { "counter", "gauge", "summary", "", "histogram" };
	struct str kind;

	close_family(w);
	w->name = str_cut(line, ' ', &kind);
	w->kind = UNTYPED;
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_is(kind, kinds[i]))
			w->kind = (enum kind)i;
	if (!w->name.n)
		return;
	w->family = w->to->n;
	buf_fill(w->to, 0, VARINT_MOST);
	protobuf_text(w->to, 1, w->name);
}

/* The type goes before the first sample: a summary of quantiles alone has no count, and is a gauge
 * with a label. */
static void add_line(struct writer *w, struct str line, bool first)
{
	struct metrics_sample s;

	if (line.n < w->name.n || memcmp(line.p, w->name.p, w->name.n) != 0)
		return;
	if ((first || w->kind == SUMMARY || w->kind == HISTOGRAM) && !metrics_read_sample(line, &s))
		return;
	if (first && w->kind == SUMMARY && s.name.n == w->name.n)
		w->kind = GAUGE;
	if (first)
		protobuf_number(w->to, 3, w->kind);
	if (w->kind == SUMMARY || w->kind == HISTOGRAM)
		add_part(w, &s);
	else
		add_plain(w, line);
}

/* Its lines; *first: no sample of the family has come. */
static void add_piece(struct writer *w, struct str page, bool *first)
{
	while (page.n) {
		struct str line = str_cut(page, '\n', &page), rest;

		if (str_starts(line, "# TYPE ")) {
			begin_family(w, (struct str){ line.p + 7, line.n - 7 });
			*first = true;
		} else if (str_starts(line, "# HELP ") && w->name.n) {
			str_cut((struct str){ line.p + 7, line.n - 7 }, ' ', &rest);
			protobuf_text(w->to, 2, metrics_plain(&w->room, rest));
		} else if (line.n && line.p[0] != '#' && w->name.n) {
			add_line(w, line, *first);
			*first = false;
		}
	}
}

void metrics_proto(struct buf *to, const struct str *pieces, u32 n)
{
	struct writer w = { .to = to };
	bool first = false;

	for (u32 i = 0; i < n; i++)
		add_piece(&w, pieces[i], &first);
	close_family(&w);
	buf_free(&w.metric);
	buf_free(&w.part);
	buf_free(&w.room);
	buf_free(&w.value);
}
