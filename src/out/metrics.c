/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How series are written; which there are is metrics_series.c. The source of both forms is
 * https://prometheus.io/docs/specs/om/open_metrics_spec/ and
 * https://prometheus.io/docs/instrumenting/exposition_formats/.
 */
#include "out/metrics.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out/bars.h"
#include "out/metrics_native.h"
#include "out/metrics_series.h"
#include "out/value.h"
#include "unit/bucket.h"

/* What is written of one map. */
struct page {
	struct buf *b;
	struct serieses series;
	struct buf head;              /* what all samples of a family and suffix begin with, */
	const struct family *head_of; /* ... of these; NULL none yet */
	const char *head_end;
};

/* Bounds of the buckets of hist(): 2^first to 2^last. */
struct powers {
	u32 first, last;
};

/* One aggregation or value of a map: all of it, or a part of several. */
struct family {
	const char *name;
	const struct type *type;
	s32 part;                /* -1 all */
	const char *help, *unit; /* unit "" none */
	u32 digits; /* its values are so many decimal places of the unit: 9 of nanoseconds */
	struct powers powers;
};

/* ---- labels ---- */

/* A letter that stands for itself in quotes. */
static bool is_plain(char c)
{
	return (u8)c >= ' ' && (u8)c < 0x7f && c != '"' && c != '\\';
}

void metrics_label(struct buf *b, struct str s)
{
	u32 n;

	buf_putc(b, '"');
	for (u32 i = 0; i < s.n; i += MAX(n, 1u)) {
		for (n = 0; i + n < s.n && is_plain(s.p[i + n]); n++)
			;
		if (!n && s.p[i] != '"' && s.p[i] != '\\' && s.p[i] != '\n')
			n = str_utf8(s, i);
		if (n)
			buf_add(b, s.p + i, n);
		else if (s.p[i] == '\n')
			buf_puts(b, "\\n");
		else if (s.p[i] == '"' || s.p[i] == '\\')
			buf_printf(b, "\\%c", s.p[i]);
		else
			buf_printf(b, "\\\\x%02x", (u8)s.p[i]);
	}
	buf_putc(b, '"');
}

static void add_label(struct buf *b, const char *name, struct str text)
{
	if (b->n)
		buf_putc(b, ',');
	buf_puts(b, name);
	buf_putc(b, '=');
	metrics_label(b, text);
}

/* `text` has the value then. */
static void label_of(struct buf *b, struct buf *text, const struct out *o, const char *name,
                     const struct value *v)
{
	buf_reset(text);
	value_text(text, o, v);
	add_label(b, name, (struct str){ buf_text(text), (u32)text->n });
}

void metrics_cgroup(struct buf *b, const struct cgroup_names *n)
{
	for (u32 i = 0; i < CGROUP_NAMES; i++)
		if (n->name[i].n)
			add_label(b, cgroup_names_label(i), n->name[i]);
}

/* Names that mean something in the format, or here, are not free for fields of a record. */
static const char *label_name(struct arena *a, const struct type *t, u32 i)
{
	static const char *const taken[] = { "le", "quantile", "other", "collector", "value" };

	if (!type_is_record(t))
		return arena_printf(a, "key%u", i);
	for (u32 k = 0; k < ARRAY_SIZE(taken); k++)
		if (strcmp(t->fields[i].name, taken[k]) == 0)
			return arena_printf(a, "key_%s", taken[k]);
	return t->fields[i].name;
}

/* The part of a key that is the path of a control group, n_fields none. */
static u32 cgroup_part(const struct type *t)
{
	for (u32 i = 0; i < t->n_fields; i++) {
		const struct type *part = t->fields[i].type;

		if (part->kind == TYPE_CGROUP_PATH ||
		    (part->kind == TYPE_STR && type_is_record(t) &&
		     strcmp(t->fields[i].name, "cgroup") == 0))
			return i;
	}
	return t->n_fields;
}

/* What the path says goes beside it, but for what fields of the record are called. */
static void label_cgroup(struct buf *b, const struct buf *path, const struct type *t)
{
	struct cgroup_names n;

	cgroup_names_find(&n, (struct str){ buf_text(path), (u32)path->n });
	for (u32 i = 0; type_is_record(t) && i < t->n_fields; i++)
		for (u32 k = 0; k < CGROUP_NAMES; k++)
			if (strcmp(t->fields[i].name, cgroup_names_label(k)) == 0)
				n.name[k].n = 0;
	metrics_cgroup(b, &n);
}

/* In s->labels; s->text is for what is in between. */
static void labels_of(struct serieses *s, const struct row *r)
{
	const struct type *t = s->t->map->key;
	struct buf *b = &s->labels;
	struct value v, part;
	const char *const *said = s->t->map->metric ? s->t->map->metric->labels : NULL;
	u32 cgroup;

	if (!t)
		return;
	cgroup = cgroup_part(t);
	v = value_at_rest(t, r->key);
	if (t->kind != TYPE_TUPLE)
		label_of(b, &s->text, s->m->out, said ? *said : "key", &v);
	if (t->kind == TYPE_CGROUP_PATH)
		label_cgroup(b, &s->text, t);
	for (u32 i = 0; t->kind == TYPE_TUPLE && i < value_parts(&v); i++) {
		part = value_part(&v, i);
		label_of(b, &s->text, s->m->out, said ? said[i] : label_name(&s->arena, t, i),
		         &part);
		if (i == cgroup)
			label_cgroup(b, &s->text, t);
	}
}

static const struct cell *cell_in(const struct family *f, const struct cell *c)
{
	return f->part < 0 ? c : &c->parts[f->part];
}

/* ---- samples ---- */

/* NAME_SUFFIX and the labels of the page, which are the same for many samples in a row. */
static void write_head(struct page *p, const struct family *f, const char *suffix)
{
	const char *labels = p->series.m->labels;

	buf_reset(&p->head);
	buf_puts(&p->head, f->name);
	buf_puts(&p->head, suffix);
	if (labels && *labels) {
		buf_putc(&p->head, '{');
		buf_puts(&p->head, labels);
	}
	p->head_of = f;
	p->head_end = suffix;
}

static char *put(char *to, const char *from, size_t n)
{
	memcpy(to, from, n);
	return to + n;
}

/* NAME_SUFFIX{labels} up to the number. */
static void sample(struct page *p, const struct family *f, const char *suffix, const char *labels,
                   const char *more)
{
	const char *page = p->series.m->labels, *lists[] = { labels, more };
	size_t n[] = { strlen(labels), strlen(more) };
	char gap = page && *page ? ',' : '{', *at;

	if (p->head_of != f || p->head_end != suffix)
		write_head(p, f, suffix);
	at = buf_need(p->b, p->head.n + n[0] + n[1] + 4);
	at = put(at, p->head.p, p->head.n);
	for (u32 i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!n[i])
			continue;
		*at++ = gap;
		at = put(at, lists[i], n[i]);
		gap = ',';
	}
	if (gap == ',')
		*at++ = '}';
	*at++ = ' ';
	p->b->n = (size_t)(at - p->b->p);
	p->series.m->samples++;
}

static void count_line(struct page *p, u64 n)
{
	buf_decimal(p->b, n);
	buf_putc(p->b, '\n');
}

static void number(struct buf *b, const struct family *f, bool is_signed, u64 n)
{
	u64 size = is_signed && (s64)n < 0 ? -n : n, one = 1;

	for (u32 i = 0; i < f->digits; i++)
		one *= 10;
	if (size != n)
		buf_putc(b, '-');
	buf_decimal(b, size / one);
	if (f->digits)
		buf_printf(b, ".%0*" PRIu64, (int)f->digits, size % one);
}

static void value(struct page *p, const struct family *f, s64 n)
{
	number(p->b, f, f->type->is_signed, (u64)n);
	buf_putc(p->b, '\n');
}

static void whole(struct page *p, const struct family *f, const char *labels, const struct cell *c)
{
	sample(p, f, "", labels, "");
	value(p, f, c->n);
}

static void total(struct page *p, const struct family *f, const char *labels, const struct cell *c)
{
	sample(p, f, "_total", labels, "");
	value(p, f, c->n);
}

static void extreme(struct page *p, const struct family *f, const char *labels,
                    const struct cell *c)
{
	if (c->set)
		whole(p, f, labels, c);
}

static void average(struct page *p, const struct family *f, const char *labels,
                    const struct cell *c)
{
	sample(p, f, "_count", labels, "");
	count_line(p, (u64)c->n);
	sample(p, f, "_sum", labels, "");
	value(p, f, c->total);
}

/* Values are whole numbers: below 1024 is at most 1023. */
static void bucket(struct page *p, const struct family *f, const char *labels, bool is_signed,
                   u64 below, u64 count)
{
	struct buf le = { 0 };

	buf_puts(&le, "le=\"");
	number(&le, f, is_signed, below - 1);
	buf_puts(&le, p->series.m->form == METRICS_OPENMETRICS && !f->digits ? ".0\"" : "\"");
	sample(p, f, "_bucket", labels, buf_text(&le));
	count_line(p, count);
	buf_free(&le);
}

/* Bounds are powers of two, however fine the map's are. Returns the count of all buckets. */
static u64 powers(struct page *p, const struct family *f, const char *labels, const struct cell *c)
{
	u32 at = 0, end;
	u64 count = 0;

	for (u32 k = f->powers.first; k <= f->powers.last; k++) {
		end = bucket_hist_index((s64)(1ull << k), false, f->type->bits);
		for (; at < end; at++)
			count += c->buckets[at];
		bucket(p, f, labels, false, 1ull << k, count);
	}
	for (; at < c->n_buckets; at++)
		count += c->buckets[at];
	return count;
}

/* What is in a bucket is taken for its middle: of powers of two, all of it is in the native bucket
 * that has most of it. */
static void native(struct page *p, const struct family *f, const char *labels, const struct cell *c)
{
	struct native h = { .schema = metrics_native_schema(f->type->bits) };
	double one = 1;

	for (u32 i = 0; i < f->digits; i++)
		one *= 10;
	for (u32 i = 0; i < c->n_buckets; i++) {
		double low = i ? (double)bucket_hist_low(i, f->type->bits) : 0;
		double high = (double)(bucket_hist_low(i + 1, f->type->bits) - 1);

		if (c->buckets[i])
			metrics_native_add(&h, i ? (low + high) / 2 / one : 0, c->buckets[i]);
	}
	sample(p, f, "_native", labels, "");
	metrics_native_print(p->b, &h);
}

static u64 steps(struct page *p, const struct family *f, const char *labels, const struct cell *c)
{
	u64 count = 0;

	for (u32 i = 0; i < c->n_buckets; i++) {
		struct bar bar = bars_get(f->type, c, i, 1);

		count += bar.count;
		if (!bar.open_high)
			bucket(p, f, labels, true, (u64)bar.high, count);
	}
	return count;
}

/* All buckets of a family, whatever is in them: they are added up over series and machines, and one
 * that lacks a bucket would lack its counts there. */
static void histogram(struct page *p, const struct family *f, const char *labels,
                      const struct cell *c)
{
	u64 count = f->type->kind == TYPE_HIST ? powers(p, f, labels, c) : steps(p, f, labels, c);

	sample(p, f, "_bucket", labels, "le=\"+Inf\"");
	count_line(p, count);
	sample(p, f, "_count", labels, "");
	count_line(p, count);
	if (p->series.m->form == METRICS_NATIVE && f->type->kind == TYPE_HIST)
		native(p, f, labels, c);
}

static void info(struct page *p, const struct family *f, const char *labels, const struct cell *c)
{
	struct value v = value_at_rest(f->type, c->bytes);
	struct buf value = { 0 };

	label_of(&value, &p->series.text, p->series.m->out, "value", &v);
	sample(p, f, "_info", labels, buf_text(&value));
	buf_puts(p->b, "1\n");
	buf_free(&value);
}

/* ---- families ---- */

/* How a kind of value is written. */
struct writer {
	const char *kind;
	void (*write)(struct page *p, const struct family *f, const char *labels,
	              const struct cell *c);
	bool adds_up; /* what has no place of its own can be one series */
};

/* NULL: not at all. */
static const struct writer *writer_of(const struct type *t)
{
	static const struct writer counter = { "counter", total, true },
				   gauge = { "gauge", whole, true },
				   best = { "gauge", extreme, true },
				   summary = { "summary", average, true },
				   buckets = { "histogram", histogram, true },
				   text = { "info", info, false };

	switch (t->kind) {
	case TYPE_COUNT:
		return &counter;
	case TYPE_SUM:
		return t->is_signed ? &gauge : &counter;
	case TYPE_MIN:
	case TYPE_MAX:
		return &best;
	case TYPE_AVG:
	case TYPE_STATS:
		return &summary;
	case TYPE_HIST:
	case TYPE_LHIST:
		return &buckets;
	case TYPE_BOOL:
		return &gauge;
	case TYPE_INT:
		return t->n_enums ? &text : &gauge;
	case TYPE_TSERIES:
	case TYPE_AGGS:
	case TYPE_NONE:
		return NULL;
	default:
		return &text;
	}
}

void metrics_family(struct buf *b, enum metrics_form form, const char *name, const char *kind,
                    const char *help)
{
	const char *suffix = "";

	/* There the name is that of the samples, and there are four kinds. */
	if (form != METRICS_OPENMETRICS && strcmp(kind, "counter") == 0) {
		suffix = "_total";
	} else if (form != METRICS_OPENMETRICS && strcmp(kind, "info") == 0) {
		suffix = "_info";
		kind = "gauge";
	}
	buf_printf(b, "# TYPE %s%s %s\n# HELP %s%s ", name, suffix, kind, name, suffix);
	for (; *help; help++)
		buf_printf(b,
		           *help == '\\' || (*help == '"' && form == METRICS_OPENMETRICS) ? "\\%c"
		                                                                          : "%c",
		           *help);
	buf_putc(b, '\n');
}

static void write_family(struct page *p, const struct family *f)
{
	const struct writer *w = writer_of(f->type);
	const struct serieses *s = &p->series;

	if (!w || (!s->n_shown && !s->rest))
		return;
	metrics_family(p->b, s->m->form, f->name, w->kind, f->help);
	if (*f->unit && s->m->form == METRICS_OPENMETRICS)
		buf_printf(p->b, "# UNIT %s %s\n", f->name, f->unit);
	for (u32 i = 0; i < s->n_shown; i++)
		w->write(p, f, s->order[i]->labels, cell_in(f, s->order[i]->value));
	if (s->rest && w->adds_up)
		w->write(p, f, "other=\"true\"", cell_in(f, &s->other));
}

/* "wait_seconds" and "seconds" */
static bool ends_with(const char *name, const char *unit)
{
	size_t n = strlen(name), k = strlen(unit);

	return n > k && name[n - k - 1] == '_' && strcmp(name + n - k, unit) == 0;
}

/* Cuts `end` off a name that has it. */
static bool cut(char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	if (n <= k || strcmp(name + n - k, end) != 0)
		return false;
	name[n - k] = 0;
	return true;
}

/* Units of numbers that are a part of seconds. Buckets of times reach to an hour, those of other
 * numbers to 2^40. */
static const struct time_unit {
	const char *name, *end;
	u32 digits;
	struct powers powers;
} times[] = {
	{ "ns", "_ns", 9, { 8, 42 } },
	{ "us", "_us", 6, { 0, 32 } },
	{ "ms", "_ms", 3, { 0, 22 } },
};

/* What the script says, or the end of the name. NULL: it is no part of seconds. */
static const struct time_unit *time_unit(const struct umetric *said, char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(times); i++)
		if (said && *said->unit ? strcmp(said->unit, times[i].name) == 0
		                        : cut(name, times[i].end))
			return &times[i];
	return NULL;
}

/* The name of the map or the one that the script gives it, without what the format adds itself, and
 * with its unit at the end. */
static struct family family_of(struct arena *a, const struct umap *m, const struct field *part)
{
	const struct umetric *said = m->metric;
	const char *map = said ? said->name : m->name[1] ? m->name + 1 : "value";
	char *name = arena_printf(a, "%s%s%s%s", isdigit((u8)*map) ? "_" : "", map, part ? "_" : "",
	                          part ? part->name : "");
	bool unitless = part && part->type->kind == TYPE_COUNT; /* beside sums that have the unit */
	struct family f = { .part = -1,
		            .powers = { 0, 40 },
		            .unit = said && !unitless ? said->unit : "" };
	const struct time_unit *time;

	cut(name, "_total");
	time = said && unitless ? NULL : time_unit(said, name);
	if (time) {
		f.unit = "seconds";
		f.digits = time->digits;
		f.powers = time->powers;
	}
	f.name = name;
	if (*f.unit && !ends_with(name, f.unit))
		f.name = arena_printf(a, "%s_%s", name, f.unit);
	f.help = said && *said->help ? said->help
	                             : arena_printf(a, "The map %s of a script.", m->name);
	return f;
}

void metrics_map(struct buf *b, struct metrics *m, const struct table *t, struct metrics_shown *s)
{
	const struct type *type = t->map->value;
	struct page p = { .b = b, .series = { .t = t, .m = m } };
	bool several = type->kind == TYPE_AGGS;

	metrics_series_find(&p.series, s, labels_of);
	metrics_series_settle(&p.series, s);
	for (u32 i = 0; i < (several ? type->n_fields : 1); i++) {
		struct family f = family_of(&p.series.arena, t->map,
		                            several ? &type->fields[i] : NULL);

		f.type = several ? type->fields[i].type : type;
		f.part = several ? (s32)i : -1;
		p.head_of = NULL;
		write_family(&p, &f);
	}
	buf_free(&p.head);
	metrics_series_free(&p.series);
}
