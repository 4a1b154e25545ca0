/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The type a value has of its own, as sizeof() and typeinfo() give it.
 *
 * The one idea: integers rest at 64 bits in variables and maps, which is nobody's business but the
 * emitter's; beside the type it works with, a variable or map keeps the smallest type that holds
 * all it is given. A number as written is of the smallest signed type that holds it, beside an
 * unsigned one of the smallest unsigned.
 */
#include "lang/infer/infer.h"

static const struct type *literal(const struct node *n)
{
	s64 value = (s64)n->integer.value;

	if (value < 0 && n->integer.is_unsigned)
		return &type_u64;
	return value == (s8)value    ? &type_s8
	       : value == (s16)value ? &type_s16
	       : value == (s32)value ? &type_s32
	                             : &type_s64;
}

static const struct type *unsigned_literal(u64 value)
{
	return value == (u8)value    ? &type_u8
	       : value == (u16)value ? &type_u16
	       : value == (u32)value ? &type_u32
	                             : &type_u64;
}

static bool is_unsigned(const struct type *t)
{
	return t->kind == TYPE_INT && !t->is_signed;
}

/* The own type of a value that goes where one of type `beside` is; `own` is what it has alone. */
static const struct type *own_beside(const struct node *n, const struct type *own,
                                     const struct type *beside)
{
	if (n->kind == NODE_INT && n->integer.is_bare && is_unsigned(beside) &&
	    (s64)n->integer.value >= 0)
		return unsigned_literal(n->integer.value);
	return own;
}

static const struct type *tuple_of(struct infer *in, const struct node *n)
{
	const struct type **types = arena_array(in->arena, const struct type *,
	                                        MAX(n->tuple.n, 1u));
	u32 i = 0;

	for (const struct node *e = n->tuple.items; e; e = e->next)
		types[i++] = infer_own(in, e);
	return type_retuple(in->arena, n->type, types);
}

static const struct type *part_of(struct infer *in, const struct node *n)
{
	const struct type *t = infer_own(in, n->tuple_at.e);

	return t->kind == TYPE_TUPLE ? t->fields[n->tuple_at.i].type : n->type;
}

/* c ? a : b of integers. */
static const struct type *branch_of(struct infer *in, const struct node *n)
{
	const struct node *yes = n->ternary.yes ? n->ternary.yes : n->ternary.cond;
	const struct node *no = n->ternary.no;
	const struct type *a, *b;

	if (!n->type || n->type->kind != TYPE_INT || !yes->type || !no->type)
		return NULL;
	a = infer_own(in, yes);
	b = infer_own(in, no);
	return infer_unify(in, own_beside(yes, a, b), own_beside(no, b, a));
}

const struct type *infer_own(struct infer *in, const struct node *n)
{
	const struct type *own = NULL;

	if (n->kind == NODE_INT && n->integer.is_bare)
		own = literal(n);
	else if (n->kind == NODE_STRING)
		own = type_str(in->arena, n->string.n + 1, true);
	else if (n->kind == NODE_VAR && n->var.sym)
		own = n->var.sym->own;
	else if (n->kind == NODE_MAP && n->map.sym && !type_is_agg(n->map.sym->value))
		own = n->map.sym->own;
	else if (n->kind == NODE_TUPLE && n->type && n->type->kind == TYPE_TUPLE)
		own = tuple_of(in, n);
	else if (n->kind == NODE_TUPLE_AT)
		own = part_of(in, n);
	else if (n->kind == NODE_TERNARY)
		own = branch_of(in, n);
	else if (n->kind == NODE_BLOCK && n->result)
		own = infer_own(in, n->result);
	return own ? own : n->type;
}

void infer_own_take(struct infer *in, const struct type **own, const struct node *value)
{
	const struct type *now = infer_own(in, value);

	infer_own_add(in, own, *own ? own_beside(value, now, *own) : now);
}

void infer_own_add(struct infer *in, const struct type **own, const struct type *now)
{
	const struct type *both = *own ? infer_unify(in, *own, now) : now;

	if (!both || (*own && type_eq(*own, both)))
		return;
	*own = both;
	in->changed = true;
}

static u32 alignment(struct infer *in, const struct type *t);

static u32 most_aligned(struct infer *in, const struct type *t)
{
	u32 most = 1;

	for (u32 i = 0; i < t->n_fields; i++)
		most = MAX(most, alignment(in, t->fields[i].type));
	return most;
}

/* As its members, which of the kernel's structs and a program's is all that is known. */
static u32 struct_alignment(struct infer *in, const struct type *t)
{
	u32 most = t->align ? t->align : most_aligned(in, infer_complete(in, t));

	return t->size % most ? 1 : most; /* packed */
}

static u32 alignment(struct infer *in, const struct type *t)
{
	switch (t->kind) {
	case TYPE_STR:
	case TYPE_BUF:
	case TYPE_INET:
	case TYPE_MAC:
		return 1;
	case TYPE_ARRAY:
		return alignment(in, t->elem);
	case TYPE_STRUCT:
		return struct_alignment(in, t);
	case TYPE_TUPLE:
		return most_aligned(in, t);
	default:
		return MIN(MAX(t->size, 1u), 8u);
	}
}

u32 infer_own_size(struct infer *in, const struct type *t)
{
	u32 size = 0;

	if (t->kind == TYPE_STR || t->kind == TYPE_BUF)
		return t->count;
	if (t->kind != TYPE_TUPLE)
		return t->size;
	for (u32 i = 0; i < t->n_fields; i++)
		size = ROUND_UP(size, alignment(in, t->fields[i].type)) +
		       infer_own_size(in, t->fields[i].type);
	return ROUND_UP(size, alignment(in, t));
}
