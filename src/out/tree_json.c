/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A report as a line of JSON: objects and lists as they come. What is not known is null. */
#include "out/tree.h"

#include "out/json.h"

static bool is_list(const struct tree *t)
{
	return t->lists >> t->depth & 1;
}

static void put_name(struct tree *t, const char *name)
{
	if (t->started)
		buf_puts(t->b, t->tight ? "," : ", ");
	t->started = true;
	if (name && !is_list(t))
		buf_printf(t->b, "\"%s\":%s", name, t->tight ? "" : " ");
}

static void json_open(struct tree *t, const char *name, bool list)
{
	put_name(t, name);
	buf_putc(t->b, list ? '[' : '{');
	t->depth++;
	t->lists = (t->lists & ~(1u << t->depth)) | (u32)list << t->depth;
	t->started = false;
}

static void json_close(struct tree *t)
{
	buf_putc(t->b, is_list(t) ? ']' : '}');
	t->started = --t->depth;
	if (!t->depth)
		buf_putc(t->b, '\n');
}

static void json_put(struct tree *t, const struct column *c, const struct figure *f)
{
	put_name(t, c->name);
	switch (f->kind) {
	case FIGURE_UNKNOWN:
		buf_puts(t->b, "null");
		break;
	case FIGURE_WHOLE:
		json_unsigned(t->b, f->whole);
		break;
	case FIGURE_SIGNED:
		json_signed(t->b, f->number);
		break;
	case FIGURE_REAL:
		tree_print_real(t->b, c, f->real);
		break;
	case FIGURE_FLAG:
		buf_puts(t->b, f->whole ? "true" : "false");
		break;
	case FIGURE_TEXT:
		json_string(t->b, f->text);
		break;
	}
}

const struct tree_ops tree_json = { json_open, json_close, json_put };
