/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "out/csv.h"

#include <inttypes.h>
#include <string.h>

/* In quotes, which are doubled. Spreadsheets take what begins like a formula for one, also in
 * quotes, but not after an apostrophe. */
static void quoted(struct buf *b, struct str text)
{
	buf_putc(b, '"');
	if (text.n && text.p[0] && strchr("=+-@'\t\r", text.p[0]))
		buf_putc(b, '\'');
	for (u32 i = 0; i < text.n; i++) {
		if (text.p[i] == '"')
			buf_putc(b, '"');
		buf_putc(b, text.p[i]);
	}
	buf_putc(b, '"');
}

static void next(struct buf *b, u32 column)
{
	if (column)
		buf_putc(b, ',');
}

void csv_head(struct buf *b, u32 column, const struct column *c)
{
	next(b, column);
	buf_puts(b, c->name);
}

void csv_figure(struct buf *b, u32 column, const struct column *c, const struct figure *f)
{
	next(b, column);
	if (f->kind == FIGURE_TEXT && c->type == COLUMN_TEXT)
		quoted(b, f->text);
	else if (f->kind == FIGURE_TEXT)
		buf_add(b, f->text.p, f->text.n);
	else if (f->kind == FIGURE_REAL)
		tree_print_real(b, c, f->real);
	else if (f->kind == FIGURE_SIGNED)
		buf_printf(b, "%" PRId64, f->number);
	else if (f->kind != FIGURE_UNKNOWN)
		buf_printf(b, "%" PRIu64, f->whole);
}
