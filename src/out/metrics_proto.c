/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the text, which collectors write and families.c puts together: so in one place a metric
 * gets its name and labels. The samples of a histogram or summary follow each other there and
 * differ in the last label; they are one message.
 */
#include "out/metrics_proto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "out/protobuf.h"

/* ---- lines ---------------------------------------------------------------------------------- */

struct sample {
	struct str name;
	struct str
		labels;   /* key="value",... but for the last one when that is `le` or `quantile` */
	struct str last;  /* ... its value */
	struct str value; /* the rest of the line */
};

/* The text with its escapes done. */
static struct str plain(struct buf *room, struct str s)
{
	if (!s.n || !memchr(s.p, '\\', s.n))
		return s;
	buf_reset(room);
	for (u32 i = 0; i < s.n; i++) {
		bool escape = s.p[i] == '\\' && i + 1 < s.n;

		i += escape;
		buf_putc(room, escape && s.p[i] == 'n' ? '\n' : s.p[i]);
	}
	return (struct str){ buf_text(room), (u32)room->n };
}

/* Where the quoted text that begins at `i` ends: behind its last quote. 0: nowhere. */
static u32 quoted_end(struct str s, u32 i)
{
	for (i++; i < s.n; i++) {
		if (s.p[i] == '\\')
			i++;
		else if (s.p[i] == '"')
			return i + 1;
	}
	return 0;
}

/* Takes a label off the front. False: there is none, or no more. */
static bool next_label(struct str *s, struct str *key, struct str *value)
{
	const char *equals = s->n ? memchr(s->p, '=', s->n) : NULL;
	u32 at = equals ? (u32)(equals + 1 - s->p) : 0, end;

	if (!at || at >= s->n || s->p[at] != '"')
		return false;
	end = quoted_end(*s, at);
	if (!end)
		return false;
	*key = (struct str){ s->p, at - 1 };
	*value = (struct str){ s->p + at + 1, end - at - 2 };
	end += end < s->n && s->p[end] == ',';
	s->p += end;
	s->n -= end;
	return true;
}

/* Takes the labels off the front, which begins behind '{'. */
static void read_labels(struct sample *s, struct str *rest)
{
	const char *from = rest->p;
	struct str key, value;

	s->labels.p = from;
	while (next_label(rest, &key, &value)) {
		if (str_is_row(key, "le") || str_is_row(key, "quantile"))
			s->last = value;
		else
			s->labels.n = (u32)(value.p + value.n + 1 - from);
	}
}

static bool read_sample(struct str line, struct sample *s)
{
	struct str rest;
	u32 n = 0;

	*s = (struct sample){ 0 };
	while (n < line.n && line.p[n] != '{' && line.p[n] != ' ')
		n++;
	s->name = (struct str){ line.p, n };
	rest = (struct str){ line.p + n, line.n - n };
	if (n < line.n && line.p[n] == '{') {
		rest = (struct str){ rest.p + 1, rest.n - 1 };
		read_labels(s, &rest);
		if (!rest.n || rest.p[0] != '}')
			return false;
		rest = (struct str){ rest.p + 1, rest.n - 1 };
	}
	s->value = str_trim(rest, " ");
	return s->name.n && s->value.n;
}

/* Ends at what is no number. */
static double real_of(struct str s)
{
	char text[40];
	u64 whole = 0;
	u32 n = 0;

	/* So are most, and exact. */
	for (; n < s.n && n < 15 && s.p[n] >= '0' && s.p[n] <= '9'; n++)
		whole = whole * 10 + (u64)(s.p[n] - '0');
	if (n && n == s.n)
		return (double)whole;
	if (s.n >= sizeof(text))
		return NAN;
	memcpy(text, s.p, s.n);
	text[s.n] = 0;
	return strtod(text, NULL);
}

static u64 number_of(struct str s)
{
	u64 n = 0;

	for (u32 i = 0; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
		n = n * 10 + (u64)(s.p[i] - '0');
	return n;
}

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

	while (next_label(&labels, &key, &value)) {
		protobuf_text(&w->part, 1, key);
		protobuf_text(&w->part, 2, plain(&w->room, value));
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
static void add_plain(struct writer *w, const struct sample *s)
{
	add_labels(w, s->labels);
	if (s->last.n) {
		protobuf_text(&w->part, 1, STR("quantile"));
		protobuf_text(&w->part, 2, s->last);
		protobuf_message(&w->metric, 1, &w->part);
	}
	protobuf_double(&w->part, 1, real_of(s->value));
	protobuf_message(&w->metric, w->kind == COUNTER ? 3 : 2, &w->part);
	protobuf_message(&w->family, 4, &w->metric);
}

static void add_bucket(struct writer *w, const struct sample *s)
{
	protobuf_number(&w->part, 1, number_of(s->value));
	protobuf_double(&w->part, 2, str_is(s->last, "+Inf") ? INFINITY : real_of(s->last));
	protobuf_message(&w->value, 3, &w->part);
}

/* "-5:3" */
static s64 bucket_of(struct str one, u64 *n)
{
	struct str count, index = str_cut(one, ':', &count);
	bool below = index.n && index.p[0] == '-';

	*n = number_of(count);
	index.p += below;
	index.n -= below;
	return below ? -(s64)number_of(index) : (s64)number_of(index);
}

/* A run of buckets side by side is a span; counts are differences to the one before. */
static void add_buckets(struct writer *w, struct str all)
{
	struct buf deltas = { 0 };
	s64 at = 0, before = 0, start = 0;
	u64 n;
	u32 run = 0;

	while (all.n) {
		s64 i = bucket_of(str_cut(all, ' ', &all), &n);

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

	protobuf_signed(&w->value, 5, (s64)number_of(str_cut(all, ' ', &all)));
	protobuf_double(&w->value, 6, 0x1p-128);
	zero = number_of(str_cut(all, ' ', &all));
	protobuf_number(&w->value, 7, zero);
	add_buckets(w, all);
}

static void add_part(struct writer *w, const struct sample *s)
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
		protobuf_number(&w->value, 1, number_of(s->value));
	} else if (str_is(suffix, "_sum")) {
		protobuf_double(&w->value, 2, real_of(s->value));
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
	struct sample s;

	if (!read_sample(line, &s) || s.name.n < w->name.n)
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
			protobuf_text(&w.family, 2, plain(&w.room, rest));
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
