/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files of the parser share. A parse function reports its error itself and returns
 * NULL or false; its caller hands that up to the nearest statement or probe, which skips to a
 * safe place and goes on.
 */
#ifndef LANG_PARSE_PARSE_H
#define LANG_PARSE_PARSE_H

#include "lang/parse/import.h"
#include "lang/parse/lang.h"
#include "lang/parse/lex.h"

/* Nested brackets, blocks and else-ifs; bounds the stack of everything that walks a tree. */
#define PARSE_DEPTH_MAX 400u
/* Operators in one statement: a chain a + a + ... is deep although nothing is nested. */
#define PARSE_OPERATORS_MAX 4000u
/* After so many errors the rest is not read. */
#define PARSE_ERRORS_MAX 20u

struct parser {
	struct script *script;
	struct diags *d;
	struct lexer lex; /* after tok */
	struct token tok; /* the next token; not valid between probes */
	struct loc last;  /* of the token consumed last */
	struct token peeked; /* the token from peeked_at to peeked_end, looked at before its time */
	u32 peeked_at, peeked_end; /* end 0: none */
	u32 depth;
	u32 operators;     /* in this statement */
	u32 errors_before; /* in the diagnostics when parsing began */
	bool in_predicate; /* '/' before '{' ends the expression */
	import_list imports;
	bool has_imports; /* also those that are not followed */
	bool unclosed;     /* the statement read last ended at '}' without ';' */
};

/* parse.c: tokens */
void parse_advance(struct parser *p);
/* Consumes the token if it is of that kind. */
bool parse_accept(struct parser *p, enum token_kind kind);
/* As parse_accept, with an error when it is not. */
bool parse_expect(struct parser *p, enum token_kind kind);
/* True when the token is that word. */
bool parse_at_word(const struct parser *p, const char *word);
/* The token after this one. */
struct token parse_peek(struct parser *p);
/* True when this script has had a syntax error. */
bool parse_failed(const struct parser *p);
/* "syntax: WHAT before 'TOKEN'"; false. Silent when the token itself was reported as bad, and at
 * the end of the script when that follows from an error before. */
bool parse_error(struct parser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Puts the reading position after what was consumed, for reading characters. */
void parse_rewind(struct parser *p);
/* One level deeper; false with an error when too deep. Undo with p->depth--. */
bool parse_enter(struct parser *p);
struct loc parse_span(struct loc from, struct loc to);
struct node *parse_node(struct parser *p, enum node_kind kind, struct loc loc);
/* Makes a list by appending to *tail. */
void parse_append(struct node ***tail, struct node *n);

/* parse.c: a '#' line, a struct, union or enum, or a typedef, kept as text */
bool parse_at_definition(const struct parser *p);
bool parse_definition(struct parser *p, struct c_def ***tail);

/* parse_include.c. Puts the definitions of the file that an #include line names after the line, or
 * says why it can not be read. False when there is no such file, or the line names none. */
bool parse_include(struct script *s, struct c_def *line, struct diags *d);
/* Puts lines that include the files of script.headers before all others. */
void parse_include_first(struct script *s, struct diags *d);

/* parse_expr.c */
struct node *parse_expr(struct parser *p);
struct node *parse_var(struct parser *p); /* $name */
bool parse_type(struct parser *p, struct type_name *t);

/* parse_stmt.c */
/* A block; the token after its '}' is not read yet. */
struct node *parse_body(struct parser *p);
/* A block as an expression: what stands last in it without ';' is its value. */
struct node *parse_block_value(struct parser *p);
/* if ... else ... as an expression: a TERNARY of such blocks. */
struct node *parse_if_value(struct parser *p);
/* Makes the last statement of a block its value when no ';' stands after it. */
void parse_set_result(struct parser *p, struct node *block);
/* After an error: moves past the next ';' or to the '}' that closes this block. */
void parse_skip_statement(struct parser *p);

/* parse_macro.c. At the word `macro`; the position is after the '}' then. */
bool parse_macro(struct parser *p, struct macro **out);

/* parse_probe.c. False after an error; the position is then after the probe. */
bool parse_probe(struct parser *p, struct probe **out);

#endif
