/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Drawing a table, its help, and the page about a row. Everything is drawn anew each time; the
 * terminal finds out what has changed. Nothing is assumed of its size: what does not fit is left
 * out, columns by their rank.
 */
#include "ui/top_draw.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/escape.h"

#define HEAD_LINES 2u
#define ABOVE      (HEAD_LINES + 1u) /* and the titles */
#define COLUMNS    32u

struct canvas {
	struct top *t;
	u32 rows, columns;
};

/* ---- text ---- */

/* Bytes of the character at byte i, and its columns: -1 when the locale can not show it. */
static u32 glyph(struct str s, u32 i, int *columns)
{
	u32 n = MAX(str_utf8(s, i), 1u);
	wchar_t w;

	*columns = mbtowc(&w, s.p + i, n) == (int)n ? wcwidth(w) : -1;
	return n;
}

/* The first bytes of s that take up to so many columns, and those that they take. */
static u32 bytes_in(struct str s, u32 columns, u32 *taken)
{
	u32 i = 0;
	int w;

	for (*taken = 0; i < s.n; *taken += (u32)w) {
		u32 n = glyph(s, i, &w);

		w = w < 0 ? 1 : w;
		if (*taken + (u32)w > columns)
			break;
		i += n;
	}
	return i;
}

static u32 width_of(const char *text)
{
	u32 taken;

	bytes_in(str_of(text), UINT32_MAX, &taken);
	return taken;
}

/* Draws what of the text, which is escaped, is inside; '?' for what the locale can not show. */
static void put(struct canvas *c, u32 row, u32 column, enum term_style style, const char *text,
                u32 n)
{
	struct str s = { text, n };
	struct buf line = { 0 };
	u32 taken;
	int w;

	if (row >= c->rows || column >= c->columns)
		return;
	s.n = bytes_in(s, c->columns - column, &taken);
	for (u32 i = 0, bytes; i < s.n; i += bytes) {
		bytes = glyph(s, i, &w);
		w < 0 ? buf_putc(&line, '?') : buf_add(&line, s.p + i, bytes);
	}
	if (line.n)
		c->t->term.ops->put(c->t->term.ctx, row, column, style, line.p, (u32)line.n);
	buf_free(&line);
}

static void put_foreign(struct canvas *c, u32 row, u32 column, enum term_style style,
                        struct str text)
{
	struct buf b = { 0 };

	escape_add(&b, text, ESCAPE_ALL);
	put(c, row, column, style, buf_text(&b), (u32)b.n);
	buf_free(&b);
}

static void put_text(struct canvas *c, u32 row, u32 column, enum term_style style, const char *text)
{
	put_foreign(c, row, column, style, str_of(text));
}

static void fill(struct canvas *c, u32 row, enum term_style style)
{
	char blanks[256];

	memset(blanks, ' ', sizeof(blanks));
	for (u32 x = 0; x < c->columns; x += sizeof(blanks))
		put(c, row, x, style, blanks, sizeof(blanks));
}

/* Lines of a text from `from` on into rows; returns how many lines it has. */
static u32 put_lines(struct canvas *c, u32 row, u32 end, const char *text, u32 from,
                     enum term_style style)
{
	struct str rest = str_of(text);
	u32 n = 0;

	while (rest.p && rest.n) {
		struct str line = str_cut(rest, '\n', &rest);

		if (n >= from && row + n - from < end)
			put_foreign(c, row + n - from, 0, style, line);
		n++;
	}
	return n;
}

/* ---- columns ---- */

struct layout {
	bool shown[COLUMNS];
	u32 name; /* width of the first column */
};

/* Takes columns away until the name has its room. */
static void lay_out(const struct canvas *c, struct layout *l)
{
	const struct top_model *m = c->t->model;
	u32 n = MIN(m->n_columns, COLUMNS), others = 0;

	*l = (struct layout){ 0 };
	for (u32 i = 0; i < n; i++) {
		l->shown[i] = true;
		others += i ? m->columns[i].width + 1 : 0;
	}
	while (others && others + m->columns[0].width > c->columns) {
		u32 worst = 0;

		for (u32 i = 1; i < n; i++)
			if (l->shown[i] && (!worst || m->columns[i].rank >= m->columns[worst].rank))
				worst = i;
		l->shown[worst] = false;
		others -= m->columns[worst].width + 1;
	}
	l->name = c->columns > others ? c->columns - others : 0;
}

/* A number stands at the right of its column; a name shows with '<' and '>' that there is more. */
static void put_name(struct canvas *c, u32 row, enum term_style style, const char *text, u32 shift,
                     u32 width)
{
	u32 n = width_of(text), from = MIN(shift, n > width ? n - width : 0), at, taken;

	if (!width)
		return;
	text += bytes_in(str_of(text), from, &at);
	put(c, row, 0, style, text, bytes_in(str_of(text), width, &taken));
	if (from)
		put_text(c, row, 0, style, "<");
	if (n - at > width)
		put_text(c, row, width - 1, style, ">");
}

static void put_cell(struct canvas *c, u32 row, u32 x, u32 width, enum term_style style,
                     const char *text)
{
	u32 n = width_of(text), taken;

	put(c, row, x + 1 + (width > n ? width - n : 0), style, text,
	    bytes_in(str_of(text), width, &taken));
}

static void draw_titles(struct canvas *c, const struct layout *l)
{
	const struct top *t = c->t;
	u32 x = l->name;

	fill(c, HEAD_LINES, TERM_HEAD);
	for (u32 i = 0; i < MIN(t->model->n_columns, COLUMNS); i++) {
		const struct top_column *col = &t->model->columns[i];
		enum term_style style = i == t->sort ? TERM_SORTED : TERM_HEAD;
		char title[32];

		if (!l->shown[i])
			continue;
		snprintf(title, sizeof(title), "%s%s", col->title,
		         i != t->sort   ? ""
		         : t->ascending ? "^"
		                        : "v");
		if (!i) {
			put(c, HEAD_LINES, 0, style, title, MIN((u32)strlen(title), l->name));
			continue;
		}
		put_cell(c, HEAD_LINES, x, col->width, style, title);
		x += col->width + 1;
	}
}

static void draw_row(struct canvas *c, const struct layout *l, u32 row, u32 index)
{
	struct top *t = c->t;
	enum term_style style = index == t->chosen ? TERM_CHOSEN : TERM_PLAIN;
	struct buf b = { 0 };
	u32 x = l->name;

	if (style == TERM_CHOSEN)
		fill(c, row, style);
	for (u32 i = 0; i < MIN(t->model->n_columns, COLUMNS); i++) {
		const struct top_column *col = &t->model->columns[i];

		if (!l->shown[i])
			continue;
		buf_reset(&b);
		col->print(&b, top_row(t, index));
		escape_from(&b, 0, ESCAPE_ALL);
		if (!i) {
			put_name(c, row, style, buf_text(&b), t->shift, l->name);
			continue;
		}
		put_cell(c, row, x, col->width, style, buf_text(&b));
		x += col->width + 1;
	}
	buf_free(&b);
}

/* As far right as the longest name that is drawn needs. */
static void bound_shift(struct top *t, u32 width)
{
	struct buf b = { 0 };
	u32 longest = 0;

	for (u32 i = t->top; i < MIN(t->shown, t->top + t->room); i++) {
		buf_reset(&b);
		t->model->columns[0].print(&b, top_row(t, i));
		escape_from(&b, 0, ESCAPE_ALL);
		longest = MAX(longest, width_of(buf_text(&b)));
	}
	buf_free(&b);
	t->shift = MIN(t->shift, longest > width ? longest - width : 0);
}

static void draw_table(struct canvas *c)
{
	struct top *t = c->t;
	struct layout l;

	lay_out(c, &l);
	draw_titles(c, &l);
	if (t->chosen < t->top)
		t->top = t->chosen;
	if (t->chosen >= t->top + t->room)
		t->top = t->chosen - t->room + 1;
	t->top = MIN(t->top,
	             t->shown > t->room ? t->shown - t->room : 0); /* the room may have grown */
	bound_shift(t, l.name);
	for (u32 i = t->top; i < t->shown && i - t->top < t->room; i++)
		draw_row(c, &l, ABOVE + i - t->top, i);
	if (!t->shown)
		put_text(c, ABOVE, 2, TERM_DIM,
		         t->filter[0] ? "no name has that in it" : "nothing yet");
}

/* ---- the rest ---- */

static void draw_head(struct canvas *c)
{
	struct buf b = { 0 };

	c->t->model->head(c->t->model->ctx, &b);
	put_lines(c, 0, HEAD_LINES, buf_text(&b), 0, TERM_BOLD);
	buf_free(&b);
}

static void draw_page(struct canvas *c)
{
	struct top *t = c->t;
	struct buf b = { 0 };
	u32 n;

	if (t->whole)
		t->model->whole(t->model->ctx, &b);
	else
		t->model->page(t->model->ctx, &b, t->page_row);
	if (t->page_gone && !t->whole)
		buf_puts(&b, "\nIt is no longer counted: others took its place.\n");
	fill(c, HEAD_LINES, TERM_HEAD);
	put_text(c, HEAD_LINES, 0, TERM_HEAD, "Enter, Esc, q: back");
	n = put_lines(c, c->rows, 0, buf_text(&b), 0, TERM_PLAIN);
	t->page_first = MIN(t->page_first, n > t->room ? n - t->room : 0);
	put_lines(c, ABOVE, c->rows - 1, buf_text(&b), t->page_first, TERM_PLAIN);
	buf_free(&b);
}

static void draw_help(struct canvas *c)
{
	const struct top_model *m = c->t->model;
	char line[128];
	u32 row = 0, x = 0;

	put_text(c, row++, 0, TERM_BOLD, "Keys (any of them goes back)");
	for (u32 i = 0; i < m->n_columns; i++) {
		if (!m->columns[i].key)
			continue;
		snprintf(line, sizeof(line), "  %-9c sort by %s", m->columns[i].key,
		         m->columns[i].help);
		put_text(c, row++, x, TERM_PLAIN, line);
	}
	for (u32 i = 0; i < top_n_bindings; i++) {
		if (!top_bindings[i].label)
			continue;
		if (row >= c->rows) { /* goes on beside */
			row = 1;
			x += 44;
		}
		snprintf(line, sizeof(line), "  %-9s %s", top_bindings[i].label,
		         top_bindings[i].help);
		put_text(c, row++, x, TERM_PLAIN, line);
	}
}

static void draw_foot(struct canvas *c)
{
	const struct top *t = c->t;
	char line[512];

	if (c->rows <= ABOVE)
		return;
	if (t->typing)
		snprintf(line, sizeof(line), "only names with: %s_", t->typed);
	else if (t->message[0])
		snprintf(line, sizeof(line), "%s", t->message);
	else
		snprintf(line, sizeof(line), "%s%s%s%s%u of %u%s  ? help  q quit",
		         t->paused ? "PAUSED  " : "", t->filter[0] ? "names with '" : "", t->filter,
		         t->filter[0] ? "'  " : "", t->shown ? t->chosen + 1 : 0, t->shown,
		         t->n == TOP_ROWS ? " or more" : "");
	put_text(c, c->rows - 1, 0,
	         t->typing || t->message[0] || t->paused || t->filter[0] ? TERM_NOTE : TERM_DIM,
	         line);
}

void top_draw(struct top *t)
{
	struct canvas c = { .t = t };

	t->term.ops->size(t->term.ctx, &c.rows, &c.columns);
	t->room = c.rows > ABOVE + 1 ? c.rows - ABOVE - 1 : 0;
	t->term.ops->clear(t->term.ctx);
	if (t->help) {
		draw_help(&c);
	} else {
		draw_head(&c);
		if (t->page_row || t->whole)
			draw_page(&c);
		else if (t->room)
			draw_table(&c);
		draw_foot(&c);
	}
	t->term.ops->show(t->term.ctx);
}
