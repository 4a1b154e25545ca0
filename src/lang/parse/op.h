/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The operators, in one table: how they are written and how tightly they bind. What they compute is
 * in number.h.
 */
#ifndef LANG_PARSE_OP_H
#define LANG_PARSE_OP_H

#include "lang/parse/lex.h"

enum op {
	OP_NONE, /* plain '=' in ASSIGN */
	OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD,
	/* bitwise; >> is arithmetic when the left is signed */
	OP_AND, OP_OR, OP_XOR, OP_SHL, OP_SHR,
	OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE,
	OP_LAND, OP_LOR,
	/* unary */
	OP_NEG, OP_NOT /* ! */, OP_COMPL /* ~ */, OP_DEREF /* *p */, OP_ADDR /* &$v, &@m */,
	OP_COMPTIME,
	OP_PREINC, OP_PREDEC, OP_POSTINC, OP_POSTDEC,
};

/* "+", "==", ... */
const char *op_text(enum op op);
/* The binary operator that a token is, OP_NONE for none; the higher *precedence (from 1) binds
 * tighter. */
enum op op_binary(enum token_kind kind, u32 *precedence);
/* The operator before its operand that a token is, OP_NONE for none. */
enum op op_prefix(enum token_kind kind);
/* True for '=', with OP_NONE, and for '+=' and the like, with the operator before the '='. */
bool op_assigns(enum token_kind kind, enum op *op);
/* == != < <= > >= */
bool op_compares(enum op op);

#endif
