/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Making, measuring, comparing and naming types.
 *
 * The one idea: a type says everything about a value's bytes, so size questions are answered
 * from the type alone. The kinds are rows of values.h.
 *
 * Nothing here knows where types come from (BTF, the script, a note).
 */
#include "unit/type.h"

#include <string.h>

#include "unit/bucket.h"
#include "unit/unit.h"

const struct type type_none = { .kind = TYPE_NONE };
const struct type type_bool = { .kind = TYPE_BOOL, .size = 1 };
const struct type type_u8 = { .kind = TYPE_INT, .size = 1 };
const struct type type_u16 = { .kind = TYPE_INT, .size = 2 };
const struct type type_u32 = { .kind = TYPE_INT, .size = 4 };
const struct type type_u64 = { .kind = TYPE_INT, .size = 8 };
const struct type type_s8 = { .kind = TYPE_INT, .size = 1, .is_signed = true };
const struct type type_s16 = { .kind = TYPE_INT, .size = 2, .is_signed = true };
const struct type type_s32 = { .kind = TYPE_INT, .size = 4, .is_signed = true };
const struct type type_s64 = { .kind = TYPE_INT, .size = 8, .is_signed = true };
const struct type type_raw = { .kind = TYPE_INT, .size = 8, .is_raw = true };

/* ---- equality, by kind ---------------------------------------------------------------------- */

static bool text_eq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_size(const struct type *a, const struct type *b)
{
	return a->size == b->size;
}

static bool same_pointee(const struct type *a, const struct type *b)
{
	return type_eq(a->elem, b->elem);
}

static bool same_text(const struct type *a, const struct type *b)
{
	return a->size == b->size && a->count == b->count;
}

static bool same_elements(const struct type *a, const struct type *b)
{
	return a->count == b->count && type_eq(a->elem, b->elem);
}

/* Debug information describes a struct again in each file that uses it: there the name counts. */
static bool same_record(const struct type *a, const struct type *b)
{
	if (a->origin.kind != b->origin.kind || a->origin.nr != b->origin.nr ||
	    a->size != b->size || !text_eq(a->name, b->name))
		return false;
	return a->id == b->id ||
	       (a->origin.kind == ORIGIN_DEBUG && a->name && strchr(a->name, ' '));
}

static bool same_fields(const struct type *a, const struct type *b)
{
	if (a->n_fields != b->n_fields)
		return false;
	for (u32 i = 0; i < a->n_fields; i++)
		if (!type_eq(a->fields[i].type, b->fields[i].type) ||
		    !text_eq(a->fields[i].name, b->fields[i].name))
			return false;
	return true;
}

static bool same_stack(const struct type *a, const struct type *b)
{
	return a->mode == b->mode && a->limit == b->limit;
}

static bool same_name(const struct type *a, const struct type *b)
{
	return text_eq(a->text, b->text);
}

static bool same_hist(const struct type *a, const struct type *b)
{
	return a->bits == b->bits;
}

static bool same_lhist(const struct type *a, const struct type *b)
{
	return a->min == b->min && a->max == b->max && a->step == b->step;
}

static bool same_series(const struct type *a, const struct type *b)
{
	return a->step == b->step && a->max == b->max && a->bits == b->bits;
}

/* What is the same for all values of a kind. */
static const struct {
	const char *name;
	bool (*same)(const struct type *a, const struct type *b);
	u8 words, traits;
} kinds[] = {
#define V(id, name, words, equality, traits) { name, same_##equality, words, traits },
	VALUE_KINDS(V)
#undef V
};

const struct type *type_int(u32 size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? &type_s8 : &type_u8;
	case 2:
		return is_signed ? &type_s16 : &type_u16;
	case 4:
		return is_signed ? &type_s32 : &type_u32;
	default:
		return is_signed ? &type_s64 : &type_u64;
	}
}

static struct type *type_new(struct arena *a, enum type_kind kind, u32 size)
{
	struct type *t = arena_new(a, struct type);

	t->kind = kind;
	t->size = size;
	return t;
}

/* The size as asked is kept in `count`, for messages. */
const struct type *type_str(struct arena *a, u32 size, bool bounded)
{
	struct type *t = type_new(a, TYPE_STR, ROUND_UP(MAX(size, 1u), 8u));

	t->count = MAX(size, 1u);
	t->bounded = bounded;
	return t;
}

const struct type *type_chars(struct arena *a, u32 count)
{
	struct type *t = type_new(a, TYPE_STR, ROUND_UP(count + 1, 8u));

	t->count = count;
	t->bounded = true;
	return t;
}

const struct type *type_buf(struct arena *a, u32 count)
{
	struct type *t = type_new(a, TYPE_BUF, 8 + count);

	t->count = count;
	return t;
}

const struct type *type_ptr(struct arena *a, const struct type *elem, enum space space)
{
	struct type *t = type_new(a, TYPE_PTR, 8);

	t->elem = elem;
	t->space = space;
	return t;
}

const struct type *type_struct_in(struct arena *a, const struct type *t, enum space space)
{
	struct type *copy;

	if (t->space == space)
		return t;
	copy = arena_new(a, struct type);
	*copy = *t;
	copy->space = space;
	return copy;
}

const struct type *type_array(struct arena *a, const struct type *elem, u32 count)
{
	u64 size = (u64)elem->size * count;
	struct type *t = type_new(a, TYPE_ARRAY, (u32)MIN(size, (u64)UINT32_MAX));

	t->elem = elem;
	t->count = count;
	return t;
}

static const struct type *type_fields(struct arena *a, enum type_kind kind,
                                      const struct type *const *types, const char *const *names,
                                      u32 n)
{
	struct field *fields = arena_array(a, struct field, n);
	struct type *t = type_new(a, kind, 0);

	for (u32 i = 0; i < n; i++) {
		fields[i].name = names ? names[i] : NULL;
		fields[i].type = types[i];
		fields[i].off = t->size;
		t->size += type_slot(types[i]);
	}
	t->fields = fields;
	t->n_fields = n;
	return t;
}

const struct type *type_record(struct arena *a, const struct type *const *types,
                               const char *const *names, u32 n)
{
	return type_fields(a, TYPE_TUPLE, types, names, n);
}

const struct type *type_tuple(struct arena *a, const struct type *const *types, u32 n)
{
	return type_record(a, types, NULL, n);
}

const struct type *type_retuple(struct arena *a, const struct type *like,
                                const struct type *const *types)
{
	const char **names;

	if (!type_is_record(like))
		return type_tuple(a, types, like->n_fields);
	names = arena_array(a, const char *, like->n_fields);
	for (u32 i = 0; i < like->n_fields; i++)
		names[i] = like->fields[i].name;
	return type_record(a, types, names, like->n_fields);
}

bool type_is_record(const struct type *t)
{
	return t->kind == TYPE_TUPLE && t->n_fields && t->fields[0].name;
}

const struct type *type_aggs(struct arena *a, const struct type *const *types,
                             const char *const *names, u32 n)
{
	return type_fields(a, TYPE_AGGS, types, names, n);
}

const struct type *type_plain(struct arena *a, enum type_kind kind)
{
	return type_new(a, kind, kinds[kind].words * 8);
}

const struct type *type_func(struct arena *a)
{
	struct type *t = type_new(a, TYPE_USYM, kinds[TYPE_USYM].words * 8);

	t->limit = 1;
	return t;
}

const struct type *type_stack(struct arena *a, enum type_kind kind, enum stack_mode mode, u32 limit)
{
	struct type *t = type_new(a, kind, kinds[kind].words * 8);

	t->mode = mode;
	t->limit = limit;
	return t;
}

u32 type_slot(const struct type *t)
{
	if (kinds[t->kind].words)
		return kinds[t->kind].words * 8;
	return MAX(ROUND_UP(t->size, 8u), 8u);
}

u32 type_cell(const struct type *t)
{
	if (t->kind == TYPE_HIST)
		return bucket_hist_count(t->bits) * 8;
	if (t->kind == TYPE_TSERIES)
		return (u32)t->max * 24;
	if (t->kind == TYPE_LHIST)
		return bucket_lhist_count(t->min, t->max, t->step) * 8;
	return type_slot(t);
}

bool type_has(const struct type *t, enum value_trait trait)
{
	return kinds[t->kind].traits & trait;
}

bool type_is_scalar(const struct type *t)
{
	return type_has(t, VALUE_SCALAR);
}

bool type_is_agg(const struct type *t)
{
	return type_has(t, VALUE_AGG);
}

bool type_is_stack(const struct type *t)
{
	return type_has(t, VALUE_STACK);
}

u32 type_part(const struct type *t, const struct type *of, u32 i)
{
	if (!type_is_record(of))
		return i;
	for (u32 k = 0; k < t->n_fields; k++)
		if (text_eq(t->fields[k].name, of->fields[i].name))
			return k;
	return t->n_fields;
}

bool type_eq(const struct type *a, const struct type *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || a->is_signed != b->is_signed)
		return false;
	return kinds[a->kind].same(a, b);
}

static void print_ptr(struct buf *b, const struct type *t)
{
	if (t->elem->kind == TYPE_NONE)
		buf_puts(b, "void");
	else
		type_print(b, t->elem);
	buf_puts(b, t->elem->kind == TYPE_PTR ? "*" : " *");
}

static void print_tuple(struct buf *b, const struct type *t)
{
	buf_putc(b, '(');
	for (u32 i = 0; i < t->n_fields; i++) {
		if (i)
			buf_putc(b, ',');
		if (t->fields[i].name)
			buf_printf(b, "%s=", t->fields[i].name);
		type_print(b, t->fields[i].type);
	}
	buf_putc(b, ')');
}

/* "kstack", "ustack(perf, 3)" */
static void print_stack(struct buf *b, const struct type *t)
{
	static const char *const modes[] = { NULL, "perf", "raw", "build_id" };

	buf_puts(b, kinds[t->kind].name);
	if (modes[t->mode])
		buf_printf(b, "(%s", modes[t->mode]);
	if (t->limit && t->limit < UNIT_STACK_FRAMES)
		buf_printf(b, "%s%u", modes[t->mode] ? ", " : "(", t->limit);
	if (modes[t->mode] || (t->limit && t->limit < UNIT_STACK_FRAMES))
		buf_putc(b, ')');
}

void type_print(struct buf *b, const struct type *t)
{
	if (type_is_stack(t)) {
		print_stack(b, t);
		return;
	}
	if (kinds[t->kind].name) {
		buf_puts(b, kinds[t->kind].name);
		return;
	}
	switch (t->kind) {
	case TYPE_INT:
		if (t->name)
			buf_puts(b, t->name);
		else
			buf_printf(b, "%sint%u", t->is_signed ? "" : "u", t->size * 8);
		break;
	case TYPE_PTR:
		print_ptr(b, t);
		break;
	case TYPE_STR:
		buf_printf(b, "string[%u]", t->count ? t->count : t->size);
		break;
	case TYPE_BUF:
		buf_printf(b, "buffer[%u]", t->count);
		break;
	case TYPE_ARRAY:
		type_print(b, t->elem);
		buf_printf(b, "[%u]", t->count);
		break;
	case TYPE_STRUCT:
		buf_puts(b, t->name ? t->name : "struct");
		break;
	default:
		print_tuple(b, t);
		break;
	}
}

const char *type_name(struct arena *a, const struct type *t)
{
	struct buf b = { 0 };
	const char *name;

	type_print(&b, t);
	name = arena_strdup(a, buf_text(&b));
	buf_free(&b);
	return name;
}
