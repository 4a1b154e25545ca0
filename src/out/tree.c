/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Figures to the format of a tree. */
#include "out/tree.h"

void tree_object(struct tree *t, const char *name)
{
	t->ops->open(t, name, false);
}

void tree_list(struct tree *t, const char *name)
{
	t->ops->open(t, name, true);
}

void tree_end(struct tree *t)
{
	t->ops->close(t);
}

void tree_print_real(struct buf *b, const struct column *c, double n)
{
	if (c->digits < COLUMN_SIGNIFICANT)
		buf_printf(b, "%.*f", c->digits, n);
	else
		buf_printf(b, "%.*g", c->digits - COLUMN_SIGNIFICANT, n);
}

void tree_put(struct tree *t, const struct column *c, const struct figure *f)
{
	t->ops->put(t, c, f);
}

void tree_unknown(struct tree *t, const struct column *c)
{
	t->ops->put(t, c, &(struct figure){ .kind = FIGURE_UNKNOWN });
}

void tree_whole(struct tree *t, const struct column *c, u64 n)
{
	t->ops->put(t, c, &(struct figure){ .kind = FIGURE_WHOLE, .whole = n });
}

void tree_signed(struct tree *t, const struct column *c, s64 n)
{
	t->ops->put(t, c, &(struct figure){ .kind = FIGURE_SIGNED, .number = n });
}

void tree_real(struct tree *t, const struct column *c, double n)
{
	t->ops->put(t, c, &(struct figure){ .kind = FIGURE_REAL, .real = n });
}

void tree_flag(struct tree *t, const struct column *c, bool is)
{
	t->ops->put(t, c, &(struct figure){ .kind = FIGURE_FLAG, .whole = is });
}

void tree_str(struct tree *t, const struct column *c, struct str text)
{
	t->ops->put(t, c, &(struct figure){ .kind = FIGURE_TEXT, .text = text });
}

void tree_text(struct tree *t, const struct column *c, const char *text)
{
	if (text)
		tree_str(t, c, str_of(text));
	else
		tree_unknown(t, c);
}
