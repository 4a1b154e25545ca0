/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The text output, in the shapes of bpftrace 0.26: one line for each row, histograms drawn below
 * their key and followed by an empty line; of nothing there is no drawing. How a value looks is
 * value.c's business.
 */
#include "out/bars.h"
#include "out/rows.h"
#include "out/series.h"
#include "out/value.h"

#include <inttypes.h>

/* Says what is in `text`, which is freed then. */
static void say(const struct out *o, enum report kind, const struct loc *loc, struct buf *text)
{
	if (o->say)
		o->say(o->say_ctx, kind, loc, buf_text(text));
	buf_free(text);
}

/* A message, not output. */
static void text_attached(struct buf *b, const struct out *o, u32 n_probes)
{
	struct buf text = { 0 };

	(void)b;
	buf_puts(&text, "Attached ");
	buf_decimal(&text, n_probes);
	buf_puts(&text, n_probes == 1 ? " probe" : " probes");
	say(o, REPORT_NOTE, NULL, &text);
}

/* "stdin:1:7-20: ERROR: " */
static void text_position(struct buf *b, const struct unit *u, const struct urecord *r)
{
	u32 line, column;

	unit_line(u, r->loc.off, &line, &column);
	buf_printf(b, "%s:%u:%u-%u: %s: ", unit_file(u, r->loc.off), line, column,
	           column + r->loc.len, r->action == ACTION_ERRORF ? "ERROR" : "WARNING");
}

static void text_printf(struct buf *b, const struct out *o, const struct urecord *r,
                        const void *record)
{
	bool message = r->action == ACTION_ERRORF || r->action == ACTION_WARNF;
	struct out escaped = *o;
	struct buf text = { 0 };

	escaped.escape = ESCAPE_ALL;
	if (message && o->say) {
		format_print(&text, &escaped, r->text, r->args, r->n_args, record);
		say(o, r->action == ACTION_ERRORF ? REPORT_ERROR : REPORT_WARNING, &r->loc, &text);
		return;
	}
	if (message)
		text_position(b, o->unit, r);
	format_print(b, message ? &escaped : o, r->text, r->args, r->n_args, record);
	if (message)
		buf_putc(b, '\n');
}

static void text_time(struct buf *b, const struct out *o, const char *text)
{
	(void)o;
	buf_puts(b, text);
}

static void text_join(struct buf *b, const struct out *o, const struct urecord *r,
                      const void *record)
{
	value_join(b, o, r, record);
	buf_putc(b, '\n');
}

static void text_value(struct buf *b, const struct out *o, const struct type *t, const void *bytes)
{
	value_print(b, o, t, bytes);
	buf_putc(b, '\n');
}

/* A key loses the parentheses of its tuple, but not those of tuples inside. */
static void text_key(struct buf *b, const struct out *o, const struct type *t, const void *key)
{
	struct value v = value_at_rest(t, key);

	bool tuple = t->kind == TYPE_TUPLE && !type_is_record(t);

	buf_putc(b, '[');
	if (!tuple)
		value_text(b, o, &v);
	for (u32 i = 0; tuple && i < value_parts(&v); i++) {
		struct value part = value_part(&v, i);

		if (i)
			buf_puts(b, ", ");
		value_text(b, o, &part);
	}
	buf_putc(b, ']');
}

static bool is_drawn(const struct type *t)
{
	return value_is_hist(t) || t->kind == TYPE_TSERIES;
}

/* A value, and the end of its line. */
static void text_cell(struct buf *b, const struct out *o, const struct type *t,
                      const struct cell *c, u32 div)
{
	if (value_is_hist(t))
		bars_print(b, t, c, div);
	else if (t->kind == TYPE_TSERIES)
		series_print(b, o, t, c, div);
	else
		value_cell(b, o, t, c, div);
	buf_putc(b, '\n');
}

/* A drawing of nothing, in a map without keys. */
static bool is_blank(const struct umap *m, const struct type *vt, const struct cell *c)
{
	u32 first, last;

	if (m->key)
		return false;
	return value_is_hist(vt) ? !bars_range(c, &first, &last)
	                         : vt->kind == TYPE_TSERIES && series_is_empty(c);
}

/* A row stays on its line. */
static struct out for_rows(const struct out *o)
{
	struct out rows = *o;

	rows.escape = MAX(o->escape, ESCAPE_LINES);
	return rows;
}

/* One row: "@x: 5", "@x[k]: 5", or a histogram under "@x[k]:". */
static void text_row(struct buf *b, const struct out *o, const struct umap *m, const void *key,
                     const struct cell *c, u32 div)
{
	if (is_blank(m, m->value, c))
		return;
	buf_puts(b, m->name);
	if (m->key)
		text_key(b, o, m->key, key);
	buf_puts(b, is_drawn(m->value) ? ":\n" : ": ");
	text_cell(b, o, m->value, c, div);
}

static void text_map(struct buf *b, const struct out *out, const struct table *t, u32 top, u32 div)
{
	struct out rows = for_rows(out), *o = &rows;

	for (u32 i = table_first(t, top); i < t->rows.n; i++)
		text_row(b, o, t->map, t->rows.v[i].key, &t->rows.v[i].value, div);
	if (!t->rows.n && !t->map->key) {
		struct cell zero;

		cell_merge(&zero, t->arena, t->map->value, NULL, 0, 0);
		text_row(b, o, t->map, NULL, &zero, div);
	}
}

static void text_rows(struct buf *b, const struct out *o, const struct table *t, u32 top,
                      const char *text)
{
	struct out rows = for_rows(o);

	for (u32 i = table_first(t, top); i < t->rows.n; i++)
		rows_text(b, &rows, t->map, &t->rows.v[i], text);
}

static void text_one_cell(struct buf *b, const struct out *o, const struct type *t,
                          const struct cell *c)
{
	text_cell(b, o, t, c, 1);
}

static void text_last_maps(struct buf *b, const struct out *o)
{
	(void)o;
	buf_puts(b, "\n\n");
}

static void text_lost(struct buf *b, const struct out *o, u64 n, const char *why)
{
	struct buf text = { 0 };

	buf_printf(&text, "Lost %" PRIu64 " event%s%s%s", n, n == 1 ? "" : "s", why ? ": " : "",
	           why ? why : "");
	if (!o->say)
		buf_printf(b, "%s\n", buf_text(&text));
	say(o, REPORT_WARNING, NULL, &text);
}

static void text_runtime_error(struct buf *b, const struct out *o, const struct out_error *e)
{
	struct buf text = { 0 };

	(void)b;
	if (e->n > 1 && e->count == COUNT_BEFORE)
		buf_printf(&text, "%" PRIu64 " ", e->n);
	buf_puts(&text, e->text);
	if (e->n > 1 && e->count == COUNT_AFTER)
		buf_printf(&text, " (%" PRIu64 " times)", e->n);
	say(o, REPORT_WARNING, e->loc, &text);
}

static void text_walked(struct buf *b, const struct unwind_stat *n)
{
	buf_printf(b,
	           "stacks: %" PRIu64 " whole, %" PRIu64 " cut, %" PRIu64 " by the kernel; %" PRIu64
	           " fell back to frame pointers\n",
	           n->counts[UCOUNT_WHOLE], n->counts[UCOUNT_CUT], n->counts[UCOUNT_KERNEL],
	           n->counts[UCOUNT_FP]);
	buf_printf(b,
	           "unwind tables: %u processes, %u files, %u rows (%u too rich), %" PRIu64
	           " KiB, read in %" PRIu64 ".%" PRIu64 " ms",
	           n->processes, n->files, n->rows, n->rich, n->bytes / 1024, n->ns / 1000000,
	           n->ns / 100000 % 10);
	if (n->unreadable)
		buf_printf(b, "; %u files could not be read", n->unreadable);
	if (n->no_room)
		buf_printf(b, "; no room for %u mappings", n->no_room);
	buf_putc(b, '\n');
}

static void text_stacks(struct buf *b, const struct out *o, const struct out_stacks *s)
{
	struct buf text = { 0 };

	(void)b;
	if (!o->verbose)
		return;
	if (s->walked)
		text_walked(&text, s->walked);
	buf_printf(&text,
	           "stacks kept: %" PRIu64 " different ones in %" PRIu64 " KiB of %" PRIu64
	           " (--stack-memory); %" PRIu64 " lost",
	           s->kept, s->bytes / 1024, s->limit / 1024, s->lost);
	say(o, REPORT_NOTE, NULL, &text);
}

static void text_maps(struct buf *b, const struct out *o, const struct out_maps *m)
{
	struct buf text = { 0 };

	(void)b;
	if (!o->verbose)
		return;
	buf_printf(&text,
	           "maps: emptied %" PRIu64 " times as they filled, at most %" PRIu64
	           " rows kept in %" PRIu64 " KiB of %" PRIu64 " (--map-memory); %" PRIu64
	           " counts lost",
	           m->emptied, m->rows, m->bytes / 1024, m->limit / 1024, m->lost);
	say(o, REPORT_NOTE, NULL, &text);
}

static void text_text(struct buf *b, const struct out *o, const char *kind, const char *text)
{
	(void)kind;
	escape_add(b, str_of(text), o->escape ? ESCAPE_TEXT : ESCAPE_NONE);
}

/* ---- tests ---- */

static const char *tests_word(u32 n)
{
	return n == 1 ? "test" : "tests";
}

/* What it printed, without its blank lines. */
static void text_test_output(struct buf *b, struct str text)
{
	while (text.n) {
		struct str line = str_cut(text, '\n', &text);

		if (line.n)
			buf_printf(b, "%.*s\n", STR_ARG(line));
	}
}

static void text_tests_end(struct buf *b, const struct out_test *tests, u32 n)
{
	u32 failed = 0;

	for (u32 i = 0; i < n; i++)
		failed += !tests[i].passed;
	buf_printf(b, "[==========] %u %s ran.\n", n, tests_word(n));
	buf_printf(b, "[  PASSED  ] %u %s.\n", n - failed, tests_word(n - failed));
	if (!failed)
		return;
	buf_printf(b, "[  FAILED  ] %u %s, listed below:\n", failed, tests_word(failed));
	for (u32 i = 0; i < n; i++)
		if (!tests[i].passed)
			buf_printf(b, "[  FAILED  ] %s\n", tests[i].name);
}

static void text_test(struct buf *b, const struct out *o, const struct out_test *tests, u32 i,
                      u32 n)
{
	const struct out_test *t = &tests[i];
	static const char *const units[] = { "ns", "us", "ms", "s" };
	u64 time = t->ns;
	u32 unit = 0;

	(void)o;
	for (; time >= 1000 && unit + 1 < ARRAY_SIZE(units); unit++)
		time /= 1000;
	if (i == 0)
		buf_printf(b, "[==========] Running %u %s.\n", n, tests_word(n));
	buf_printf(b, "[ RUN      ] %s\n", t->name);
	if (!t->passed)
		text_test_output(b, t->output);
	buf_printf(b, "%s %s (%" PRIu64 " %s)\n", t->passed ? "[       OK ]" : "[  FAILED  ]",
	           t->name, time, units[unit]);
	if (i + 1 == n)
		text_tests_end(b, tests, n);
}

const struct out_ops out_text = {
	.map_in_parts = true,
	.attached = text_attached,
	.printf_ = text_printf,
	.heading = text_printf,
	.time_ = text_time,
	.join = text_join,
	.value = text_value,
	.map = text_map,
	.rows = text_rows,
	.cell = text_one_cell,
	.last_maps = text_last_maps,
	.lost = text_lost,
	.runtime_error = text_runtime_error,
	.stacks = text_stacks,
	.maps = text_maps,
	.test = text_test,
	.text = text_text,
};
