/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Integer constants computed before the program runs, by the rules the program itself would
 * follow: 64 bits, wrapping, C's division. Division by zero is left alone, it has its own
 * meaning at run time.
 */
#include "lang/infer/infer.h"

struct operands {
	u64 a, b;
	bool is_signed; /* either can be negative */
	bool left_signed;
};

static bool may_be_negative(const struct node *n)
{
	return n->type->is_signed && (s64)n->integer.value < 0;
}

static bool divide(const struct operands *o, bool modulo, u64 *r)
{
	s64 a = (s64)o->a, b = (s64)o->b;

	if (o->b == 0)
		return false;
	if (!o->is_signed)
		*r = modulo ? o->a % o->b : o->a / o->b;
	else if (b == -1)
		*r = modulo ? 0 : 0 - o->a;
	else
		*r = (u64)(modulo ? a % b : a / b);
	return true;
}

static bool less(const struct operands *o, bool or_equal)
{
	if (o->a == o->b)
		return or_equal;
	return o->is_signed ? (s64)o->a < (s64)o->b : o->a < o->b;
}

/* Shifts count modulo 64, as the machine's do. */
static u64 shift(const struct operands *o, enum op op)
{
	u64 by = o->b & 63;

	if (op == OP_SHL)
		return o->a << by;
	if (o->left_signed && (s64)o->a < 0)
		return ~(~o->a >> by);
	return o->a >> by;
}

static bool compute(enum op op, const struct operands *o, u64 *r)
{
	switch (op) {
	case OP_ADD:
		*r = o->a + o->b;
		return true;
	case OP_SUB:
		*r = o->a - o->b;
		return true;
	case OP_MUL:
		*r = o->a * o->b;
		return true;
	case OP_DIV:
	case OP_MOD:
		return divide(o, op == OP_MOD, r);
	case OP_AND:
		*r = o->a & o->b;
		return true;
	case OP_OR:
		*r = o->a | o->b;
		return true;
	case OP_XOR:
		*r = o->a ^ o->b;
		return true;
	case OP_SHL:
	case OP_SHR:
		*r = shift(o, op);
		return true;
	case OP_EQ:
	case OP_NE:
		*r = (o->a == o->b) == (op == OP_EQ);
		return true;
	case OP_LT:
	case OP_LE:
		*r = less(o, op == OP_LE);
		return true;
	case OP_GT:
	case OP_GE:
		*r = !less(o, op == OP_GT);
		return true;
	case OP_LAND:
		*r = o->a && o->b;
		return true;
	case OP_LOR:
		*r = o->a || o->b;
		return true;
	default:
		return false;
	}
}

static bool fold_binary(struct node *n, u64 *r)
{
	const struct node *left = n->binary.left, *right = n->binary.right;
	struct operands o;

	if (left->kind != NODE_INT || right->kind != NODE_INT)
		return false;
	if (left->type->kind == TYPE_PTR || right->type->kind == TYPE_PTR)
		return false;
	o = (struct operands){ left->integer.value, right->integer.value,
		               may_be_negative(left) || may_be_negative(right),
		               left->type->is_signed };
	return compute(n->binary.op, &o, r);
}

static bool fold_unary(struct node *n, u64 *r)
{
	const struct node *e = n->unary.e;

	if (e->kind != NODE_INT || e->type->kind == TYPE_PTR)
		return false;
	switch (n->unary.op) {
	case OP_NEG:
		*r = 0 - e->integer.value;
		return true;
	case OP_NOT:
		*r = !e->integer.value;
		return true;
	case OP_COMPL:
		*r = ~e->integer.value;
		return true;
	default:
		return false;
	}
}

/* What was decided before the script runs stays so through !, && and ||. */
static bool is_answer(const struct node *n)
{
	if (n->kind == NODE_UNARY)
		return n->unary.e->kind == NODE_INT && n->unary.e->integer.is_answer;
	return (n->binary.left->kind == NODE_INT && n->binary.left->integer.is_answer) ||
	       (n->binary.right->kind == NODE_INT && n->binary.right->integer.is_answer);
}

/* Numbers as written make one: sizeof(-1) is sizeof(int8). */
static bool is_bare(const struct node *n)
{
	if (n->kind == NODE_UNARY)
		return n->unary.e->integer.is_bare;
	return n->binary.left->integer.is_bare && n->binary.right->integer.is_bare;
}

bool fold(struct node *n)
{
	bool answer, bare;
	u64 r;

	if (!n->type || (n->type->kind != TYPE_INT && n->type->kind != TYPE_BOOL))
		return false;
	if (!(n->kind == NODE_BINARY ? fold_binary(n, &r)
	                             : n->kind == NODE_UNARY && fold_unary(n, &r)))
		return false;
	answer = is_answer(n);
	bare = n->type->kind == TYPE_INT && is_bare(n);
	infer_set_int(n, r, n->type);
	n->integer.is_bare = bare;
	n->integer.is_answer = answer;
	return true;
}
