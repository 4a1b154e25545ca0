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

enum kind { COUNTER, GAUGE, SUMMARY, UNTYPED, HISTOGRAM }; /* as MetricType */

struct writer {
	struct buf *to;
	struct buf family, metric, part, room;
	struct str name;
	enum kind kind;
	struct buf value;  /* the summary or histogram that is being read */
	struct str labels; /* ... its labels */
	bool open, has_sum;
};

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
	protobuf_message(&w->family, 4, &w->metric);
	w->open = false;
}

static void close_family(struct writer *w)
{
	close_series(w);
	if (w->name.n) {
		protobuf_varint(w->to, w->family.n);
		buf_add(w->to, w->family.p, w->family.n);
	}
	buf_reset(&w->family);
	w->name.n = 0;
}

/* A counter or gauge. */
static void add_plain(struct writer *w, const struct metrics_sample *s)
{
	add_labels(w, s->labels);
	if (s->last.n) {
		protobuf_text(&w->part, 1, STR("quantile"));
		protobuf_text(&w->part, 2, s->last);
		protobuf_message(&w->metric, 1, &w->part);
	}
	protobuf_double(&w->part, 1, metrics_real(s->value));
	protobuf_message(&w->metric, w->kind == COUNTER ? 3 : 2, &w->part);
	protobuf_message(&w->family, 4, &w->metric);
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
	protobuf_text(&w->family, 1, w->name);
}

/* The type goes before the first sample: a summary of quantiles alone has no count, and is a gauge
 * with a label. */
static void add_line(struct writer *w, struct str line, bool first)
{
	struct metrics_sample s;

	if (!metrics_read_sample(line, &s) || s.name.n < w->name.n)
		return;
	if (first && w->kind == SUMMARY && s.name.n == w->name.n)
		w->kind = GAUGE;
	if (first)
		protobuf_number(&w->family, 3, w->kind);
	if (w->kind == SUMMARY || w->kind == HISTOGRAM)
		add_part(w, &s);
	else
		add_plain(w, &s);
}

void metrics_proto(struct buf *to, struct str page)
{
	struct writer w = { .to = to };
	bool first = false;

	while (page.n) {
		struct str line = str_cut(page, '\n', &page), rest;

		if (str_starts(line, "# TYPE ")) {
			begin_family(&w, (struct str){ line.p + 7, line.n - 7 });
			first = true;
		} else if (str_starts(line, "# HELP ") && w.name.n) {
			str_cut((struct str){ line.p + 7, line.n - 7 }, ' ', &rest);
			protobuf_text(&w.family, 2, metrics_plain(&w.room, rest));
		} else if (line.n && line.p[0] != '#' && w.name.n) {
			add_line(&w, line, first);
			first = false;
		}
	}
	close_family(&w);
	buf_free(&w.family);
	buf_free(&w.metric);
	buf_free(&w.part);
	buf_free(&w.room);
	buf_free(&w.value);
}
