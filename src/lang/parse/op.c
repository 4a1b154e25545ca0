/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of operators. */
#include "lang/parse/op.h"

static const struct {
	const char *text;
	u32 precedence; /* of a binary one, from 1 */
	enum token_kind binary, assign, prefix;
} rows[] = {
	[OP_NONE] = { "", .assign = TOKEN_SET },
	[OP_ADD] = { "+", 9, TOKEN_ADD, TOKEN_ADD_SET },
	[OP_SUB] = { "-", 9, TOKEN_SUB, TOKEN_SUB_SET },
	[OP_MUL] = { "*", 10, TOKEN_MUL, TOKEN_MUL_SET },
	[OP_DIV] = { "/", 10, TOKEN_DIV, TOKEN_DIV_SET },
	[OP_MOD] = { "%", 10, TOKEN_MOD, TOKEN_MOD_SET },
	[OP_AND] = { "&", 5, TOKEN_AND, TOKEN_AND_SET },
	[OP_OR] = { "|", 3, TOKEN_OR, TOKEN_OR_SET },
	[OP_XOR] = { "^", 4, TOKEN_XOR, TOKEN_XOR_SET },
	[OP_SHL] = { "<<", 8, TOKEN_SHL, TOKEN_SHL_SET },
	[OP_SHR] = { ">>", 8, TOKEN_SHR, TOKEN_SHR_SET },
	[OP_EQ] = { "==", 6, TOKEN_EQ },
	[OP_NE] = { "!=", 6, TOKEN_NE },
	[OP_LT] = { "<", 7, TOKEN_LT },
	[OP_LE] = { "<=", 7, TOKEN_LE },
	[OP_GT] = { ">", 7, TOKEN_GT },
	[OP_GE] = { ">=", 7, TOKEN_GE },
	[OP_LAND] = { "&&", 2, TOKEN_LAND },
	[OP_LOR] = { "||", 1, TOKEN_LOR },
	[OP_NEG] = { "-", .prefix = TOKEN_SUB },
	[OP_NOT] = { "!", .prefix = TOKEN_NOT },
	[OP_COMPL] = { "~", .prefix = TOKEN_COMPL },
	[OP_DEREF] = { "*", .prefix = TOKEN_MUL },
	[OP_ADDR] = { "&", .prefix = TOKEN_AND },
	[OP_COMPTIME] = { "comptime" },
	[OP_PREINC] = { "++", .prefix = TOKEN_INC },
	[OP_PREDEC] = { "--", .prefix = TOKEN_DEC },
	[OP_POSTINC] = { "++" },
	[OP_POSTDEC] = { "--" },
};

const char *op_text(enum op op)
{
	return rows[op].text;
}

enum op op_binary(enum token_kind kind, u32 *precedence)
{
	for (u32 op = OP_ADD; op <= OP_LOR; op++)
		if (rows[op].binary == kind) {
			*precedence = rows[op].precedence;
			return op;
		}
	return OP_NONE;
}

enum op op_prefix(enum token_kind kind)
{
	for (u32 op = OP_NEG; op < ARRAY_SIZE(rows); op++)
		if (rows[op].prefix == kind && kind != TOKEN_END)
			return op;
	return OP_NONE;
}

bool op_assigns(enum token_kind kind, enum op *op)
{
	for (u32 i = OP_NONE; i <= OP_SHR; i++)
		if (rows[i].assign == kind) {
			*op = i;
			return true;
		}
	return false;
}

bool op_compares(enum op op)
{
	return op >= OP_EQ && op <= OP_GE;
}
