/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operators of constants, computed before the program runs and put in their place in the tree. What
 * they compute is the matter of number.c; here is what a node says of itself.
 */
#include "lang/infer/infer.h"

/* A variable or map rests at 64 bits: what it was given says whether an int64 holds it all. */
static const struct type *operand_type(struct infer *in, const struct node *n)
{
	const struct type *own = infer_own(in, n);

	if (own->kind == TYPE_INT && n->type->kind == TYPE_INT && !own->is_signed &&
	    !n->type->is_signed)
		return own;
	return n->type;
}

struct number infer_number(struct infer *in, const struct node *n)
{
	struct number number = { .type = n->type };

	if (n->kind != NODE_INT) {
		number.type = operand_type(in, n);
		return number;
	}
	number.value = n->integer.value;
	number.is_known = true;
	number.is_typed = n->integer.is_typed;
	return number;
}

const struct type *infer_set_number(struct node *n, const struct number *number)
{
	infer_set_int(n, number->value, number->type);
	n->integer.is_typed = number->is_typed;
	return n->type;
}

static bool is_constant(const struct node *n)
{
	return n->kind == NODE_INT && n->type->kind != TYPE_PTR;
}

static bool compute(struct infer *in, const struct node *n, struct number *r)
{
	struct number left, right;

	if (n->kind == NODE_UNARY) {
		left = infer_number(in, n->unary.e);
		return is_constant(n->unary.e) && number_unary(n->unary.op, &left, r);
	}
	if (n->kind != NODE_BINARY || !is_constant(n->binary.left) || !is_constant(n->binary.right))
		return false;
	left = infer_number(in, n->binary.left);
	right = infer_number(in, n->binary.right);
	return number_binary(n->binary.op, &left, &right, r);
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

bool fold(struct infer *in, struct node *n)
{
	struct number r;
	bool answer, bare;

	if (!n->type || (n->type->kind != TYPE_INT && n->type->kind != TYPE_BOOL))
		return false;
	if (!compute(in, n, &r))
		return false;
	answer = is_answer(n);
	bare = n->type->kind == TYPE_INT && is_bare(n);
	infer_set_number(n, &r);
	n->integer.is_bare = bare;
	n->integer.is_answer = answer;
	return true;
}
