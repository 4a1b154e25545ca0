/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Debug information -> types of the language.
 *
 * The one idea is that of btf_type.c: a struct is its number in the file, looked into member by
 * member. All of it lies in user memory. Floating point has no type here, since eBPF has none.
 */
#include "lang/type/debug_type.h"

#include <string.h>

#define DEPTH_MAX       8u
#define ENUMERATORS_MAX 512u
#define SIZE_LIMIT      (1u << 30)

/* ---- types ---------------------------------------------------------------------------------- */

static const struct type *convert(struct script *s, struct dwarf_file *d, u32 die, u32 depth);

static const struct type *convert_int(const struct dwarf_type *t)
{
	if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8)
		return &type_none;
	return type_int((u32)t->size, t->is_signed);
}

struct enumerators {
	struct enumerator *v;
	u32 n;
};

static bool add_enumerator(void *ctx, const char *name, s64 value)
{
	struct enumerators *e = ctx;

	e->v[e->n++] = (struct enumerator){ name, value };
	return e->n < ENUMERATORS_MAX;
}

static const struct type *convert_enum(struct script *s, struct dwarf_file *d,
                                       const struct dwarf_type *from)
{
	const struct type *number = convert_int(from);
	struct enumerators e = { 0 };
	struct type *t;

	if (number->kind == TYPE_NONE || (!from->name && !from->typedef_name))
		return number;
	e.v = arena_array(s->arena, struct enumerator, ENUMERATORS_MAX);
	dwarf_type_enumerators(d, from->die, add_enumerator, &e);
	t = arena_new(s->arena, struct type);
	*t = *number;
	t->enums = e.v;
	t->n_enums = e.n;
	t->name = from->name ? arena_printf(s->arena, "enum %s", from->name) : from->typedef_name;
	return t;
}

static const struct type *convert_record(struct script *s, struct dwarf_file *d,
                                         const struct dwarf_type *from)
{
	const char *word = from->is_union ? "union" : "struct";
	struct type *t = arena_new(s->arena, struct type);

	t->kind = TYPE_STRUCT;
	t->size = from->size > SIZE_LIMIT ? 0 : (u32)from->size;
	t->space = SPACE_USER;
	t->origin = origins_of_debug(s->arena, &s->origins, d);
	t->id = from->die;
	if (from->name)
		t->name = arena_printf(s->arena, "%s %s", word, from->name);
	else
		t->name = from->typedef_name ? from->typedef_name : word;
	return t;
}

/* As in the kernel's types: one row of characters is a string. */
static const struct type *convert_array(struct script *s, struct dwarf_file *d,
                                        const struct dwarf_type *from, u32 depth)
{
	struct dwarf_type elem;
	const struct type *t;

	if (depth == 0 && from->n_dims == 1 && from->dims[0] && from->dims[0] < SIZE_LIMIT &&
	    dwarf_type_read(d, from->target, &elem) && elem.kind == DWARF_CHAR && elem.size == 1)
		return type_chars(s->arena, from->dims[0]);
	t = convert(s, d, from->target, depth + 1);
	for (u32 i = from->n_dims; i-- > 0 && t->kind != TYPE_NONE;) {
		if ((u64)from->dims[i] * t->size > SIZE_LIMIT)
			return &type_none;
		t = type_array(s->arena, t, from->dims[i]);
	}
	return t;
}

static const struct type *convert(struct script *s, struct dwarf_file *d, u32 die, u32 depth)
{
	struct dwarf_type t;

	if (depth > DEPTH_MAX || !die || !dwarf_type_read(d, die, &t))
		return &type_none;
	switch (t.kind) {
	case DWARF_INT:
	case DWARF_CHAR:
		return convert_int(&t);
	case DWARF_BOOL:
		return t.size == 1 ? &type_bool : convert_int(&t);
	case DWARF_ENUM:
		return convert_enum(s, d, &t);
	case DWARF_PTR:
		return type_ptr(s->arena, convert(s, d, t.target, depth + 1), SPACE_USER);
	case DWARF_ARRAY:
		return convert_array(s, d, &t, depth);
	case DWARF_RECORD:
		return convert_record(s, d, &t);
	default:
		return &type_none;
	}
}

const struct type *debug_type(struct script *s, struct dwarf_file *d, u32 die)
{
	return convert(s, d, die, 0);
}

/* ---- members -------------------------------------------------------------------------------- */

struct walk {
	struct script *s;
	struct dwarf_file *d;
	const char *name; /* only this one, NULL all */
	void (*cb)(void *ctx, const struct field *f);
	void *ctx;
	u64 base;
	u32 depth;
	bool done;
};

/* A bit-field is read from the smallest word that holds all its bits; where it straddles one of
 * its own type's size, from the byte it starts in. */
static void place_bits(const struct dwarf_field *m, u64 off, struct field *f)
{
	u32 size = f->type->size ? f->type->size : 8;
	u64 bit = off * 8 + m->bit_off, unit = (u64)size * 8;

	f->off = (u32)(bit / unit * size);
	f->bit_off = (u8)(bit % unit);
	f->bit_size = (u8)m->bit_size;
	if (f->bit_off + m->bit_size > unit) {
		f->off = (u32)(bit / 8);
		f->bit_off = (u8)(bit % 8);
	}
}

static bool visit(void *ctx, const struct dwarf_field *m)
{
	struct walk *w = ctx;
	u64 off = w->base + m->off;
	struct field f = { .name = m->name };

	if (off > SIZE_LIMIT)
		return true;
	if (!m->name) {
		struct walk inner = *w;
		struct dwarf_type t;

		if (w->depth++ >= DEPTH_MAX || !dwarf_type_read(w->d, m->type, &t))
			return true;
		inner.depth = w->depth;
		inner.base = off;
		dwarf_type_fields(w->d, t.die, visit, &inner);
		w->depth--;
		w->done = inner.done;
		return !w->done;
	}
	if (w->name && strcmp(w->name, m->name) != 0)
		return true;
	f.type = debug_type(w->s, w->d, m->type);
	f.off = (u32)off;
	if (m->bit_size)
		place_bits(m, off, &f);
	w->cb(w->ctx, &f);
	w->done = w->name != NULL;
	return !w->done;
}

static void keep(void *ctx, const struct field *f)
{
	*(struct field *)ctx = *f;
}

bool debug_type_member(struct script *s, const struct type *t, const char *name, struct field *f)
{
	struct walk w = {
		.s = s, .d = origins_debug(&s->origins, t), .name = name, .cb = keep, .ctx = f
	};

	memset(f, 0, sizeof(*f));
	dwarf_type_fields(w.d, t->id, visit, &w);
	return w.done;
}

void debug_type_each(struct script *s, const struct type *t,
                     void (*cb)(void *ctx, const struct field *f), void *ctx)
{
	struct walk w = { .s = s, .d = origins_debug(&s->origins, t), .cb = cb, .ctx = ctx };

	dwarf_type_fields(w.d, t->id, visit, &w);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void print(struct buf *b, struct dwarf_file *d, u32 die, u32 depth)
{
	struct dwarf_type t;

	if (!die || depth > DEPTH_MAX || !dwarf_type_read(d, die, &t)) {
		buf_puts(b, "void");
		return;
	}
	if (t.is_const && (t.typedef_name || t.kind != DWARF_PTR))
		buf_puts(b, "const ");
	if (t.typedef_name) {
		buf_puts(b, t.typedef_name);
	} else if (t.kind == DWARF_PTR) {
		print(b, d, t.target, depth + 1);
		if (!b->n || b->p[b->n - 1] != '*')
			buf_putc(b, ' ');
		buf_puts(b, t.is_reference ? "&" : t.is_const ? "*const" : "*");
	} else if (t.kind == DWARF_ARRAY) {
		print(b, d, t.target, depth + 1);
		for (u32 i = 0; i < t.n_dims; i++)
			buf_printf(b, "[%u]", t.dims[i]);
	} else {
		if (t.kind == DWARF_RECORD)
			buf_puts(b, t.is_union ? "union " : "struct ");
		else if (t.kind == DWARF_ENUM)
			buf_puts(b, "enum ");
		buf_puts(b, t.name ? t.name : t.kind == DWARF_VOID ? "void" : "{...}");
	}
}

void debug_type_declare(struct buf *b, struct dwarf_file *d, u32 die, const char *name)
{
	print(b, d, die, 0);
	if (b->p[b->n - 1] != '*' && b->p[b->n - 1] != '&')
		buf_putc(b, ' ');
	buf_puts(b, name);
}
