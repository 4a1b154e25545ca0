/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is wrong with a script: collected while compiling, rendered at the end with the source
 * line and a line of '~' under the place. Nothing here decides what is an error.
 */
#include "lang/parse/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

#define ERRORS_MAX 20u

/* A line: names of files and symbols may hold anything. */
static const char *text_of(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	struct buf b = { 0 };
	const char *text;
	char *s;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	s = arena_alloc(a, (size_t)MAX(n, 0) + 1);
	vsnprintf(s, (size_t)MAX(n, 0) + 1, fmt, ap);
	escape_add(&b, str_of(s), ESCAPE_ALL);
	text = b.n == strlen(s) ? s : arena_strdup(a, buf_text(&b));
	buf_free(&b);
	return text;
}

bool diag_error(struct diags *d, struct loc loc, const char *fmt, ...)
{
	struct diag row = { .level = DIAG_ERROR, .loc = loc };
	va_list ap;

	d->n_errors++;
	if (d->n_errors > ERRORS_MAX)
		return false;
	va_start(ap, fmt);
	row.text = text_of(d->arena, fmt, ap);
	va_end(ap);
	vec_add(d->arena, &d->list, row);
	return false;
}

void diag_warn(struct diags *d, struct loc loc, const char *fmt, ...)
{
	struct diag row = { .level = DIAG_WARNING, .loc = loc };
	va_list ap;

	va_start(ap, fmt);
	row.text = text_of(d->arena, fmt, ap);
	va_end(ap);
	vec_add(d->arena, &d->list, row);
}

void diag_drop_warnings(struct diags *d, u32 from)
{
	u32 kept = 0;

	for (u32 i = 0; i < d->list.n; i++)
		if (d->list.v[i].level == DIAG_ERROR || d->list.v[i].loc.off < from)
			d->list.v[kept++] = d->list.v[i];
	d->list.n = kept;
}

void diag_hint(struct diags *d, const char *fmt, ...)
{
	va_list ap;

	if (!d->list.n || d->n_errors > ERRORS_MAX)
		return;
	va_start(ap, fmt);
	d->list.v[d->list.n - 1].hint = text_of(d->arena, fmt, ap);
	va_end(ap);
}

void diag_use(struct diags *d, struct loc use)
{
	if (d->list.n && d->n_errors <= ERRORS_MAX)
		vec_add(d->arena, &d->list.v[d->list.n - 1].uses, use);
}

void diag_cause(struct diags *d)
{
	if (d->list.n && d->n_errors <= ERRORS_MAX)
		d->list.v[d->list.n - 1].is_cause = true;
}

const struct diag *diag_first(const struct diags *d)
{
	const struct diag *first = NULL;

	for (u32 i = 0; i < d->list.n; i++)
		if (d->list.v[i].level == DIAG_ERROR &&
		    (!first || (d->list.v[i].is_cause && !first->is_cause)))
			first = &d->list.v[i];
	return first;
}

/* ---- rendering ------------------------------------------------------------------------------ */

static void colored(struct buf *b, bool color, const char *code, const char *word)
{
	if (color)
		buf_printf(b, "\033[%sm%s\033[0m", code, word);
	else
		buf_puts(b, word);
}

/* Start of the line that holds offset `off`. */
static u32 line_start(const struct source *s, u32 off)
{
	while (off > 0 && s->text[off - 1] != '\n')
		off--;
	return off;
}

/* One source line with tabs as 4 blanks and nothing that could upset a terminal. */
static void print_line(struct buf *b, const struct source *s, u32 start)
{
	for (u32 i = start; i < s->n && s->text[i] != '\n'; i++) {
		unsigned char c = (unsigned char)s->text[i];

		if (c == '\t')
			buf_puts(b, "    ");
		else if (c == '\r' && (i + 1 == s->n || s->text[i + 1] == '\n'))
			continue;
		else
			buf_putc(b, c < 0x20 || c == 0x7f ? '?' : (char)c);
	}
	buf_putc(b, '\n');
}

static void print_span(struct buf *b, const struct source *s, u32 off, u32 end)
{
	for (u32 at = line_start(s, off); at < end;) {
		print_line(b, s, at);
		while (at < s->n && s->text[at] != '\n')
			at++;
		at++;
	}
}

static void print_text(struct buf *b, const struct diag *d, bool color)
{
	if (d->level == DIAG_ERROR)
		colored(b, color, "31", "ERROR");
	else
		colored(b, color, "33", "WARNING");
	buf_printf(b, ": %s\n", d->text);
}

/* A place of the text, in lines and columns. */
struct span {
	u32 off, end;
	u32 line, column, last_line, last_column;
};

static struct span span_of(const struct source *s, struct loc loc)
{
	struct span p = { .off = MIN(loc.off, s->n) };

	p.end = p.off + MIN(loc.len, s->n - p.off);
	source_line(s, p.off, &p.line, &p.column);
	source_line(s, p.end, &p.last_line, &p.last_column);
	p.last_column = MAX(p.last_column, p.column + 1);
	return p;
}

static void print_where(struct buf *b, const struct source *s, const struct span *p)
{
	if (p->line == p->last_line)
		buf_printf(b, "%s:%u:%u-%u: ", source_name(s, p->off), p->line, p->column,
		           p->last_column);
	else
		buf_printf(b, "%s:%u-%u: ", source_name(s, p->off), p->line, p->last_line);
}

static void print_lines(struct buf *b, const struct source *s, const struct span *p)
{
	if (p->line != p->last_line) {
		print_span(b, s, p->off, p->end);
		return;
	}
	print_line(b, s, line_start(s, p->off));
	buf_fill(b, ' ', p->column - 1);
	buf_fill(b, '~', p->last_column - p->column);
	buf_putc(b, '\n');
}

static void print_placed(struct buf *b, const struct source *s, const struct diag *d,
                         struct loc loc, bool color)
{
	struct span p = span_of(s, loc);

	print_where(b, s, &p);
	print_text(b, d, color);
	print_lines(b, s, &p);
}

/* Where the macro is used that the place before is in. */
static void print_use(struct buf *b, const struct source *s, struct loc loc)
{
	struct span p;

	if (!source_place(s, &loc))
		return;
	p = span_of(s, loc);
	print_where(b, s, &p);
	buf_puts(b, "expanded from here\n");
	print_lines(b, s, &p);
}

static void print_diag(struct buf *b, const struct source *s, const struct diag *d, bool color)
{
	struct loc loc = d->loc;

	if (source_place(s, &loc))
		print_placed(b, s, d, loc, color);
	else
		print_text(b, d, color);
	for (u32 i = 0; i < d->uses.n; i++)
		print_use(b, s, d->uses.v[i]);
	if (d->hint) {
		colored(b, color, "36", "HINT");
		buf_printf(b, ": %s\n", d->hint);
	}
}

static int by_place(const void *x, const void *y)
{
	const struct diag *const *a = x, *const *b = y;

	if ((*a)->level != (*b)->level)
		return (*a)->level < (*b)->level ? -1 : 1;
	if ((*a)->loc.off != (*b)->loc.off)
		return (*a)->loc.off < (*b)->loc.off ? -1 : 1;
	return *a < *b ? -1 : *a > *b; /* as they were added */
}

/* The same as one before it, as far as the user sees. */
static bool is_told(const struct diags *d, const struct diag **order, u32 i)
{
	struct loc loc = order[i]->loc;
	bool shown = source_place(d->source, &loc);

	for (u32 j = 0; j < i; j++) {
		struct loc other = order[j]->loc;

		if (order[j]->level == order[i]->level && !strcmp(order[j]->text, order[i]->text) &&
		    source_place(d->source, &other) == shown &&
		    (!shown || (other.off == loc.off && other.len == loc.len)))
			return true;
	}
	return false;
}

void diag_print(struct buf *b, const struct diags *d, bool color)
{
	const struct diag **order, *first = diag_first(d);
	bool causes = first && first->is_cause;
	u32 n = 0;

	if (!d->list.n)
		return;
	order = arena_array(d->arena, const struct diag *, d->list.n);
	for (u32 i = 0; i < d->list.n; i++)
		if (!causes || d->list.v[i].is_cause)
			order[n++] = &d->list.v[i];
	qsort(order, n, sizeof(*order), by_place);
	for (u32 i = 0; i < n; i++)
		if (!is_told(d, order, i))
			print_diag(b, d->source, order[i], color);
	if (!causes && d->n_errors > ERRORS_MAX)
		buf_printf(b, "%u more errors are not shown.\n", d->n_errors - ERRORS_MAX);
}
