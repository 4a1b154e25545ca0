/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Script text -> tokens, one at a time. A lexer is a position and nothing else, so looking
 * ahead is copying it. Attach points are not made of tokens: parse_probe.c reads their
 * characters and moves the position.
 */
#ifndef LANG_PARSE_LEX_H
#define LANG_PARSE_LEX_H

#include "lang/parse/source.h"

/* Longer operators stand before their prefixes. */
/* clang-format off */
#define PUNCTUATION(X)                                                                             \
	X(SHL_SET, "<<=") X(SHR_SET, ">>=")                                                        \
	X(ADD_SET, "+=") X(SUB_SET, "-=") X(MUL_SET, "*=") X(DIV_SET, "/=") X(MOD_SET, "%=")       \
	X(AND_SET, "&=") X(OR_SET, "|=") X(XOR_SET, "^=")                                          \
	X(LAND, "&&") X(LOR, "||") X(EQ, "==") X(NE, "!=") X(LE, "<=") X(GE, ">=")                 \
	X(SHL, "<<") X(SHR, ">>") X(INC, "++") X(DEC, "--") X(ARROW, "->") X(DOTDOT, "..")         \
	X(LPAREN, "(") X(RPAREN, ")") X(LBRACE, "{") X(RBRACE, "}") X(LBRACKET, "[")               \
	X(RBRACKET, "]") X(COMMA, ",") X(SEMI, ";") X(COLON, ":") X(QUESTION, "?") X(DOT, ".")     \
	X(SET, "=") X(LT, "<") X(GT, ">") X(ADD, "+") X(SUB, "-") X(MUL, "*") X(DIV, "/")          \
	X(MOD, "%") X(AND, "&") X(OR, "|") X(XOR, "^") X(NOT, "!") X(COMPL, "~")
/* clang-format on */

enum token_kind {
	TOKEN_END,
	TOKEN_BAD, /* no token starts here; problem says why */
	TOKEN_NAME,
	TOKEN_INT,
	TOKEN_STRING,
	TOKEN_MAP,         /* @name, @ */
	TOKEN_VAR,         /* $name */
	TOKEN_PARAM,       /* $1 */
	TOKEN_PARAM_COUNT, /* $# */
#define X(name, text) TOKEN_##name,
	PUNCTUATION(X)
#undef X
};

struct token {
	enum token_kind kind;
	struct loc loc;
	struct str text;     /* as written; STRING: its value */
	u64 value;           /* INT, PARAM */
	bool is_unsigned;    /* INT */
	bool on_new_line;    /* a line end lies between this token and the one before */
	const char *problem; /* what is wrong with it, NULL when nothing is */
	struct loc problem_loc;
};

struct lexer {
	const struct source *source;
	struct arena *arena;
	u32 pos;
};

/* Reads one token and moves on; TOKEN_END for ever at the end. */
struct token lex_next(struct lexer *l);
/* Moves over blanks and comments. False at a comment without end (*at = where it starts). */
bool lex_skip_blanks(struct lexer *l, bool *saw_line_end, u32 *at);
/* Moves over "__attribute__((packed))" and the ';' after a C definition, where they follow. */
void lex_skip_definition_end(struct lexer *l);
/* "';'", "a name", ... for messages. */
const char *lex_token_name(enum token_kind kind);
bool lex_is_name(char c);

#endif
