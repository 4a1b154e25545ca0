/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What number.h says of types, and the operators computed as the program would compute them. */
#include "lang/infer/number.h"

struct number number_plain(s64 value)
{
	return (struct number){ &type_s64, (u64)value, .is_known = true };
}

/* Takes the sign of what it meets. */
static bool is_free(const struct number *n)
{
	return n->is_known && !n->is_typed && (s64)n->value >= 0;
}

/* Brings its sign into the result. */
static bool has_sign(const struct number *n)
{
	return n->type->is_signed && !is_free(n);
}

/* An int64 holds all values of its type. */
static bool fits_signed(const struct number *n)
{
	return n->type->is_signed || n->type->size < 8 || is_free(n);
}

static bool may_be_negative(const struct number *n)
{
	return n->type->is_signed && (!n->is_known || (s64)n->value < 0);
}

/* What can not be negative is computed unsigned, which takes fewer instructions. */
bool number_is_signed(enum op op, const struct number *l, const struct number *r)
{
	if (op == OP_SHR)
		return may_be_negative(l);
	return fits_signed(l) && fits_signed(r) && (may_be_negative(l) || may_be_negative(r));
}

const struct type *number_type(enum op op, const struct number *l, const struct number *r)
{
	if (op_compares(op) || op == OP_LAND || op == OP_LOR)
		return &type_bool;
	if (op == OP_SUB)
		return &type_s64;
	if (op == OP_SHL || op == OP_SHR)
		return type_int(8, l->type->is_signed);
	if (is_free(l) && is_free(r))
		return type_int(8, l->type->is_signed && r->type->is_signed);
	return type_int(8, has_sign(l) || has_sign(r));
}

/* ---- values ---------------------------------------------------------------------------------- */

/* b is not 0. The one signed quotient that does not fit wraps. */
static u64 divide(u64 a, u64 b, bool modulo, bool is_signed)
{
	if (!is_signed)
		return modulo ? a % b : a / b;
	if ((s64)b == -1)
		return modulo ? 0 : 0 - a;
	return (u64)(modulo ? (s64)a % (s64)b : (s64)a / (s64)b);
}

static u64 shift_right(u64 a, u64 by, bool is_signed)
{
	return is_signed && (s64)a < 0 ? ~(~a >> by) : a >> by;
}

static bool less(u64 a, u64 b, bool is_signed)
{
	return is_signed ? (s64)a < (s64)b : a < b;
}

static u64 compute(enum op op, u64 a, u64 b, bool is_signed)
{
	switch (op) {
	case OP_ADD:
		return a + b;
	case OP_SUB:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_DIV:
	case OP_MOD:
		return divide(a, b, op == OP_MOD, is_signed);
	case OP_AND:
		return a & b;
	case OP_OR:
		return a | b;
	case OP_XOR:
		return a ^ b;
	case OP_SHL:
		return a << (b & 63);
	case OP_SHR:
		return shift_right(a, b & 63, is_signed);
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LT:
		return less(a, b, is_signed);
	case OP_LE:
		return !less(b, a, is_signed);
	case OP_GT:
		return less(b, a, is_signed);
	case OP_GE:
		return !less(a, b, is_signed);
	case OP_LAND:
		return a && b;
	default:
		return a || b;
	}
}

bool number_binary(enum op op, const struct number *l, const struct number *r,
                   struct number *result)
{
	if (op == OP_NONE || op > OP_LOR || ((op == OP_DIV || op == OP_MOD) && !r->value))
		return false;
	*result = (struct number){
		.type = number_type(op, l, r),
		.value = compute(op, l->value, r->value, number_is_signed(op, l, r)),
		.is_known = true,
		.is_typed = l->is_typed || r->is_typed,
	};
	return true;
}

bool number_unary(enum op op, const struct number *e, struct number *result)
{
	*result = (struct number){ &type_s64, 0 - e->value, true, e->is_typed };
	if (op == OP_NOT)
		*result = (struct number){ &type_bool, !e->value, true, e->is_typed };
	else if (op == OP_COMPL)
		*result = (struct number){ &type_u64, ~e->value, true, true };
	return op == OP_NEG || op == OP_NOT || op == OP_COMPL;
}

u64 number_cut(u64 value, const struct type *type)
{
	u32 shift = 64 - type->size * 8;

	if (type->kind == TYPE_BOOL)
		return value != 0;
	return type->is_signed ? (u64)((s64)(value << shift) >> shift) : value << shift >> shift;
}
