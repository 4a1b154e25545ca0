/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The JSON output: one object for each line, {"type": ..., "data": ...}, with bpftrace's names.
 *
 * What has a number is written as a number (pointers, enumerators, symbols), tuples and arrays
 * are arrays, structs are objects, buffers are arrays of their bytes; the rest is the text of
 * value.c as a string. Keys are strings, see json_key.h.
 */
#include "out/bars.h"
#include "out/rows.h"
#include "out/series.h"
#include "out/json.h"
#include "out/json_key.h"
#include "out/value.h"

#include <inttypes.h>
#include <string.h>

static void json_text(struct buf *b, const char *text)
{
	json_string(b, str_of(text));
}

static void json_buf(struct buf *b, struct buf *text)
{
	json_string(b, (struct str){ buf_text(text), (u32)text->n });
	buf_free(text);
}

static void json_head(struct buf *b, const char *type)
{
	buf_puts(b, "{\"type\": ");
	json_text(b, type);
	buf_puts(b, ", \"data\": ");
}

static void json_int(struct buf *b, const struct type *t, u64 word)
{
	if (t->is_signed)
		json_signed(b, (s64)word);
	else
		json_unsigned(b, word);
}

static void json_any(struct buf *b, const struct out *o, const struct value *v);

static void json_parts(struct buf *b, const struct out *o, const struct value *v)
{
	bool object = v->type->kind == TYPE_STRUCT || type_is_record(v->type);

	buf_putc(b, object ? '{' : '[');
	for (u32 i = 0; i < value_parts(v); i++) {
		struct value part = value_part(v, i);

		if (i)
			buf_puts(b, object ? ", " : ",");
		if (object) {
			json_text(b, v->type->fields[i].name ? v->type->fields[i].name : "");
			buf_puts(b, ": ");
		}
		json_any(b, o, &part);
	}
	buf_putc(b, object ? '}' : ']');
}

static void json_bytes(struct buf *b, struct str bytes)
{
	buf_putc(b, '[');
	for (u32 i = 0; i < bytes.n; i++)
		buf_printf(b, i ? ",%u" : "%u", (u8)bytes.p[i]);
	buf_putc(b, ']');
}

static void json_any(struct buf *b, const struct out *o, const struct value *v)
{
	struct buf text = { 0 };

	switch (value_kind_of(v->type)->object) {
	case AS_WORD:
		value_text(b, o, v);
		break;
	case AS_INT:
		json_int(b, v->type, value_word(v));
		break;
	case AS_UNSIGNED:
	case AS_ADDRESS:
		json_unsigned(b, value_word(v));
		break;
	case AS_PARTS:
		json_parts(b, o, v);
		break;
	case AS_BYTES:
		json_bytes(b, value_bytes(v));
		break;
	case AS_STRING:
		value_text(&text, o, v);
		json_buf(b, &text);
		break;
	}
}

/* One bucket; "max" is the largest value in it, not the bound above. */
static void json_bar(struct buf *b, const struct type *t, const struct bar *bar)
{
	buf_putc(b, '{');
	if (!bar->open_low) {
		buf_puts(b, "\"min\": ");
		if (t->kind == TYPE_HIST)
			json_unsigned(b, (u64)bar->low);
		else
			json_signed(b, bar->low);
		buf_puts(b, ", ");
	}
	if (!bar->open_high) {
		buf_puts(b, "\"max\": ");
		if (t->kind == TYPE_HIST && !bar->open_low)
			json_unsigned(b, (u64)bar->high - 1);
		else
			json_signed(b, bar->high - 1);
		buf_puts(b, ", ");
	}
	buf_printf(b, "\"count\": %" PRIu64 "}", bar->count);
}

static void json_bars(struct buf *b, const struct type *t, const struct cell *c, u32 div)
{
	u32 first, last;

	buf_putc(b, '[');
	if (bars_range(c, &first, &last)) {
		for (u32 i = first; i <= last; i++) {
			struct bar bar = bars_get(t, c, i, div);

			if (i > first)
				buf_putc(b, ',');
			json_bar(b, t, &bar);
		}
	}
	buf_putc(b, ']');
}

/* Intervals that have a value, by the time they start at. */
static void json_series(struct buf *b, const struct out *o, const struct type *t,
                        const struct cell *c, u32 div)
{
	const char *gap = "";

	buf_putc(b, '[');
	for (u32 i = 0; i < c->n_buckets; i++) {
		u64 at = series_time(o, t, c, i);

		if (!c->buckets[i * 2])
			continue;
		buf_printf(b, "%s{\"interval_start\":\"", gap);
		value_time(b, "%Y-%m-%dT%H:%M:%S", at);
		buf_printf(b, ".%09u\",\"value\":", (u32)(at % 1000000000));
		json_int(b, t, series_value(t, c, i, div));
		buf_putc(b, '}');
		gap = ",";
	}
	buf_putc(b, ']');
}

static void json_cell(struct buf *b, const struct out *o, const struct type *t,
                      const struct cell *c, u32 div);

/* Several aggregations: an object of them. */
static void json_cells(struct buf *b, const struct out *o, const struct type *t,
                       const struct cell *c, u32 div)
{
	for (u32 i = 0; i < t->n_fields; i++) {
		buf_puts(b, i ? ", " : "{");
		json_text(b, t->fields[i].name);
		buf_puts(b, ": ");
		json_cell(b, o, t->fields[i].type, &c->parts[i], div);
	}
	buf_putc(b, '}');
}

static void json_cell(struct buf *b, const struct out *o, const struct type *t,
                      const struct cell *c, u32 div)
{
	if (t->kind == TYPE_TSERIES) {
		json_series(b, o, t, c, div);
		return;
	}
	if (t->kind == TYPE_AGGS) {
		json_cells(b, o, t, c, div);
	} else if (value_is_hist(t)) {
		json_bars(b, t, c, div);
	} else if (t->kind == TYPE_STATS) {
		buf_printf(b, "{\"count\": %" PRIu64 ", \"average\": ", (u64)c->n);
		json_int(b, t, (u64)value_number(t, c, div));
		buf_puts(b, ", \"total\": ");
		json_int(b, t, (u64)c->total);
		buf_putc(b, '}');
	} else if (type_is_agg(t) || t->kind == TYPE_INT) {
		json_int(b, t, (u64)value_number(t, c, div));
	} else {
		struct value v = value_at_rest(t, c->bytes);

		json_any(b, o, &v);
	}
}

static void json_attached(struct buf *b, const struct out *o, u32 n)
{
	(void)o;
	buf_printf(b,
	           "{\"type\": \"attached_probes\", \"count\": %u, \"data\": {\"probes\": %u}}\n",
	           n, n);
}

static void json_place(struct buf *b, const struct unit *u, u32 off)
{
	u32 line, column;

	unit_line(u, off, &line, &column);
	buf_puts(b, ", \"filename\": ");
	json_text(b, unit_file(u, off));
	buf_printf(b, ", \"line\": %u, \"col\": %u", line, column);
}

/* {"type": "errorf", "msg": "...", "filename": "stdin", "line": 1, "col": 9} */
static void json_message(struct buf *b, const struct out *o, const struct urecord *r,
                         struct buf *text)
{
	buf_printf(b,
	           "{\"type\": \"%s\", \"msg\": ", r->action == ACTION_ERRORF ? "errorf" : "warnf");
	json_buf(b, text);
	json_place(b, o->unit, r->loc.off);
	buf_puts(b, "}\n");
}

/* A field of a row. What is shown by its name, an address or an enumerator, is a name here too. */
static void json_field(struct buf *b, const struct out *o, const struct value *v)
{
	struct buf text = { 0 };

	if (value_kind_of(v->type)->object != AS_ADDRESS && !v->type->n_enums) {
		json_any(b, o, v);
		return;
	}
	value_text(&text, o, v);
	json_buf(b, &text);
}

/* {"type": "row", "data": {"pid": 1, "comm": "init"}} */
static void json_named(struct buf *b, const struct out *o, const struct urecord *r,
                       const void *record)
{
	json_head(b, "row");
	for (u32 i = 0; i < r->n_args; i++) {
		const struct field *f = &r->args[i];
		struct value v = value_at_rest(f->type, (const u8 *)record + f->off);

		buf_puts(b, i ? ", " : "{");
		json_text(b, f->name);
		buf_puts(b, ": ");
		json_field(b, o, &v);
	}
	buf_puts(b, "}}\n");
}

static void json_printf(struct buf *b, const struct out *o, const struct urecord *r,
                        const void *record)
{
	struct buf text = { 0 };

	if (r->n_args && r->args[0].name) {
		json_named(b, o, r, record);
		return;
	}
	format_print(&text, o, r->text, r->args, r->n_args, record);
	if (r->action == ACTION_ERRORF || r->action == ACTION_WARNF) {
		json_message(b, o, r, &text);
		return;
	}
	json_head(b, "printf");
	json_buf(b, &text);
	buf_puts(b, "}\n");
}

static void json_text_op(struct buf *b, const struct out *o, const char *kind, const char *text)
{
	(void)o;
	json_head(b, kind);
	json_text(b, text);
	buf_puts(b, "}\n");
}

static void json_time(struct buf *b, const struct out *o, const char *text)
{
	json_text_op(b, o, "time", text);
}

static void json_join(struct buf *b, const struct out *o, const struct urecord *r,
                      const void *record)
{
	struct buf text = { 0 };

	value_join(&text, o, r, record);
	json_head(b, "join");
	json_buf(b, &text);
	buf_puts(b, "}\n");
}

static void json_value(struct buf *b, const struct out *o, const struct type *t, const void *bytes)
{
	struct value v = value_at_rest(t, bytes);

	json_head(b, "value");
	json_any(b, o, &v);
	buf_puts(b, "}\n");
}

static void json_map_head(struct buf *b, const struct umap *m)
{
	const struct type *vt = m->value;

	json_head(b, vt->kind == TYPE_TSERIES                         ? "tseries"
	             : value_is_hist(vt)                              ? "hist"
	             : vt->kind == TYPE_STATS || vt->kind == TYPE_AVG ? "stats"
	                                                              : "map");
	buf_putc(b, '{');
	json_text(b, m->name);
	buf_puts(b, m->key ? ": {" : ": ");
}

static void json_row(struct buf *b, const struct out *o, const struct umap *m, const void *key,
                     const struct cell *c, u32 div, struct json_keys *keys)
{
	if (m->key) {
		json_key(b, o, m->key, key, keys);
		buf_puts(b, ": ");
	}
	json_cell(b, o, m->value, c, div);
}

static void json_map(struct buf *b, const struct out *o, const struct table *t, u32 top, u32 div)
{
	const struct umap *m = t->map;
	u32 first = table_first(t, top);
	struct json_keys keys = { 0 };
	struct cell zero;

	if (m->key && !t->rows.n)
		return;
	json_map_head(b, m);
	for (u32 i = first; i < t->rows.n; i++) {
		if (i > first)
			buf_puts(b, ", ");
		json_row(b, o, m, t->rows.v[i].key, &t->rows.v[i].value, div, &keys);
	}
	if (!t->rows.n) {
		cell_merge(&zero, t->arena, m->value, NULL, 0, 0);
		json_row(b, o, m, NULL, &zero, div, &keys);
	}
	buf_puts(b, m->key ? "}}}\n" : "}}\n");
	json_keys_free(&keys);
}

struct row_json {
	struct buf *b;
	const struct out *o;
	const char *gap;
};

static void row_place(void *ctx, struct str name, const struct value *v)
{
	struct row_json *r = ctx;

	buf_puts(r->b, r->gap);
	json_string(r->b, name);
	buf_puts(r->b, ": ");
	json_field(r->b, r->o, v);
	r->gap = ", ";
}

/* {"type": "row", "data": {"count": 3, "key": "init"}} for each. */
static void json_rows(struct buf *b, const struct out *o, const struct table *t, u32 top,
                      const char *text)
{
	for (u32 i = table_first(t, top); i < t->rows.n; i++) {
		struct row_json r = { b, o, "" };

		json_head(b, "row");
		buf_putc(b, '{');
		rows_each(t->map, &t->rows.v[i], text, row_place, &r);
		buf_puts(b, "}}\n");
	}
}

static void json_one_cell(struct buf *b, const struct out *o, const struct type *t,
                          const struct cell *c)
{
	json_head(b, "value");
	json_cell(b, o, t, c, 1);
	buf_puts(b, "}\n");
}

static void json_lost(struct buf *b, const struct out *o, u64 n, const char *why)
{
	(void)o;
	(void)why;
	buf_printf(b,
	           "{\"type\": \"lost_events\", \"count\": %" PRIu64
	           ", \"data\": {\"events\": %" PRIu64 "}}\n",
	           n, n);
}

static void json_stacks(struct buf *b, const struct out *o, const struct out_stacks *s)
{
	(void)o;
	buf_puts(b, "{\"type\": \"stacks\", \"data\": {");
	if (s->walked)
		buf_printf(b,
		           "\"whole\": %" PRIu64 ", \"cut\": %" PRIu64
		           ", \"frame_pointers\": %" PRIu64 ", \"kernel\": %" PRIu64 ", ",
		           s->walked->counts[UCOUNT_WHOLE], s->walked->counts[UCOUNT_CUT],
		           s->walked->counts[UCOUNT_FP], s->walked->counts[UCOUNT_KERNEL]);
	buf_printf(b,
	           "\"lost\": %" PRIu64 ", \"different\": %" PRIu64 ", \"bytes\": %" PRIu64
	           ", \"limit\": %" PRIu64 "}}\n",
	           s->lost, s->kept, s->bytes, s->limit);
}

static void json_maps(struct buf *b, const struct out *o, const struct out_maps *m)
{
	(void)o;
	buf_printf(b,
	           "{\"type\": \"maps\", \"data\": {\"emptied\": %" PRIu64 ", \"rows\": %" PRIu64
	           ", \"bytes\": %" PRIu64 ", \"limit\": %" PRIu64 ", \"lost\": %" PRIu64 "}}\n",
	           m->emptied, m->rows, m->bytes, m->limit, m->lost);
}

/* Up to the sentence. Of a helper "msg" is what its error is called, as programs expect. */
static void json_error_head(struct buf *b, const struct out_error *e)
{
	if (!e->helper) {
		buf_puts(b, "{\"type\": \"runtime_error\", \"msg\": ");
		return;
	}
	buf_puts(b, "{\"type\": \"helper_error\", \"msg\": ");
	json_text(b, strerror(-e->retcode));
	buf_printf(b, ", \"helper\": \"%s\", \"retcode\": %d, \"detail\": ", e->helper, e->retcode);
}

static void json_runtime_error(struct buf *b, const struct out *o, const struct out_error *e)
{
	json_error_head(b, e);
	json_text(b, e->text);
	if (e->loc)
		json_place(b, o->unit, e->loc->off);
	buf_printf(b, ", \"count\": %" PRIu64 "}\n", e->n);
}

static void json_test(struct buf *b, const struct out *o, const struct out_test *tests, u32 i,
                      u32 n)
{
	const struct out_test *t = &tests[i];

	(void)o;
	(void)n;
	json_head(b, "test_result");
	buf_putc(b, '{');
	json_text(b, t->name);
	buf_printf(b, ": {\"duration\": %" PRIu64 ", \"passed\": %s, \"output\": ", t->ns,
	           t->passed ? "true" : "false");
	json_string(b, t->output);
	buf_puts(b, "}}}\n");
}

const struct out_ops out_json = {
	.tree = &tree_json,
	.quotes = true,
	.attached = json_attached,
	.printf_ = json_printf,
	.time_ = json_time,
	.join = json_join,
	.value = json_value,
	.map = json_map,
	.rows = json_rows,
	.cell = json_one_cell,
	.lost = json_lost,
	.stacks = json_stacks,
	.maps = json_maps,
	.runtime_error = json_runtime_error,
	.test = json_test,
	.text = json_text_op,
};
