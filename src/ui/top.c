/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table and its keys.
 *
 * The one idea: rows are copied when they are fetched. Sorting, filtering and scrolling work on the
 * copy, so a paused table can still be looked at from all sides while counting goes on below it.
 * Drawing is top_draw.c.
 */
#include "ui/top.h"

#include <stdlib.h>
#include <string.h>

#include "ui/top_draw.h"

struct top *top_new(const struct term *term, const struct top_model *m)
{
	struct top *t = calloc(1, sizeof(*t));

	if (!t)
		base_no_memory();
	t->term = *term;
	t->model = m;
	t->sort = m->first;
	t->rows = calloc(TOP_ROWS, m->row_size);
	t->order = calloc(TOP_ROWS, sizeof(*t->order));
	if (!t->rows || !t->order)
		base_no_memory();
	return t;
}

void top_free(struct top *t)
{
	if (!t)
		return;
	arena_free(&t->arena);
	arena_free(&t->page_arena);
	free(t->page_row);
	free(t->rows);
	free(t->order);
	free(t);
}

const void *top_row(const struct top *t, u32 i)
{
	return t->rows + (size_t)t->order[i] * t->model->row_size;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b, void *ctx)
{
	const struct top *t = ctx;
	const struct top_column *c = &t->model->columns[t->sort];
	u32 i = *(const u32 *)a, k = *(const u32 *)b;
	double x = c->value(t->rows + (size_t)i * t->model->row_size),
	       y = c->value(t->rows + (size_t)k * t->model->row_size);

	if (x != y)
		return (x < y) == t->ascending ? -1 : 1;
	return i < k ? -1 : 1; /* as they came */
}

static bool passes(const struct top *t, const void *row)
{
	struct buf name = { 0 };
	bool ok;

	if (!t->filter[0])
		return true;
	t->model->columns[0].print(&name, row);
	ok = strstr(buf_text(&name), t->filter) != NULL;
	buf_free(&name);
	return ok;
}

/* Which of the rows there are to be seen, in their order. */
static void arrange(struct top *t)
{
	t->shown = 0;
	for (u32 i = 0; i < t->n; i++)
		if (passes(t, t->rows + (size_t)i * t->model->row_size))
			t->order[t->shown++] = i;
	qsort_r(t->order, t->shown, sizeof(*t->order), compare, t);
	t->chosen = MIN(t->chosen, t->shown ? t->shown - 1 : 0);
}

static void fetch(struct top *t)
{
	struct top_query q = { t->sort, t->ascending, str_of(t->filter), TOP_ROWS };

	if (!t->paused) {
		arena_free(&t->arena);
		t->n = t->model->fetch(t->model->ctx, &q, &t->arena, t->rows);
		if (t->page_row)
			t->page_gone = !t->model->again(t->model->ctx, &t->page_arena, t->page_row);
	}
	arrange(t);
}

/* ---- keys ----------------------------------------------------------------------------------- */

static bool on_page(const struct top *t)
{
	return t->page_row || t->whole;
}

static void move(struct top *t, s64 by)
{
	s64 to = (s64)(on_page(t) ? t->page_first : t->chosen) + by;

	if (on_page(t))
		t->page_first = (u32)MAX(to, 0); /* drawing keeps it inside */
	else
		t->chosen = (u32)MAX(MIN(to, (s64)t->shown - 1), 0);
}

static void go_down(struct top *t)
{
	move(t, 1);
}

static void go_up(struct top *t)
{
	move(t, -1);
}

static void page_down(struct top *t)
{
	move(t, MAX(t->room, 1u));
}

static void page_up(struct top *t)
{
	move(t, -(s64)MAX(t->room, 1u));
}

static void go_first(struct top *t)
{
	move(t, INT32_MIN);
}

static void go_last(struct top *t)
{
	move(t, INT32_MAX);
}

static void scroll_left(struct top *t)
{
	t->shift -= MIN(t->shift, 8u);
}

static void scroll_right(struct top *t)
{
	t->shift += 8; /* drawing keeps it inside */
}

static void reverse(struct top *t)
{
	t->ascending = !t->ascending;
	fetch(t);
}

static void pause_now(struct top *t)
{
	t->paused = !t->paused;
	fetch(t);
}

static void dump(struct top *t)
{
	struct buf b = { 0 };

	t->model->dump(t->model->ctx, &b);
	snprintf(t->message, sizeof(t->message), "%s", buf_text(&b));
	buf_free(&b);
	t->paused = false;
	fetch(t);
}

static void close_page(struct top *t)
{
	free(t->page_row);
	t->page_row = NULL;
	t->whole = false;
	arena_free(&t->page_arena);
}

static void open_page(struct top *t)
{
	if (on_page(t)) {
		close_page(t);
		return;
	}
	if (!t->shown)
		return;
	t->page_row = malloc(t->model->row_size);
	if (!t->page_row)
		base_no_memory();
	memcpy(t->page_row, top_row(t, t->chosen), t->model->row_size);
	/* What the row points to goes with the next fetch: from here on it has its own. */
	t->page_gone = !t->model->again(t->model->ctx, &t->page_arena, t->page_row);
	t->page_first = 0;
	if (t->page_gone)
		close_page(t);
}

static void open_whole(struct top *t)
{
	bool was = t->whole;

	close_page(t);
	t->whole = !was;
	t->page_first = 0;
}

static void help(struct top *t)
{
	t->help = true;
}

static void start_filter(struct top *t)
{
	t->typing = true;
	snprintf(t->typed, sizeof(t->typed), "%s", t->filter);
}

/* Out of what is open, or out of all. */
static void leave(struct top *t)
{
	if (on_page(t))
		close_page(t);
	else
		t->quit = true;
}

static void escape(struct top *t)
{
	if (on_page(t))
		close_page(t);
	else if (t->filter[0])
		t->filter[0] = 0;
	fetch(t);
}

static void resize(struct top *t)
{
	(void)t; /* drawn anew anyway */
}

const struct top_binding top_bindings[] = {
	{ 'j', "j, Down", "one row down", go_down },
	{ TERM_DOWN, NULL, NULL, go_down },
	{ 'k', "k, Up", "one row up", go_up },
	{ TERM_UP, NULL, NULL, go_up },
	{ 'd', "d, PgDn", "a page down", page_down },
	{ TERM_PAGE_DOWN, NULL, NULL, page_down },
	{ 'u', "u, PgUp", "a page up", page_up },
	{ TERM_PAGE_UP, NULL, NULL, page_up },
	{ 'g', "g, Home", "the first row", go_first },
	{ TERM_HOME, NULL, NULL, go_first },
	{ 'G', "G, End", "the last row", go_last },
	{ TERM_END, NULL, NULL, go_last },
	{ 'h', "h, Left", "long names: back to their start", scroll_left },
	{ TERM_LEFT, NULL, NULL, scroll_left },
	{ 'l', "l, Right", "long names: on to their end", scroll_right },
	{ TERM_RIGHT, NULL, NULL, scroll_right },
	{ 'T', "T", "turn the order around", reverse },
	{ '/', "/", "only names with a text in them", start_filter },
	{ TERM_ENTER, "Enter", "all about the row; again: back", open_page },
	{ 'a', "a", "all about all rows together; again: back", open_whole },
	{ 'p', "p", "pause, and go on", pause_now },
	{ 'D', "D", "dump what was counted, and start anew", dump },
	{ '?', "?", "this help", help },
	{ TERM_ESCAPE, "Esc", "back, or show all names", escape },
	{ 'q', "q", "leave", leave },
	{ TERM_RESIZE, NULL, NULL, resize },
};
const u32 top_n_bindings = ARRAY_SIZE(top_bindings);

/* A key that sorts; once more turns the order around. */
static bool sort_key(struct top *t, int key)
{
	for (u32 i = 0; i < t->model->n_columns; i++) {
		if (!t->model->columns[i].key || t->model->columns[i].key != key)
			continue;
		t->ascending = t->sort == i && !t->ascending;
		t->sort = i;
		fetch(t);
		return true;
	}
	return false;
}

/* A character of the filter. */
static void type_key(struct top *t, int key)
{
	size_t n = strlen(t->typed);

	if (key == TERM_ENTER) {
		snprintf(t->filter, sizeof(t->filter), "%s", t->typed);
		t->typing = false;
		t->chosen = t->top = 0;
		fetch(t);
	} else if (key == TERM_ESCAPE) {
		t->typing = false;
	} else if (key == TERM_BACKSPACE) {
		t->typed[n ? n - 1 : 0] = 0;
	} else if (key >= ' ' && key <= '~' && n + 1 < sizeof(t->typed)) {
		t->typed[n] = (char)key;
		t->typed[n + 1] = 0;
	}
}

static void on_key(struct top *t, int key)
{
	t->message[0] = 0;
	if (t->typing) {
		type_key(t, key);
		return;
	}
	if (t->help) {
		t->help = key == TERM_RESIZE;
		return;
	}
	if (sort_key(t, key))
		return;
	for (u32 i = 0; i < top_n_bindings; i++)
		if (top_bindings[i].key == key) {
			top_bindings[i].act(t);
			return;
		}
}

bool top_input(struct top *t)
{
	int key;

	while (!t->quit && (key = t->term.ops->key(t->term.ctx)) != TERM_NONE)
		on_key(t, key);
	if (!t->quit)
		top_draw(t);
	return !t->quit;
}

bool top_tick(struct top *t)
{
	fetch(t);
	return top_input(t);
}

void top_say(struct top *t, const char *text)
{
	snprintf(t->message, sizeof(t->message), "%s", text);
	top_draw(t);
}
