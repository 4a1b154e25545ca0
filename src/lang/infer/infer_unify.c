/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The type that holds values of two types, for maps and variables that are assigned more than
 * once. Merging only ever widens, which is what lets inference end.
 */
#include "lang/infer/infer.h"

#include <string.h>

#define GROWING 16u /* passes after which what still grows has all the room there is at once */

static bool is_number(const struct type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_BOOL;
}

static bool same_enum(const struct type *a, const struct type *b)
{
	if (!a->name || !b->name)
		return a->name == b->name;
	return strcmp(a->name, b->name) == 0;
}

const struct type *infer_widen(const struct type *t)
{
	if (t->kind != TYPE_INT || t->name || t->is_raw)
		return t;
	return type_int(8, t->is_signed);
}

static const struct type *unify_ptr(struct infer *in, const struct type *a, const struct type *b)
{
	const struct type *elem = a->elem;
	enum space space = a->space == b->space ? a->space : SPACE_NONE;

	if (!type_eq(a->elem, b->elem)) {
		if (a->elem->kind != TYPE_NONE && b->elem->kind != TYPE_NONE)
			return NULL;
		elem = a->elem->kind == TYPE_NONE ? b->elem : a->elem;
	}
	if (elem == a->elem && space == a->space)
		return a;
	return type_ptr(in->arena, elem, space);
}

static const struct type *unify_tuple(struct infer *in, const struct type *a, const struct type *b)
{
	const struct type **types;

	if (a->n_fields != b->n_fields || type_is_record(a) != type_is_record(b))
		return NULL;
	types = arena_array(in->arena, const struct type *, a->n_fields);
	for (u32 i = 0; i < a->n_fields; i++) {
		u32 k = type_part(b, a, i);

		if (k == b->n_fields)
			return NULL;
		types[i] = infer_unify(in, a->fields[i].type, b->fields[k].type);
		if (!types[i])
			return NULL;
	}
	return type_retuple(in->arena, a, types);
}

static const struct type *unify_str(struct infer *in, const struct type *a, const struct type *b)
{
	bool bounded = a->bounded && b->bounded;
	u32 size = MAX(a->size, b->size), count = MAX(a->count, b->count);

	if (a->size == size && a->count == count && a->bounded == bounded)
		return a;
	count = count ? count : size;
	if (in->pass > GROWING && size > a->size)
		count = MAX(count, in->config->max_strlen);
	return type_str(in->arena, count, bounded);
}

/* The smallest integer that holds both; int64 where none does. */
static const struct type *both_numbers(const struct type *a, const struct type *b)
{
	const struct type *sign = a->is_signed ? a : b, *other = a->is_signed ? b : a;

	if (a->is_signed == b->is_signed)
		return type_int(MAX(a->size, b->size), a->is_signed);
	return type_int(MIN(MAX(sign->size, 2 * other->size), 8u), true);
}

const struct type *infer_unify(struct infer *in, const struct type *old, const struct type *now)
{
	if (is_number(old) && is_number(now)) {
		if (type_eq(old, now) && same_enum(old, now))
			return old->is_raw ? now : old;
		return both_numbers(old, now);
	}
	if (old->kind != now->kind)
		return NULL;
	switch (old->kind) {
	case TYPE_PTR:
		return unify_ptr(in, old, now);
	case TYPE_STR:
		return unify_str(in, old, now);
	case TYPE_BUF:
		return old->count >= now->count ? old : now;
	case TYPE_TUPLE:
		return unify_tuple(in, old, now);
	default:
		return type_eq(old, now) ? old : NULL;
	}
}

const struct type *infer_unify_node(struct infer *in, const struct type *old,
                                    const struct node *now)
{
	bool literal = now->kind == NODE_INT && now->type->kind == TYPE_INT && !now->type->name;

	if (literal && old->kind == TYPE_PTR && now->integer.value == 0)
		return old; /* a null pointer */
	if (literal && !now->integer.is_typed && old->kind == TYPE_INT && !old->name &&
	    (s64)now->integer.value >= 0)
		return infer_widen(old);
	return infer_unify(in, old, now->type);
}

const struct type *infer_rest(struct infer *in, const struct type *t)
{
	const struct type **types;
	bool same = true;

	if (t->kind != TYPE_TUPLE)
		return infer_widen(t);
	types = arena_array(in->arena, const struct type *, t->n_fields);
	for (u32 i = 0; i < t->n_fields; i++) {
		types[i] = infer_rest(in, t->fields[i].type);
		same &= types[i] == t->fields[i].type;
	}
	return same ? t : type_retuple(in->arena, t, types);
}
