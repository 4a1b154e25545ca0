/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The tree of stacks. A node is found by its parent and name in one hash map, so that a parent
 * with thousands of kids costs no more than one with two.
 *
 * Names come from anywhere, traced memory included. They are made harmless when they come in:
 * escaped (base/escape.h), and without the ';' that separates the frames of a folded line. Drawing
 * is flame_svg.c.
 */
#include "out/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "out/value.h"

/* ---- names ---- */

/* U+FFFE and U+FFFF are well-formed UTF-8 and yet no characters of XML. */
static bool is_no_character(const char *p, u32 n)
{
	return n == 3 && memcmp(p, "\xef\xbf", 2) == 0 && (u8)p[2] >= 0xbe;
}

/* The character of n bytes at i. */
static struct str clean(struct str s, u32 i, u32 n)
{
	if (s.p[i] == ';')
		return STR(":");
	return is_no_character(s.p + i, n) ? STR("\xef\xbf\xbd") : (struct str){ s.p + i, n };
}

/* What was cleaned once stays as it is. */
static void add_clean(struct buf *b, const char *text)
{
	struct buf escaped = { 0 };
	size_t end = b->n + FLAME_NAME;
	struct str s, c;

	escape_add(&escaped, (struct str){ text, (u32)strnlen(text, FLAME_NAME) }, ESCAPE_ALL);
	s = (struct str){ buf_text(&escaped), (u32)escaped.n };
	for (u32 i = 0, n; i < s.n; i += n) {
		n = str_utf8(s, i); /* not 0: it is escaped */
		c = clean(s, i, n);
		if (b->n + c.n > end)
			break;
		buf_add(b, c.p, c.n);
	}
	buf_free(&escaped);
}

/* ---- the tree ---- */

void flame_begin(struct flame *f, s64 value)
{
	f->at = NULL;
	if (value < 1) {
		f->refused++;
		return;
	}
	f->at = &f->root;
	f->adding = (u64)value;
	f->root.value += f->adding;
}

/* "PARENT KIND name NUL module NUL" */
static void make_key(struct flame *f, const struct frame_name *frame)
{
	struct buf *b = &f->scratch;

	buf_reset(b);
	buf_add(b, &f->at, sizeof(f->at));
	buf_putc(b, (char)frame->kind);
	add_clean(b, frame->name[0] ? frame->name : "(no name)");
	buf_putc(b, 0);
	add_clean(b, frame->module);
	buf_putc(b, 0);
}

static struct flame_node *add_node(struct flame *f, enum frame_kind kind)
{
	const char *key = arena_strndup(&f->arena, f->scratch.p, f->scratch.n);
	struct flame_node *n = arena_new(&f->arena, struct flame_node);

	n->kind = kind;
	n->name = key + sizeof(f->at) + 1;
	n->module = n->name + strlen(n->name) + 1;
	n->next = f->at->kids;
	f->at->kids = n;
	f->at->n_kids++;
	hmap_put(&f->nodes, key, f->scratch.n, n);
	return n;
}

void flame_frame(struct flame *f, const struct frame_name *frame)
{
	void **found;

	if (!f->at)
		return;
	make_key(f, frame);
	found = hmap_find(&f->nodes, f->scratch.p, f->scratch.n);
	if (!found && f->nodes.n >= FLAME_NODES) {
		f->cut++;
		flame_end(f);
		return;
	}
	f->at = found ? *found : add_node(f, frame->kind);
	f->at->value += f->adding;
}

void flame_end(struct flame *f)
{
	if (!f->at)
		return;
	f->stacks += !f->at->self;
	f->at->self += f->adding;
	f->at = NULL;
}

void flame_free(struct flame *f)
{
	arena_free(&f->arena);
	hmap_free(&f->nodes);
	buf_free(&f->scratch);
}

static int by_name(const void *a, const void *b)
{
	const struct flame_node *x = *(struct flame_node *const *)a,
				*y = *(struct flame_node *const *)b;
	int c = strcmp(x->name, y->name);

	if (!c)
		c = strcmp(x->module, y->module);
	return c ? c : (int)x->kind - (int)y->kind;
}

static void sort_kids(struct flame_node *n)
{
	struct flame_node **v = calloc(n->n_kids, sizeof(struct flame_node *)), **to = &n->kids;
	u32 k = 0;

	if (!v)
		base_no_memory();
	for (struct flame_node *kid = n->kids; kid; kid = kid->next)
		v[k++] = kid;
	qsort(v, k, sizeof(struct flame_node *), by_name);
	for (u32 i = 0; i < k; i++) {
		*to = v[i];
		to = &v[i]->next;
	}
	*to = NULL;
	free(v);
}

static void sort_below(struct flame_node *n)
{
	if (n->n_kids > 1)
		sort_kids(n);
	for (struct flame_node *kid = n->kids; kid; kid = kid->next)
		sort_below(kid);
}

void flame_sort(struct flame *f)
{
	sort_below(&f->root);
}

/* ---- folded ---- */

/* `path` is the line up to this node. */
static void fold(struct buf *b, struct buf *path, const struct flame_node *n, bool whole)
{
	size_t old = path->n;

	if (old)
		buf_putc(path, ';');
	if (whole)
		buf_printf(path, "%c%s\t", 'a' + (char)n->kind, n->module);
	buf_puts(path, n->name);
	if (n->self)
		buf_printf(b, "%s %" PRIu64 "\n", buf_text(path), n->self);
	for (const struct flame_node *kid = n->kids; kid; kid = kid->next)
		fold(b, path, kid, whole);
	path->n = old;
}

static void fold_all(struct buf *b, const struct flame *f, bool whole)
{
	struct buf path = { 0 };

	for (const struct flame_node *kid = f->root.kids; kid; kid = kid->next) {
		buf_reset(&path);
		fold(b, &path, kid, whole);
	}
	buf_free(&path);
}

void flame_fold(struct buf *b, const struct flame *f)
{
	fold_all(b, f, false);
}

void flame_fold_whole(struct buf *b, const struct flame *f)
{
	fold_all(b, f, true);
}

/* ---- rows of a map ---- */

static bool has_stack(const struct type *t)
{
	if (type_is_stack(t))
		return true;
	for (u32 i = 0; t->kind == TYPE_TUPLE && i < t->n_fields; i++)
		if (has_stack(t->fields[i].type))
			return true;
	return false;
}

bool flame_is_number(const struct type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_BOOL ||
	       (type_is_agg(t) && t->kind != TYPE_TSERIES && t->kind != TYPE_AGGS);
}

static bool has_parts(const struct type *t)
{
	return t->kind == TYPE_TUPLE || t->kind == TYPE_AGGS;
}

bool flame_part(const struct umap *m, const char *part, u32 *index)
{
	const struct type *t = m->value;

	*index = 0;
	if (!has_parts(t))
		return !part && flame_is_number(t);
	for (; *index < t->n_fields; ++*index) {
		const struct field *f = &t->fields[*index];

		if (flame_is_number(f->type) && (!part || (f->name && strcmp(f->name, part) == 0)))
			return true;
	}
	return false;
}

bool flame_fits(const struct umap *m)
{
	u32 index;

	return m->role == UMAP_USER && m->key && has_stack(m->key) && flame_part(m, NULL, &index);
}

const char *flame_unit(const struct umap *m, const char *part)
{
	u32 index = 0;

	if (flame_part(m, part, &index) && m->value->kind == TYPE_TUPLE &&
	    m->value->fields[index].name)
		return m->value->fields[index].name;
	return m->name[1] ? m->name + 1 : "events";
}

s64 flame_value(const struct type *t, const struct cell *c, u32 part)
{
	struct value v;
	s64 sum = 0;

	if (t->kind == TYPE_HIST || t->kind == TYPE_LHIST) {
		for (u32 i = 0; i < c->n_buckets; i++)
			sum += (s64)c->buckets[i];
		return sum;
	}
	if (t->kind == TYPE_AGGS)
		return flame_value(t->fields[part].type, &c->parts[part], 0);
	if (t->kind == TYPE_AVG || t->kind == TYPE_STATS)
		return c->total;
	if (type_is_agg(t))
		return c->n;
	v = value_at_rest(t, c->bytes);
	if (t->kind == TYPE_TUPLE)
		v = value_part(&v, part);
	return (s64)value_word(&v);
}

static void add_frame(void *ctx, const struct frame_name *frame)
{
	flame_frame(ctx, frame);
}

/* What is in the key beside stacks: "python3, 1234". */
static void add_label(struct buf *b, const struct out *o, const struct value *v)
{
	if (v->type->kind == TYPE_TUPLE) {
		for (u32 i = 0; i < value_parts(v); i++) {
			struct value part = value_part(v, i);

			add_label(b, o, &part);
		}
	} else if (!type_is_stack(v->type)) {
		buf_puts(b, b->n ? ", " : "");
		value_text(b, o, v);
	}
}

static void add_stacks(const struct out *o, const struct value *v, frame_fn *fn, void *ctx)
{
	const u64 *at = (const u64 *)(const void *)v->p;

	if (v->type->kind == TYPE_TUPLE) {
		for (u32 i = 0; i < value_parts(v); i++) {
			struct value part = value_part(v, i);

			add_stacks(o, &part, fn, ctx);
		}
	} else if (type_is_stack(v->type)) {
		o->namer->frames(o->namer->ctx, v->type, at, fn, ctx);
	}
}

/* Hands frames on and counts them. */
struct frames {
	frame_fn *fn;
	void *ctx;
	u32 n;
};

static void count_frame(void *ctx, const struct frame_name *frame)
{
	struct frames *f = ctx;

	f->n++;
	f->fn(f->ctx, frame);
}

/* Where no stack could be taken, that is said. */
void flame_key(const struct out *o, const struct value *key, frame_fn *fn, void *ctx)
{
	static const struct frame_name none = { .name = "[no stack]", .module = "" };
	struct frames frames = { fn, ctx, 0 };
	struct buf label = { 0 };

	add_label(&label, o, key);
	if (label.n)
		fn(ctx, &(struct frame_name){ .name = buf_text(&label), .module = "" });
	add_stacks(o, key, count_frame, &frames);
	if (!frames.n)
		fn(ctx, &none);
	buf_free(&label);
}

static void add_row(struct flame *f, const struct out *o, const struct table *t,
                    const struct row *r, u32 index)
{
	struct value key = value_at_rest(t->map->key, r->key);

	flame_begin(f, flame_value(t->map->value, &r->value, index));
	flame_key(o, &key, add_frame, f);
	flame_end(f);
}

void flame_add_table(struct flame *f, const struct out *o, const struct table *t, const char *part)
{
	u32 index = 0;

	if (!flame_part(t->map, part, &index))
		return;
	for (u32 i = 0; i < t->rows.n; i++)
		add_row(f, o, t, &t->rows.v[i], index);
}

void flame_add_heaviest(struct flame *f, const struct out *o, struct table *t, u32 most)
{
	static const struct frame_name others = { .name = "[others]", .module = "" };
	u32 index = 0, first = t->rows.n > most ? t->rows.n - most : 0;
	s64 sum = 0;

	if (!flame_part(t->map, NULL, &index))
		return;
	table_sort_by_value(t);
	for (u32 i = 0; i < first; i++)
		sum += MAX(flame_value(t->map->value, &t->rows.v[i].value, index), 0);
	for (u32 i = first; i < t->rows.n; i++)
		add_row(f, o, t, &t->rows.v[i], index);
	if (!sum)
		return;
	flame_begin(f, sum);
	flame_frame(f, &others);
	flame_end(f);
}
