/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules of integers, in one place. Types follow them (infer_expr.c), constants are computed by
 * them (fold.c, infer_cexpr.c), and gen/ emits what infer found by them: binary.is_signed and
 * assign.is_signed of struct node.
 *
 * Every operator works on 64 bits.
 *
 *  - The operands of / % < <= > >= are signed when an int64 holds all values of both types and one
 *    of them can be negative. A uint64 on either side makes them unsigned, as in C. >> keeps the
 *    sign of a signed left operand and counts modulo 64, as << does.
 *  - The result is int64 when the type of an operand is signed, else uint64; a difference and -x
 *    are always int64, ~x is always uint64; << and >> have the sign of their left operand.
 *    Comparisons and logic give bool.
 *  - A number of which the script does not say the type (a literal, an enumerator, sizeof) takes
 *    the sign of what it meets, unless it is negative.
 *  - x / 0 and x % 0 are left to the program, which counts them.
 */
#ifndef LANG_INFER_NUMBER_H
#define LANG_INFER_NUMBER_H

#include "lang/parse/op.h"
#include "unit/type.h"

/* An operand, or the result of an operator. */
struct number {
	const struct type *type;
	u64 value;     /* extended to 64 bits by its type; when is_known */
	bool is_known; /* while the script is compiled */
	/* the script says the type: by a cast, a suffix, or an operand that has one */
	bool is_typed;
};

/* A number that the script writes without a type. */
struct number number_plain(s64 value);
/* How op reads its operands. */
bool number_is_signed(enum op op, const struct number *l, const struct number *r);
/* The type of `l op r`, of integers or bools. */
const struct type *number_type(enum op op, const struct number *l, const struct number *r);
/* `l op r` of known integers or bools. False: it is not known before the program runs. */
bool number_binary(enum op op, const struct number *l, const struct number *r,
                   struct number *result);
/* - ! ~ of a known integer or bool; false for other operators. */
bool number_unary(enum op op, const struct number *e, struct number *result);
/* What a cast to an integer type or bool makes of a value. */
u64 number_cut(u64 value, const struct type *type);

#endif
