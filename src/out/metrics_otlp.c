/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The samples of a histogram or summary follow each other and differ in the last label; they are
 * one data point.
 */
#include "out/metrics_otlp.h"

#include "out/metrics_lines.h"
#include "out/protobuf.h"

#define CUMULATIVE 2

/* Numbers of fields. */
enum { REQUEST_RESOURCE = 1, RESOURCE_ABOUT = 1, RESOURCE_SCOPE, SCOPE_ABOUT = 1, SCOPE_METRIC };
enum { METRIC_NAME = 1, METRIC_HELP, GAUGE = 5, SUM = 7, HISTOGRAM = 9, EXPONENTIAL, SUMMARY };
enum { DATA_POINT = 1, DATA_TEMPORALITY, DATA_MONOTONIC };
enum { POINT_BEGAN = 2, POINT_NOW, POINT_COUNT, POINT_SUM, POINT_BUCKETS, POINT_BOUNDS };
enum { POINT_NUMBER = 4, POINT_QUANTILE = 6, POINT_SCALE = 6, POINT_ZERO, POINT_POSITIVE };
enum { PLAIN_LABEL = 7, HISTOGRAM_LABEL = 9, EXPONENTIAL_LABEL = 1 };

struct writer {
	const struct otlp_about *about;
	struct buf metrics, metric, data, point, part, room;
	struct buf counts, bounds; /* of a histogram, fixed64 and double */
	struct str name, labels, native;
	u32 kind; /* GAUGE, SUM, HISTOGRAM, SUMMARY: a field of Metric; 0: of no family */
	u64 count, below;
	bool open, has_sum;
	double sum;
};

static void add_text(struct buf *b, struct buf *part, u32 field, const char *key, struct str text)
{
	struct buf value = { 0 };

	protobuf_text(&value, 1, text);
	protobuf_text(part, 1, str_of(key));
	protobuf_message(part, 2, &value);
	protobuf_message(b, field, part);
	buf_free(&value);
}

static void add_labels(struct writer *w, u32 field, struct str labels)
{
	struct str key, text;
	struct buf value = { 0 };

	while (metrics_next_label(&labels, &key, &text)) {
		protobuf_text(&value, 1, metrics_plain(&w->room, text));
		protobuf_text(&w->part, 1, key);
		protobuf_message(&w->part, 2, &value);
		protobuf_message(&w->point, field, &w->part);
	}
	buf_free(&value);
}

static void add_times(struct writer *w)
{
	protobuf_fixed(&w->point, POINT_BEGAN, w->about->began_ns);
	protobuf_fixed(&w->point, POINT_NOW, w->about->now_ns);
}

/* "schema zero bucket:count ...": bucket i of Prometheus is i - 1 here, and gaps are zeros. */
static void add_native(struct writer *w)
{
	struct str all = w->native, first;
	struct buf buckets = { 0 }, counts = { 0 };
	bool below = all.n && all.p[0] == '-';
	s64 at = 0;
	u64 n;

	first = str_cut(all, ' ', &all);
	first.p += below;
	first.n -= below;
	protobuf_signed(&w->point, POINT_SCALE,
	                below ? -(s64)metrics_number(first) : (s64)metrics_number(first));
	protobuf_fixed(&w->point, POINT_ZERO, metrics_number(str_cut(all, ' ', &all)));
	for (bool any = false; all.n; any = true) {
		s64 i = metrics_bucket(str_cut(all, ' ', &all), &n);

		if (!any)
			protobuf_signed(&buckets, 1, i - 1);
		for (; any && at < i; at++)
			protobuf_varint(&counts, 0);
		protobuf_varint(&counts, n);
		at = i + 1;
	}
	if (counts.n)
		protobuf_message(&buckets, 2, &counts);
	protobuf_message(&w->point, POINT_POSITIVE, &buckets);
	buf_free(&buckets);
	buf_free(&counts);
}

static void close_point(struct writer *w)
{
	if (!w->open)
		return;
	w->open = false;
	if (w->kind == HISTOGRAM && w->native.n)
		w->kind = EXPONENTIAL;
	add_times(w);
	protobuf_fixed(&w->point, POINT_COUNT, w->count);
	if (w->has_sum)
		protobuf_double(&w->point, POINT_SUM, w->sum);
	if (w->kind == EXPONENTIAL) {
		add_native(w);
	} else if (w->kind == HISTOGRAM) {
		protobuf_message(&w->point, POINT_BUCKETS, &w->counts);
		protobuf_message(&w->point, POINT_BOUNDS, &w->bounds);
	}
	add_labels(w,
	           w->kind == HISTOGRAM     ? HISTOGRAM_LABEL
	           : w->kind == EXPONENTIAL ? EXPONENTIAL_LABEL
	                                    : PLAIN_LABEL,
	           w->labels);
	protobuf_message(&w->data, DATA_POINT, &w->point);
	buf_reset(&w->counts);
	buf_reset(&w->bounds);
}

static void close_family(struct writer *w)
{
	close_point(w);
	if (w->kind && w->data.n) {
		if (w->kind != GAUGE && w->kind != SUMMARY)
			protobuf_number(&w->data, DATA_TEMPORALITY, CUMULATIVE);
		if (w->kind == SUM)
			protobuf_number(&w->data, DATA_MONOTONIC, 1);
		protobuf_message(&w->metric, w->kind, &w->data);
		protobuf_message(&w->metrics, SCOPE_METRIC, &w->metric);
	}
	buf_reset(&w->metric);
	w->kind = 0;
}

static void begin_family(struct writer *w, struct str line)
{
	struct str kind;

	close_family(w);
	w->name = str_cut(line, ' ', &kind);
	w->kind = str_is(kind, "counter")     ? SUM
	          : str_is(kind, "histogram") ? HISTOGRAM
	          : str_is(kind, "summary")   ? SUMMARY
	                                      : GAUGE;
	protobuf_text(&w->metric, METRIC_NAME, w->name);
}

static void add_plain(struct writer *w, const struct metrics_sample *s)
{
	add_times(w);
	protobuf_double(&w->point, POINT_NUMBER, metrics_real(s->value));
	add_labels(w, PLAIN_LABEL, s->labels);
	if (s->last.n)
		add_text(&w->point, &w->part, PLAIN_LABEL, "quantile", s->last);
	protobuf_message(&w->data, DATA_POINT, &w->point);
}

static void add_quantile(struct writer *w, const struct metrics_sample *s)
{
	protobuf_double(&w->part, 1, metrics_real(s->last));
	protobuf_double(&w->part, 2, metrics_real(s->value));
	protobuf_message(&w->point, POINT_QUANTILE, &w->part);
}

/* Counts here are of a bucket alone. */
static void add_bucket(struct writer *w, const struct metrics_sample *s)
{
	u64 count = metrics_number(s->value);

	protobuf_eight(&w->counts, count - w->below);
	w->below = count;
	if (!str_is(s->last, "+Inf"))
		protobuf_real(&w->bounds, metrics_real(s->last));
}

static void add_part(struct writer *w, const struct metrics_sample *s)
{
	struct str suffix = { s->name.p + w->name.n, s->name.n - w->name.n };

	if (w->open && !str_eq(w->labels, s->labels))
		close_point(w);
	if (!w->open) {
		w->open = true;
		w->has_sum = false;
		w->labels = s->labels;
		w->count = w->below = 0;
		w->native.n = 0;
	}
	if (!suffix.n) {
		add_quantile(w, s);
	} else if (str_is(suffix, "_bucket")) {
		add_bucket(w, s);
	} else if (str_is(suffix, "_count")) {
		w->count = metrics_number(s->value);
	} else if (str_is(suffix, "_sum")) {
		w->sum = metrics_real(s->value);
		w->has_sum = true;
	} else if (str_is(suffix, "_native")) {
		w->native = s->value;
	}
}

/* A summary of quantiles alone has no count, and is a gauge with a label. */
static void add_line(struct writer *w, struct str line)
{
	struct metrics_sample s;

	if (!metrics_read_sample(line, &s) || s.name.n < w->name.n)
		return;
	if (w->kind == SUMMARY && s.name.n == w->name.n && !w->open && !w->data.n)
		w->kind = GAUGE;
	if (w->kind == GAUGE || w->kind == SUM)
		add_plain(w, &s);
	else
		add_part(w, &s);
}

static void add_families(struct writer *w, struct str page)
{
	while (page.n) {
		struct str line = str_cut(page, '\n', &page), rest;

		if (str_starts(line, "# TYPE ")) {
			begin_family(w, (struct str){ line.p + 7, line.n - 7 });
		} else if (str_starts(line, "# HELP ") && w->kind) {
			str_cut((struct str){ line.p + 7, line.n - 7 }, ' ', &rest);
			protobuf_text(&w->metric, METRIC_HELP, metrics_plain(&w->room, rest));
		} else if (line.n && line.p[0] != '#' && w->kind) {
			add_line(w, line);
		}
	}
	close_family(w);
}

void metrics_otlp_resource(struct buf *to, const struct otlp_about *a)
{
	struct buf all = { 0 }, part = { 0 };

	add_text(&all, &part, 1, "service.name", str_of(a->service));
	add_text(&all, &part, 1, "service.version", str_of(a->version));
	add_text(&all, &part, 1, "service.instance.id", str_of(a->host));
	add_text(&all, &part, 1, "host.name", str_of(a->host));
	protobuf_message(to, RESOURCE_ABOUT, &all);
	buf_free(&all);
	buf_free(&part);
}

void metrics_otlp(struct buf *to, struct str page, const struct otlp_about *about)
{
	struct writer w = { .about = about };
	struct buf scope = { 0 }, resource = { 0 };

	add_families(&w, page);
	metrics_otlp_resource(&resource, about);
	protobuf_text(&w.part, 1, STR("memtap"));
	protobuf_message(&scope, SCOPE_ABOUT, &w.part);
	buf_add(&scope, w.metrics.p, w.metrics.n);
	protobuf_message(&resource, RESOURCE_SCOPE, &scope);
	protobuf_message(to, REQUEST_RESOURCE, &resource);
	buf_free(&scope);
	buf_free(&resource);
	buf_free(&w.metrics);
	buf_free(&w.metric);
	buf_free(&w.data);
	buf_free(&w.point);
	buf_free(&w.part);
	buf_free(&w.room);
	buf_free(&w.counts);
	buf_free(&w.bounds);
}
