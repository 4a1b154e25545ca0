/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows with equal labels (two addresses of one symbol, say) are one series, their sum, and so is
 * what has no place of its own: a series is a list of rows. The source of both forms is
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
#include "out/value.h"

struct series {
	const char *labels; /* "" none, else key="a",order="3" */
	u32 first, n;       /* of page.rows */
};

/* What is written of one map. */
struct page {
	struct buf *b;
	struct metrics *m;
	const struct table *t;
	struct arena arena;
	VEC(const struct row *) rows;
	VEC(struct series) series;
	u32 n_shown; /* the first ones; the rest is added up */
};

/* One aggregation or value of a map: all of it, or a part of several. */
struct family {
	const char *name;
	const struct type *type;
	s32 part;   /* -1 all */
	u32 digits; /* its values are so many decimal places of the unit: 9 of nanoseconds */
};

/* ---- labels ---- */

void metrics_label(struct buf *b, struct str s)
{
	u32 n;

	buf_putc(b, '"');
	for (u32 i = 0; i < s.n; i += MAX(n, 1u)) {
		n = str_utf8(s, i);
		if (!n)
			buf_printf(b, "\\\\x%02x", (u8)s.p[i]);
		else if (s.p[i] == '\n')
			buf_puts(b, "\\n");
		else if (s.p[i] == '"' || s.p[i] == '\\')
			buf_printf(b, "\\%c", s.p[i]);
		else
			buf_add(b, s.p + i, n);
	}
	buf_putc(b, '"');
}

static void label_of(struct buf *b, const struct out *o, const char *name, const struct value *v)
{
	struct buf text = { 0 };

	value_text(&text, o, v);
	buf_printf(b, "%s%s=", b->n ? "," : "", name);
	metrics_label(b, (struct str){ buf_text(&text), (u32)text.n });
	buf_free(&text);
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

static const char *labels_of(struct page *p, const struct row *r)
{
	const struct type *t = p->t->map->key;
	struct buf b = { 0 };
	struct value v, part;
	const char *text;

	if (!t)
		return "";
	v = value_at_rest(t, r->key);
	if (t->kind != TYPE_TUPLE)
		label_of(&b, p->m->out, "key", &v);
	for (u32 i = 0; t->kind == TYPE_TUPLE && i < value_parts(&v); i++) {
		part = value_part(&v, i);
		label_of(&b, p->m->out, label_name(&p->arena, t, i), &part);
	}
	text = arena_strdup(&p->arena, buf_text(&b));
	buf_free(&b);
	return text;
}

/* ---- which series there are ---- */

struct labelled {
	const char *labels;
	u32 row;
};

static int by_labels(const void *a, const void *b)
{
	const struct labelled *x = a, *y = b;
	int order = strcmp(x->labels, y->labels);

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

static void find_series(struct page *p)
{
	u32 n = p->t->rows.n;
	struct labelled *l = arena_array(&p->arena, struct labelled, n);

	for (u32 i = 0; i < n; i++)
		l[i] = (struct labelled){ labels_of(p, &p->t->rows.v[i]), i };
	qsort(l, n, sizeof(*l), by_labels);
	for (u32 i = 0; i < n; i++) {
		struct series s = { l[i].labels, i, 0 };

		if (!i || strcmp(l[i].labels, l[i - 1].labels) != 0)
			vec_add(&p->arena, &p->series, s);
		p->series.v[p->series.n - 1].n++;
		vec_add(&p->arena, &p->rows, &p->t->rows.v[l[i].row]);
	}
}

struct ranked {
	struct series series;
	bool kept; /* it has a place */
	u32 rank;  /* of its largest row: the last rows of the table are the largest */
};

static int by_place(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->kept != y->kept)
		return y->kept - x->kept;
	return (x->rank < y->rank) - (x->rank > y->rank);
}

static u32 rank_of(const struct page *p, const struct series *s)
{
	u32 rank = 0;

	for (u32 i = 0; i < s->n; i++)
		rank = MAX(rank, (u32)(p->rows.v[s->first + i] - p->t->rows.v));
	return rank;
}

/* Those with a place come first. */
static void give_places(struct page *p, struct metrics_shown *s)
{
	struct ranked *r = arena_array(&p->arena, struct ranked, p->series.n);
	struct metrics_shown now = { 0 };

	for (u32 i = 0; i < p->series.n; i++) {
		const struct series *one = &p->series.v[i];

		r[i] = (struct ranked){ *one,
			                hmap_find(&s->labels, one->labels, strlen(one->labels)),
			                rank_of(p, one) };
	}
	qsort(r, p->series.n, sizeof(*r), by_place);
	p->n_shown = MIN(p->series.n, p->m->max_series);
	for (u32 i = 0; i < p->series.n; i++) {
		const char *labels;

		p->series.v[i] = r[i].series;
		if (i >= p->n_shown)
			continue;
		labels = arena_strdup(&now.arena, r[i].series.labels);
		hmap_put(&now.labels, labels, strlen(labels), &now);
	}
	metrics_shown_free(s);
	*s = now;
}

void metrics_shown_free(struct metrics_shown *s)
{
	hmap_free(&s->labels);
	arena_free(&s->arena);
}

/* ---- what a series counted ---- */

static const struct cell *cell_in(const struct family *f, const struct row *r)
{
	return f->part < 0 ? &r->value : &r->value.parts[f->part];
}

static void add_buckets(struct cell *to, struct arena *a, const struct cell *c)
{
	u64 *sum = arena_array(a, u64, c->n_buckets);

	for (u32 i = 0; i < c->n_buckets; i++)
		sum[i] = c->buckets[i] + (to->buckets ? to->buckets[i] : 0);
	to->buckets = sum;
	to->n_buckets = c->n_buckets;
}

static bool is_better(const struct type *t, s64 a, s64 b)
{
	bool less = t->is_signed ? a < b : (u64)a < (u64)b;

	return less == (t->kind == TYPE_MIN);
}

static void add_cell(struct page *p, const struct type *t, struct cell *to, const struct cell *c)
{
	struct value v;

	if (t->kind == TYPE_MIN || t->kind == TYPE_MAX) {
		if (c->set && (!to->set || is_better(t, c->n, to->n)))
			to->n = c->n;
		to->set |= c->set;
	} else if (value_is_hist(t)) {
		add_buckets(to, &p->arena, c);
	} else if (type_is_agg(t)) {
		to->n = (s64)((u64)to->n + (u64)c->n);
		to->total = (s64)((u64)to->total + (u64)c->total);
	} else {
		v = value_at_rest(t, c->bytes);
		to->n = (s64)((u64)to->n + value_word(&v));
		to->bytes = c->bytes;
	}
}

static void add_series(struct page *p, const struct family *f, struct cell *to,
                       const struct series *s)
{
	for (u32 i = 0; i < s->n; i++)
		add_cell(p, f->type, to, cell_in(f, p->rows.v[s->first + i]));
}

/* ---- samples ---- */

/* NAME_SUFFIX{labels} up to the number. */
static void sample(struct page *p, const struct family *f, const char *suffix, const char *labels,
                   const char *more)
{
	const char *lists[] = { p->m->labels ? p->m->labels : "", labels, more };
	const char *gap = "{";

	buf_printf(p->b, "%s%s", f->name, suffix);
	for (u32 i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!*lists[i])
			continue;
		buf_printf(p->b, "%s%s", gap, lists[i]);
		gap = ",";
	}
	buf_puts(p->b, *gap == ',' ? "} " : " ");
	p->m->samples++;
}

static void number(struct buf *b, const struct family *f, bool is_signed, u64 n)
{
	u64 size = is_signed && (s64)n < 0 ? -n : n, one = 1;

	for (u32 i = 0; i < f->digits; i++)
		one *= 10;
	buf_printf(b, "%s%" PRIu64, size == n ? "" : "-", size / one);
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
	buf_printf(p->b, "%" PRIu64 "\n", (u64)c->n);
	sample(p, f, "_sum", labels, "");
	value(p, f, c->total);
}

/* Values are whole numbers: below 1024 is at most 1023. */
static void bucket(struct page *p, const struct family *f, const char *labels,
                   const struct bar *bar, u64 below)
{
	bool is_signed = f->type->kind != TYPE_HIST || bar->open_low;
	struct buf le = { 0 };

	buf_puts(&le, "le=\"");
	number(&le, f, is_signed, (u64)bar->high - 1);
	buf_puts(&le, p->m->form == METRICS_OPENMETRICS && !f->digits ? ".0\"" : "\"");
	sample(p, f, "_bucket", labels, buf_text(&le));
	buf_printf(p->b, "%" PRIu64 "\n", below);
	buf_free(&le);
}

static void histogram(struct page *p, const struct family *f, const char *labels,
                      const struct cell *c)
{
	u32 first, last;
	u64 below = 0;

	if (bars_range(c, &first, &last)) {
		for (u32 i = first; i <= last; i++) {
			struct bar bar = bars_get(f->type, c, i, 1);

			below += bar.count;
			if (!bar.open_high && (f->type->kind != TYPE_HIST || !i || bar.high))
				bucket(p, f, labels, &bar, below);
		}
	}
	sample(p, f, "_bucket", labels, "le=\"+Inf\"");
	buf_printf(p->b, "%" PRIu64 "\n", below);
	sample(p, f, "_count", labels, "");
	buf_printf(p->b, "%" PRIu64 "\n", below);
}

static void info(struct page *p, const struct family *f, const char *labels, const struct cell *c)
{
	struct value v = value_at_rest(f->type, c->bytes);
	struct buf value = { 0 };

	label_of(&value, p->m->out, "value", &v);
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
	if (form == METRICS_TEXT && strcmp(kind, "counter") == 0) {
		suffix = "_total";
	} else if (form == METRICS_TEXT && strcmp(kind, "info") == 0) {
		suffix = "_info";
		kind = "gauge";
	}
	buf_printf(b, "# TYPE %s%s %s\n# HELP %s%s %s\n", name, suffix, kind, name, suffix, help);
}

static void write_family(struct page *p, const struct family *f, const char *map)
{
	const struct writer *w = writer_of(f->type);
	char help[200];
	struct cell c;

	if (!w || !p->series.n)
		return;
	snprintf(help, sizeof(help), "The map %s of a script.", map);
	metrics_family(p->b, p->m->form, f->name, w->kind, help);
	for (u32 i = 0; i < p->n_shown; i++) {
		c = (struct cell){ 0 };
		add_series(p, f, &c, &p->series.v[i]);
		w->write(p, f, p->series.v[i].labels, &c);
	}
	if (p->n_shown == p->series.n || !w->adds_up)
		return;
	c = (struct cell){ 0 };
	for (u32 i = p->n_shown; i < p->series.n; i++)
		add_series(p, f, &c, &p->series.v[i]);
	w->write(p, f, "other=\"true\"", &c);
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

/* Without what the format adds itself, and in its base unit of time. */
static struct family family_of(struct arena *a, const char *map, const char *part)
{
	static const struct {
		const char *end;
		u32 digits;
	} times[] = { { "_ns", 9 }, { "_us", 6 }, { "_ms", 3 } };
	char *name = arena_printf(a, "%s%s%s%s", isdigit((u8)map[1]) ? "_" : "",
	                          map[1] ? map + 1 : "value", part ? "_" : "", part ? part : "");
	struct family f = { .name = name, .part = -1 };

	cut(name, "_total");
	for (u32 i = 0; i < ARRAY_SIZE(times) && !f.digits; i++)
		if (cut(name, times[i].end))
			f.digits = times[i].digits;
	if (f.digits)
		f.name = arena_printf(a, "%s_seconds", name);
	return f;
}

void metrics_map(struct buf *b, struct metrics *m, const struct table *t, struct metrics_shown *s)
{
	const struct type *type = t->map->value;
	struct page p = { .b = b, .m = m, .t = t };
	bool several = type->kind == TYPE_AGGS;

	find_series(&p);
	give_places(&p, s);
	m->left_out += p.series.n - p.n_shown;
	for (u32 i = 0; i < (several ? type->n_fields : 1); i++) {
		struct family f = family_of(&p.arena, t->map->name,
		                            several ? type->fields[i].name : NULL);

		f.type = several ? type->fields[i].type : type;
		f.part = several ? (s32)i : -1;
		write_family(&p, &f, t->map->name);
	}
	arena_free(&p.arena);
}
