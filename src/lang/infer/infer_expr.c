/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Expressions and operators. What operators make of integers is said in number.h.
 */
#include "lang/infer/infer.h"

#include <string.h>

static bool is_number(const struct type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_BOOL;
}

/* Bytes of a value; max_strlen is at most as much. Tuples of tuples double with each. */
#define VALUE_MAX   65536u
#define LITERAL_MAX 32000u /* has to be put into a program's memory, see gen/frame.c */

const struct type *infer_set_int(struct node *n, u64 value, const struct type *type)
{
	n->kind = NODE_INT;
	n->integer.value = value;
	n->integer.is_unsigned = !type->is_signed;
	n->integer.is_bare = false;
	n->integer.is_typed = false;
	n->integer.is_answer = false;
	n->type = type;
	return type;
}

/* A text longer than max_strlen allows is whole where it stands, and cut where it is kept. */
static const struct type *literal(struct infer *in, const struct node *n)
{
	if (n->string.n >= in->config->max_strlen)
		return type_str(in->arena, n->string.n + 2, false);
	return type_str(in->arena, n->string.n + 1, true);
}

const struct type *infer_set_string(struct infer *in, struct node *n, const char *text)
{
	n->kind = NODE_STRING;
	n->string = str_of(text);
	n->type = literal(in, n);
	return n->type;
}

bool infer_is_user(const struct infer *in)
{
	return attach_kind_is_user(in->variant->kind);
}

enum space infer_space(const struct infer *in)
{
	return infer_is_user(in) ? SPACE_USER : SPACE_NONE;
}

/* Puts a cast to uint64 or, with 1 for `pointers`, uint64 * around n, in place. */
static void wrap_cast(struct infer *in, struct node *n, const struct type *type, u32 pointers)
{
	struct node *inner = arena_new(in->arena, struct node);

	*inner = *n;
	inner->next = NULL;
	n->kind = NODE_CAST;
	n->type = type;
	n->cast.e = inner;
	n->cast.to = (struct type_name){
		.text = STR("uint64"), .pointers = pointers, .array = -1, .loc = n->loc
	};
}

/* ---- operators ------------------------------------------------------------------------------ */

static const struct type *misfit(struct infer *in, const struct node *n)
{
	return infer_error(in, n->loc, "Operator '%s' can not be applied to '%s' and '%s'",
	                   op_text(n->binary.op), type_name(in->arena, n->binary.left->type),
	                   type_name(in->arena, n->binary.right->type));
}

static const struct type *sum_of_pointers(const struct node *n)
{
	const struct type *l = n->binary.left->type, *r = n->binary.right->type;

	if (l->kind == TYPE_PTR && r->kind == TYPE_PTR)
		return n->binary.op == OP_SUB ? &type_s64 : NULL;
	if (l->kind == TYPE_PTR)
		return l;
	return n->binary.op == OP_ADD ? r : NULL;
}

static const struct type *arithmetic(struct infer *in, struct node *n)
{
	struct node *left = n->binary.left, *right = n->binary.right;
	bool pointers = left->type->kind == TYPE_PTR || right->type->kind == TYPE_PTR;
	struct number l, r;
	const struct type *t;

	if ((!is_number(left->type) && left->type->kind != TYPE_PTR) ||
	    (!is_number(right->type) && right->type->kind != TYPE_PTR))
		return misfit(in, n);
	if (pointers && (n->binary.op == OP_ADD || n->binary.op == OP_SUB)) {
		t = sum_of_pointers(n);
		return t ? t : misfit(in, n);
	}
	/* Masks and shifts of addresses: plain numbers. */
	if (left->type->kind == TYPE_PTR)
		wrap_cast(in, left, &type_u64, 0);
	if (right->type->kind == TYPE_PTR)
		wrap_cast(in, right, &type_u64, 0);
	l = infer_number(in, left);
	r = infer_number(in, right);
	return number_type(n->binary.op, &l, &r);
}

/* Tuples can be compared when each pair of parts can be kept in one type. */
static const struct type *tuple_comparison(struct infer *in, const struct node *n)
{
	const struct type *l = n->binary.left->type, *r = n->binary.right->type;

	if (n->binary.op != OP_EQ && n->binary.op != OP_NE)
		return infer_error(in, n->loc, "tuples can be compared with == and != only");
	if (type_is_record(l) != type_is_record(r))
		return infer_error(in, n->loc, "Type mismatch for '%s': comparing a %s with a %s",
		                   op_text(n->binary.op), type_is_record(l) ? "record" : "tuple",
		                   type_is_record(r) ? "record" : "tuple");
	if (l->n_fields != r->n_fields)
		return infer_error(in, n->loc,
		                   "Type mismatch for '%s': comparing a tuple of %u with one of %u",
		                   op_text(n->binary.op), l->n_fields, r->n_fields);
	for (u32 i = 0; i < l->n_fields; i++) {
		const struct type *a = l->fields[i].type, *b;
		u32 k = type_part(r, l, i);

		if (k == r->n_fields)
			return infer_error(in, n->loc,
			                   "Type mismatch for '%s': '%s' on the left is not on the "
			                   "right",
			                   op_text(n->binary.op), l->fields[i].name);
		b = r->fields[k].type;
		if (!infer_unify(in, a, b))
			return infer_error(in, n->loc,
			                   "Type mismatch for '%s': part %u is '%s' on the left "
			                   "and '%s' on the right",
			                   op_text(n->binary.op), i, type_name(in->arena, a),
			                   type_name(in->arena, b));
	}
	return &type_bool;
}

static void add_note(struct infer *in, const char *note)
{
	for (u32 i = 0; i < in->script->notes.n; i++)
		if (strcmp(in->script->notes.v[i], note) == 0)
			return;
	vec_add(in->arena, &in->script->notes, note);
}

/* bpftrace's str(p, n) keeps n - 1 bytes, and people compare it with a text of so many. */
static void note_length(struct infer *in, const struct node *call, const struct node *text)
{
	const struct source *s = in->diags->source;
	u32 line, column;

	if (call->kind != NODE_CALL || !call->call.f || call->call.f->id != FUNC_STR ||
	    call->call.n_args != 2 || call->call.args->next->kind != NODE_INT ||
	    text->kind != NODE_STRING || !text->string.n ||
	    call->call.args->next->integer.value != text->string.n + 1u)
		return;
	source_line(s, call->loc.off, &line, &column);
	add_note(in, arena_printf(in->arena,
	                          "%s:%u: str(..., %u) keeps %u bytes and is compared with %u: "
	                          "bpftrace keeps one less, as str(..., %u) does",
	                          source_name(s, call->loc.off), line, text->string.n + 1,
	                          text->string.n + 1, text->string.n, text->string.n));
}

static const struct type *comparison(struct infer *in, struct node *n)
{
	const struct type *l = n->binary.left->type, *r = n->binary.right->type;
	bool equality = n->binary.op == OP_EQ || n->binary.op == OP_NE;

	if (type_is_scalar(l) && type_is_scalar(r))
		return &type_bool;
	if (l->kind == TYPE_STR && r->kind == TYPE_STR) {
		note_length(in, n->binary.left, n->binary.right);
		note_length(in, n->binary.right, n->binary.left);
		if (equality)
			return &type_bool;
		return infer_error(in, n->loc, "strings can be compared with == and != only");
	}
	if (l->kind == TYPE_TUPLE && r->kind == TYPE_TUPLE)
		return tuple_comparison(in, n);
	if (l->kind == TYPE_ARRAY && r->kind == TYPE_ARRAY && type_is_scalar(l->elem) &&
	    type_eq(l, r)) {
		if (equality)
			return &type_bool;
		return infer_error(in, n->loc, "arrays can be compared with == and != only");
	}
	if (l->kind == r->kind && type_has(l, VALUE_COMPARED) && equality)
		return &type_bool;
	if (type_eq(l, r))
		return infer_error(in, n->loc, "values of type '%s' can not be compared",
		                   type_name(in->arena, l));
	infer_error(in, n->loc, "Type mismatch for '%s': comparing '%s' with '%s'",
	            op_text(n->binary.op), type_name(in->arena, l), type_name(in->arena, r));
	if ((l->kind == TYPE_STR && (r->kind == TYPE_PTR || is_number(r))) ||
	    (r->kind == TYPE_STR && (l->kind == TYPE_PTR || is_number(l))))
		infer_hint(in, "str() reads the string a pointer points to");
	return NULL;
}

static void warn_zero(struct infer *in, const struct node *n)
{
	const struct node *right = n->binary.right;

	if ((n->binary.op == OP_DIV || n->binary.op == OP_MOD) && right->kind == NODE_INT &&
	    right->integer.value == 0)
		infer_warn(in, n->loc, "division by 0: the result will be 1");
}

/* Two strings that are both known, as in `probetype == "interval"`. */
static bool fold_strings(struct node *n)
{
	const struct node *l = n->binary.left, *r = n->binary.right;
	bool same;

	if (l->kind != NODE_STRING || r->kind != NODE_STRING ||
	    (n->binary.op != OP_EQ && n->binary.op != OP_NE))
		return false;
	same = l->string.n == r->string.n && memcmp(l->string.p, r->string.p, l->string.n) == 0;
	infer_set_int(n, same == (n->binary.op == OP_EQ), &type_bool);
	return true;
}

/* && and ||. What an answer on the left rules out is not looked at, as with branches. */
static const struct type *logical(struct infer *in, struct node *n)
{
	const struct node *left = n->binary.left;
	bool is_or = n->binary.op == OP_LOR;

	infer_condition(in, n->binary.left, "an operand of a logical operator");
	if (left->kind == NODE_INT && left->integer.is_answer && !left->integer.value != is_or)
		return infer_set_answer(n, is_or);
	infer_condition(in, n->binary.right, "an operand of a logical operator");
	n->type = &type_bool;
	if (left->type && n->binary.right->type)
		fold(in, n);
	return n->type;
}

static const struct type *binary(struct infer *in, struct node *n)
{
	enum op op = n->binary.op;
	const struct type *l, *r;
	struct number left, right;

	if (op == OP_LAND || op == OP_LOR)
		return logical(in, n);
	l = infer_value(in, n->binary.left);
	r = infer_value(in, n->binary.right);
	if (op_compares(op))
		n->type = l && r ? comparison(in, n) : &type_bool;
	else
		n->type = l && r ? arithmetic(in, n) : op == OP_SUB ? &type_s64 : NULL;
	if (!l || !r)
		return n->type;
	warn_zero(in, n);
	left = infer_number(in, n->binary.left);
	right = infer_number(in, n->binary.right);
	n->binary.is_signed = number_is_signed(op, &left, &right);
	if (!fold_strings(n))
		fold(in, n);
	return n->type;
}

static const struct type *step(struct infer *in, struct node *n)
{
	struct node *e = n->unary.e;
	const struct type *t;

	if (e->kind != NODE_MAP && e->kind != NODE_VAR)
		return infer_error(in, n->loc, "'%s' works on maps and variables only",
		                   op_text(n->unary.op));
	if (e->kind == NODE_MAP) {
		t = infer_map_read(in, e, true);
		if (t && type_is_agg(t))
			return infer_error(in, n->loc, "%s holds %s: '%s' can not change it",
			                   e->map.sym->name, type_name(in->arena, t),
			                   op_text(n->unary.op));
		if (!t || is_number(t))
			infer_map_assign(in, e, NULL, t ? infer_widen(t) : &type_s64, n->loc);
		else
			infer_map_find(in, e)->assigned = true;
		t = e->type;
	} else {
		t = infer_expr(in, e);
		if (t && e->var.sym->own)
			infer_own_add(in, &e->var.sym->own, infer_widen(t));
	}
	if (t && type_is_agg(t))
		return NULL; /* the key was wrong, which is reported */
	if (t && !is_number(t) && t->kind != TYPE_PTR)
		return infer_error(in, n->loc, "Operator '%s' can not be applied to '%s'",
		                   op_text(n->unary.op), type_name(in->arena, t));
	return t;
}

/* &$v, &@m, &@m[k]: where the value rests. */
static const struct type *address_of(struct infer *in, struct node *n)
{
	struct node *e = n->unary.e;
	const struct type *t;

	if (e->kind != NODE_VAR && e->kind != NODE_MAP)
		return infer_error(in, n->loc, "'&' gives the address of a variable or map only");
	t = e->kind == NODE_MAP ? infer_map_read(in, e, true) : infer_expr(in, e);
	if (!t)
		return NULL;
	if (type_is_agg(t))
		return infer_error(in, n->loc, "%s holds %s: it has no address", e->map.sym->name,
		                   type_name(in->arena, t));
	return type_ptr(in->arena, t, e->kind == NODE_MAP ? SPACE_KERNEL : SPACE_OWN);
}

/* *&$v is $v */
static const struct type *take_operand(struct node *n)
{
	const struct node *e = n->unary.e->unary.e;
	struct node *next = n->next;

	*n = *e;
	n->next = next;
	return n->type;
}

static const struct type *deref(struct infer *in, struct node *n)
{
	const struct type *t;

	infer_result_use(in, n->unary.e);
	t = infer_value(in, n->unary.e);
	if (!t)
		return NULL;
	if (n->unary.e->kind == NODE_UNARY && n->unary.e->unary.op == OP_ADDR)
		return take_operand(n);
	if (t->kind == TYPE_INT) { /* an address without a type: a word */
		t = type_ptr(in->arena, &type_u64, infer_space(in));
		wrap_cast(in, n->unary.e, t, 1);
	}
	if (t->kind != TYPE_PTR)
		return infer_error(in, n->loc, "'%s' is not a pointer", type_name(in->arena, t));
	if (t->elem->kind == TYPE_NONE) {
		infer_error(in, n->loc, "a void pointer has no type to read");
		infer_hint(in, "cast it first: *(uint64 *)...");
		return NULL;
	}
	return t->elem;
}

static const struct type *unary(struct infer *in, struct node *n)
{
	const struct type *t;

	switch (n->unary.op) {
	case OP_DEREF:
		return deref(in, n);
	case OP_ADDR:
		return address_of(in, n);
	case OP_COMPTIME:
		return infer_comptime(in, n);
	case OP_PREINC:
	case OP_PREDEC:
	case OP_POSTINC:
	case OP_POSTDEC:
		return step(in, n);
	case OP_NOT:
		infer_condition(in, n->unary.e, "the operand of '!'");
		n->type = &type_bool;
		if (n->unary.e->type)
			fold(in, n);
		return n->type;
	default:
		break;
	}
	t = infer_value(in, n->unary.e);
	if (!t)
		return NULL;
	if (!is_number(t))
		return infer_error(in, n->loc, "Operator '%s' can not be applied to '%s'",
		                   op_text(n->unary.op), type_name(in->arena, t));
	n->type = n->unary.op == OP_NEG ? &type_s64 : &type_u64;
	fold(in, n);
	return n->type;
}

/* A condition that comptime or is_...() decided: the branch that is left takes n's place. */
static const struct type *decided(struct infer *in, struct node *n)
{
	const struct node *cond = n->ternary.cond;
	struct node *live = n->ternary.no, *next = n->next;

	if (cond->kind != NODE_INT)
		return NULL; /* not known yet, or reported */
	if (cond->integer.value && n->ternary.yes)
		live = n->ternary.yes;
	else if (cond->integer.value)
		live = n->ternary.cond;
	*n = *live;
	n->next = next;
	return infer_expr(in, n);
}

/* A branch of a condition that may be a constant: `when` is what takes it. */
static const struct type *branch(struct infer *in, struct node *n, const struct node *cond,
                                 bool when)
{
	bool dead = cond->kind == NODE_INT && !cond->integer.value == when;
	const struct type *t;

	in->dead += dead;
	t = infer_expr(in, n);
	in->dead -= dead;
	return t;
}

/* A branch of `if`, not of `?:`, without a value. The other one may have become a constant. */
static bool has_no_value(const struct node *n, const struct type *t)
{
	return t->kind == TYPE_NONE && (n->kind == NODE_BLOCK || n->kind == NODE_TERNARY);
}

static const struct type *ternary(struct infer *in, struct node *n)
{
	struct node *yes = n->ternary.yes ? n->ternary.yes : n->ternary.cond;
	const struct type *a, *b, *both;

	infer_condition(in, n->ternary.cond, "a condition");
	if (infer_is_comptime(n->ternary.cond))
		return decided(in, n);
	a = n->ternary.yes ? branch(in, yes, n->ternary.cond, true) : yes->type;
	b = branch(in, n->ternary.no, n->ternary.cond, false);
	if (!a || !b)
		return a ? a : b;
	if (a->kind == TYPE_NONE && b->kind == TYPE_NONE)
		return &type_none;
	if (has_no_value(yes, a) || has_no_value(n->ternary.no, b))
		return &type_none;
	if (yes->kind == NODE_INT && n->ternary.no->kind != NODE_INT)
		both = infer_unify_node(in, b, yes);
	else
		both = infer_unify_node(in, a, n->ternary.no);
	if (!both)
		return infer_error(in, n->loc,
		                   "the branches of '?:' have different types: '%s' and '%s'",
		                   type_name(in->arena, a), type_name(in->arena, b));
	return infer_widen(both);
}

/* ---- parts of values ------------------------------------------------------------------------ */

static const struct type *tuple(struct infer *in, struct node *n)
{
	const struct type **types = arena_array(in->arena, const struct type *,
	                                        MAX(n->tuple.n, 1u));
	const char **names = NULL;
	bool known = true;
	u32 i = 0;

	if (n->tuple.names)
		names = arena_array(in->arena, const char *, n->tuple.n);
	for (struct node *e = n->tuple.items; e; e = e->next, i++) {
		types[i] = infer_storable(in, e);
		known &= types[i] != NULL;
		if (types[i])
			types[i] = infer_widen(types[i]);
		if (names)
			names[i] = infer_text(in, n->tuple.names[i]);
	}
	return known ? type_record(in->arena, types, names, i) : NULL;
}

const struct type *infer_pointed(struct infer *in, struct node *n)
{
	struct node *inner;

	if (n->type->kind != TYPE_PTR || n->type->elem->kind != TYPE_TUPLE)
		return n->type;
	inner = arena_new(in->arena, struct node);
	*inner = *n;
	inner->next = NULL;
	n->kind = NODE_UNARY;
	n->unary.op = OP_DEREF;
	n->unary.e = inner;
	n->type = inner->type->elem;
	return n->type;
}

static const struct type *tuple_at(struct infer *in, struct node *n)
{
	const struct type *t = infer_value(in, n->tuple_at.e);

	if (!t)
		return NULL;
	t = infer_pointed(in, n->tuple_at.e);
	if (t->kind != TYPE_TUPLE)
		return infer_error(in, n->loc, "'%s' is not a tuple", type_name(in->arena, t));
	if (n->tuple_at.i >= t->n_fields)
		return infer_error(in, n->loc, "'%s' has no part %u: it has %u",
		                   type_name(in->arena, t), n->tuple_at.i, t->n_fields);
	return t->fields[n->tuple_at.i].type;
}

/* t[1] is t.1 */
static const struct type *tuple_index(struct infer *in, struct node *n)
{
	struct node *e = n->index.e, *i = n->index.i;

	if (i->kind != NODE_INT)
		return infer_error(in, i->loc, "the index of a tuple must be a constant");
	if (i->integer.value >= e->type->n_fields)
		return infer_error(in, i->loc, "'%s' has no part %lld: it has %u",
		                   type_name(in->arena, e->type), (long long)i->integer.value,
		                   e->type->n_fields);
	n->kind = NODE_TUPLE_AT;
	n->tuple_at.i = (u32)i->integer.value;
	n->tuple_at.e = e;
	return e->type->fields[n->tuple_at.i].type;
}

static const struct type *in_bounds(struct infer *in, const struct node *n, u32 count,
                                    const struct type *elem)
{
	const struct node *i = n->index.i;

	if (count && i->kind == NODE_INT && i->integer.value >= count)
		return infer_error(in, i->loc, "index %lld is out of bounds: '%s' has %u elements",
		                   (long long)i->integer.value,
		                   type_name(in->arena, n->index.e->type), count);
	return elem;
}

static const struct type *element(struct infer *in, struct node *n)
{
	const struct type *t;

	infer_result_use(in, n->index.e);
	t = infer_value(in, n->index.e);
	if (!infer_integer(in, n->index.i, "an index") || !t)
		return NULL;
	switch (t->kind) {
	case TYPE_TUPLE:
		return tuple_index(in, n);
	case TYPE_ARRAY:
		return in_bounds(in, n, t->count, t->elem);
	case TYPE_STR:
		return in_bounds(in, n, t->count ? t->count : t->size, &type_s8);
	case TYPE_PTR:
		if (t->elem->kind != TYPE_NONE)
			return t->elem;
		return infer_error(in, n->loc, "a void pointer has no elements: cast it first");
	default:
		return infer_error(in, n->loc, "'%s' has no elements", type_name(in->arena, t));
	}
}

/* A block, mostly of a macro, that is no more than a constant is that constant. */
static const struct type *block_value(struct infer *in, struct node *n)
{
	const struct type *t = infer_block_value(in, n);
	const struct node *result = n->result;
	struct node *next = n->next;

	if (!t || n->stmts || !result || (result->kind != NODE_INT && result->kind != NODE_STRING))
		return t;
	*n = *result;
	n->next = next;
	return t;
}

/* ---- dispatch ------------------------------------------------------------------------------- */

static const struct type *integer(struct node *n)
{
	if (n->type)
		return n->type;
	return n->integer.is_unsigned || n->integer.value > INT64_MAX ? &type_u64 : &type_s64;
}

static const struct type *rule(struct infer *in, struct node *n)
{
	switch (n->kind) {
	case NODE_INT:
		return integer(n);
	case NODE_STRING:
		return literal(in, n);
	case NODE_IDENT:
		return infer_ident(in, n);
	case NODE_BUILTIN:
		return infer_builtin(in, n);
	case NODE_CALL:
		return infer_call(in, n);
	case NODE_PARAM:
		return infer_param(in, n);
	case NODE_PARAM_COUNT:
		return infer_set_int(n, in->script->request.n_params, &type_s64);
	case NODE_MAP:
		return infer_map_read(in, n, false);
	case NODE_VAR:
		return infer_var(in, n);
	case NODE_UNARY:
		return unary(in, n);
	case NODE_BINARY:
		return binary(in, n);
	case NODE_TERNARY:
		return ternary(in, n);
	case NODE_FIELD:
		return infer_field(in, n);
	case NODE_TUPLE_AT:
		return tuple_at(in, n);
	case NODE_INDEX:
		return element(in, n);
	case NODE_CAST:
		return infer_cast(in, n);
	case NODE_SIZEOF:
		return infer_sizeof(in, n);
	case NODE_OFFSETOF:
		return infer_offsetof(in, n);
	case NODE_TYPEINFO:
		return infer_typeinfo(in, n);
	case NODE_TUPLE:
		return tuple(in, n);
	case NODE_BLOCK:
		return block_value(in, n);
	default:
		return infer_error(in, n->loc, "a statement has no value");
	}
}

const struct type *infer_expr(struct infer *in, struct node *n)
{
	n->type = rule(in, n);
	return n->type;
}

const struct type *infer_value(struct infer *in, struct node *n)
{
	const struct type *t = infer_expr(in, n);

	if (!t)
		return NULL;
	if (t->kind == TYPE_NONE && n->kind == NODE_CALL)
		return infer_error(in, n->loc, "%.*s() returns nothing that could be used",
		                   STR_ARG(n->call.name));
	if (t->kind == TYPE_NONE)
		return infer_error(in, n->loc, "this has no value");
	if (t->kind == TYPE_ARGS)
		return infer_args_value(in, n);
	return t;
}

const struct type *infer_storable(struct infer *in, struct node *n)
{
	const struct type *t = infer_value(in, n);
	u32 most;

	if (t && (t->kind == TYPE_STRUCT || t->kind == TYPE_ARRAY)) {
		if (!t->size)
			return infer_error(in, n->loc,
			                   "'%s' has no known size: it can not be "
			                   "stored or printed",
			                   type_name(in->arena, t));
		t = n->type = infer_complete(in, t);
	}
	most = n->kind == NODE_STRING ? LITERAL_MAX : VALUE_MAX;
	if (t && t->size > most)
		return infer_error(in, n->loc,
		                   "a value of %u bytes, where programs have room for %u", t->size,
		                   most);
	return t;
}

const struct type *infer_integer(struct infer *in, struct node *n, const char *what)
{
	const struct type *t = infer_value(in, n);

	if (t && !is_number(t))
		return infer_error(in, n->loc, "%s must be an integer, not '%s'", what,
		                   type_name(in->arena, t));
	return t;
}

const struct type *infer_integer_arg(struct infer *in, struct node *n, const char *function)
{
	const struct type *t = infer_value(in, n);

	if (t && !is_number(t))
		return infer_error(in, n->loc, "an argument of %s() must be an integer, not '%s'",
		                   function, type_name(in->arena, t));
	return t;
}
