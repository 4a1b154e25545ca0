/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * print(@map, top, "template"): a text for each row, and in JSON an object with what the template
 * names. The rows come sorted; this chooses what of each is shown.
 */
#include "out/rows.h"

#include "out/value.h"
#include "unit/template.h"

static const struct type *number_type(const struct type *value, enum template_what what)
{
	return what == TEMPLATE_COUNT || !value->is_signed ? &type_u64 : &type_s64;
}

static u64 number(const struct type *value, const struct cell *c, enum template_what what)
{
	if (what == TEMPLATE_AVG)
		return (u64)cell_average(c, value);
	if (what == TEMPLATE_SUM && value->kind != TYPE_SUM)
		return (u64)c->total;
	return (u64)c->n;
}

/* The value of a place; `word` is room for a number that is nowhere in memory. */
static struct value place_value(const struct umap *m, const struct row *r,
                                const struct template_place *place, u64 *word)
{
	struct value whole;
	const struct type *t = m->value;

	switch (place->what) {
	case TEMPLATE_KEY:
		return value_at_rest(m->key, r->key);
	case TEMPLATE_KEY_PART:
		whole = value_at_rest(m->key, r->key);
		return value_part(&whole, place->part);
	case TEMPLATE_VALUE_PART:
		if (t->kind == TYPE_AGGS) {
			t = t->fields[place->part].type;
			*word = (u64)value_number(t, &r->value.parts[place->part], 1);
			return value_at_rest(number_type(t, TEMPLATE_VALUE), (const u8 *)word);
		}
		whole = value_at_rest(t, r->value.bytes);
		return value_part(&whole, place->part);
	case TEMPLATE_VALUE:
		if (!type_is_agg(t))
			return value_at_rest(t, r->value.bytes);
		*word = (u64)value_number(t, &r->value, 1);
		return value_at_rest(number_type(t, TEMPLATE_VALUE), (const u8 *)word);
	default:
		*word = number(t, &r->value, place->what);
		return value_at_rest(number_type(t, place->what), (const u8 *)word);
	}
}

static void padded(struct buf *b, const struct template_part *part, struct str text)
{
	u32 width = 0, pad;

	for (u32 i = 0; i < text.n; i++)
		width += ((u8)text.p[i] & 0xc0) != 0x80; /* characters of UTF-8 */
	pad = part->width > width ? part->width - width : 0;
	if (!part->left)
		buf_fill(b, ' ', pad);
	buf_add(b, text.p, text.n);
	if (part->left)
		buf_fill(b, ' ', pad);
}

struct folding {
	struct buf *b;
	enum escape escape;
	u32 n;
};

static void fold_frame(void *ctx, const struct frame_name *frame)
{
	struct folding *f = ctx;
	size_t from;

	if (f->n++)
		buf_putc(f->b, ';');
	from = f->b->n;
	escape_add(f->b, str_of(frame->name), f->escape);
	for (size_t i = from; i < f->b->n; i++)
		if (f->b->p[i] == ';')
			f->b->p[i] = ':';
}

static void formatted(struct buf *b, const struct out *o, struct str directive,
                      const struct value *v)
{
	struct buf text = { 0 };

	buf_add(&text, directive.p, directive.n);
	format_print(b, o, buf_text(&text), &(struct field){ .type = v->type }, 1, v->p);
	buf_free(&text);
}

static void shown_text(struct buf *b, const struct out *o, const struct template_part *part,
                       const struct value *v)
{
	struct folding f = { b, o->escape, 0 };

	if (part->folded && type_is_stack(v->type))
		o->namer->frames(o->namer->ctx, v->type, (const u64 *)(const void *)v->p,
		                 fold_frame, &f);
	else if (part->format.n)
		formatted(b, o, part->format, v);
	else
		value_text(b, o, v);
}

/* Goes on in the template: false at its end. `v` is the value of the part's place, p NULL: none. */
static bool next_part(const struct umap *m, const struct row *r, const char **text,
                      struct template_part *part, struct value *v, u64 *word)
{
	struct template_place place;
	const char *problem;

	if (!template_next(text, part, &problem))
		return false;
	v->p = NULL;
	if (part->has_place && template_find(m->key, m->value, part->name, &place))
		*v = place_value(m, r, &place, word);
	return true;
}

void rows_text(struct buf *b, const struct out *o, const struct umap *m, const struct row *r,
               const char *text)
{
	struct buf shown = { 0 };
	struct template_part part;
	struct value v;
	u64 word;

	while (next_part(m, r, &text, &part, &v, &word)) {
		buf_add(b, part.literal.p, part.literal.n);
		if (!v.p)
			continue;
		buf_reset(&shown);
		shown_text(&shown, o, &part, &v);
		padded(b, &part, (struct str){ buf_text(&shown), (u32)shown.n });
	}
	buf_free(&shown);
}

void rows_each(const struct umap *m, const struct row *r, const char *text,
               void (*cb)(void *ctx, struct str name, const struct value *v), void *ctx)
{
	struct template_part part;
	struct value v;
	u64 word;

	while (next_part(m, r, &text, &part, &v, &word))
		if (v.p)
			cb(ctx, part.name, &v);
}
