/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Statements and blocks. A statement ends at ';'. Published scripts forget it at line ends, so
 * a line end closes a statement too, with a warning, where the next line can not continue it.
 * After an error the rest of the statement is skipped and the next one is read.
 */
#include "lang/parse/parse.h"

static struct node *parse_stmt(struct parser *p);

void parse_skip_statement(struct parser *p)
{
	u32 open = 0;

	for (; p->tok.kind != TOKEN_END; parse_advance(p)) {
		if (p->tok.kind == TOKEN_LBRACE) {
			open++;
		} else if (p->tok.kind == TOKEN_RBRACE) {
			if (!open)
				return;
			if (--open == 0) {
				parse_advance(p);
				return;
			}
		} else if (p->tok.kind == TOKEN_SEMI && !open) {
			parse_advance(p);
			return;
		}
	}
}

/* stmt_end: ';' | before '}' | line end */
static bool end_statement(struct parser *p)
{
	struct loc here = { p->last.off + p->last.len, 0 };

	p->unclosed = p->tok.kind == TOKEN_RBRACE;
	if (p->unclosed || parse_accept(p, TOKEN_SEMI))
		return true;
	if (!p->tok.on_new_line || p->tok.kind == TOKEN_END)
		return parse_error(p, "expected ';'");
	if (parse_failed(p))
		return true;
	diag_warn(p->d, here,
	          "missing ';' at the end of the line: the line end closes the statement");
	return true;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* Statements up to '}', which stays the current token. */
static struct node *parse_statements(struct parser *p)
{
	struct node *block = parse_node(p, NODE_BLOCK, p->tok.loc);
	struct node **tail = &block->stmts;
	struct loc open = p->tok.loc;

	if (!parse_expect(p, TOKEN_LBRACE))
		return NULL;
	while (p->tok.kind != TOKEN_RBRACE) {
		struct node *n;

		if (p->tok.kind == TOKEN_END ||
		    p->d->n_errors >= p->errors_before + PARSE_ERRORS_MAX) {
			if (!parse_failed(p))
				diag_error(p->d, open, "syntax: this '{' is not closed");
			return NULL;
		}
		if (parse_accept(p, TOKEN_SEMI)) {
			block->open = false;
			continue;
		}
		p->operators = 0;
		n = parse_stmt(p);
		if (n)
			parse_append(&tail, n);
		else
			parse_skip_statement(p);
		block->open = n && (n->kind == NODE_IF || n->kind == NODE_BLOCK ||
		                    (n->kind == NODE_EXPR && p->unclosed));
	}
	block->loc = parse_span(open, p->tok.loc);
	return block;
}

/* block: '{' stmt* '}' */
static struct node *parse_block(struct parser *p)
{
	struct node *block;

	if (!parse_enter(p))
		return NULL;
	block = parse_statements(p);
	p->depth--;
	if (block)
		parse_advance(p);
	return block;
}

struct node *parse_body(struct parser *p)
{
	struct node *block = parse_statements(p);

	if (block) {
		p->last = p->tok.loc;
		p->lex.pos = p->tok.loc.off + p->tok.loc.len;
	}
	return block;
}

/* ---- blocks and branches as values ---------------------------------------------------------- */

static struct node *if_value(struct parser *p, struct node *n)
{
	struct node *cond = n->branch.cond, *yes = n->branch.yes, *no = n->branch.no;

	parse_set_result(p, yes);
	if (!no)
		no = parse_node(p, NODE_BLOCK, yes->loc);
	else if (no->kind == NODE_IF)
		no = if_value(p, no);
	else
		parse_set_result(p, no);
	n->kind = NODE_TERNARY;
	n->ternary.cond = cond;
	n->ternary.yes = yes;
	n->ternary.no = no;
	return n;
}

/* An `if` without `else` is no value: it stays a statement. */
void parse_set_result(struct parser *p, struct node *block)
{
	struct node **last = &block->stmts;

	if (!block->open || !*last)
		return;
	while ((*last)->next)
		last = &(*last)->next;
	if ((*last)->kind == NODE_EXPR) {
		block->result = (*last)->expr;
	} else if ((*last)->kind == NODE_BLOCK) {
		parse_set_result(p, *last);
		block->result = *last;
	} else if ((*last)->branch.no) {
		block->result = if_value(p, *last);
	} else {
		return;
	}
	*last = NULL;
}

struct node *parse_block_value(struct parser *p)
{
	struct node *block = parse_block(p);

	if (block)
		parse_set_result(p, block);
	return block;
}

/* ---- statements with a body ----------------------------------------------------------------- */

/* if: 'if' expr block ['else' (if | block)] */
static struct node *parse_if(struct parser *p)
{
	struct node *n = parse_node(p, NODE_IF, p->tok.loc);

	parse_advance(p);
	n->branch.cond = parse_expr(p);
	if (!n->branch.cond)
		return NULL;
	n->branch.yes = parse_block(p);
	if (!n->branch.yes)
		return NULL;
	if (parse_at_word(p, "else")) {
		parse_advance(p);
		if (!parse_enter(p))
			return NULL;
		n->branch.no = parse_at_word(p, "if") ? parse_if(p) : parse_block(p);
		p->depth--;
		if (!n->branch.no)
			return NULL;
	}
	n->loc = parse_span(n->loc, p->last);
	return n;
}

struct node *parse_if_value(struct parser *p)
{
	struct node *n = parse_if(p);

	return n ? if_value(p, n) : NULL;
}

/* loop: ('while' | 'unroll') expr block */
static struct node *parse_loop(struct parser *p, enum node_kind kind)
{
	struct node *n = parse_node(p, kind, p->tok.loc);

	parse_advance(p);
	n->loop.cond = parse_expr(p);
	if (!n->loop.cond)
		return NULL;
	n->loop.body = parse_block(p);
	if (!n->loop.body)
		return NULL;
	n->loc = parse_span(n->loc, p->last);
	return n;
}

static struct node *parse_while(struct parser *p)
{
	return parse_loop(p, NODE_WHILE);
}

static struct node *parse_unroll(struct parser *p)
{
	return parse_loop(p, NODE_UNROLL);
}

/* for: 'for' ['('] $var ':' (@map | expr '..' expr) [')'] block */
static struct node *parse_for(struct parser *p)
{
	struct node *n = parse_node(p, NODE_FOR_MAP, p->tok.loc), *var, *first, *to = NULL, *body;
	bool bracket;

	parse_advance(p);
	bracket = parse_accept(p, TOKEN_LPAREN);
	var = parse_var(p);
	if (!var || !parse_expect(p, TOKEN_COLON))
		return NULL;
	first = parse_expr(p);
	if (!first)
		return NULL;
	if (parse_accept(p, TOKEN_DOTDOT)) {
		to = parse_expr(p);
		if (!to)
			return NULL;
	} else if (first->kind != NODE_MAP || first->map.keys) {
		parse_error(p, "expected '..' or a map to loop over");
		return NULL;
	}
	if (bracket && !parse_expect(p, TOKEN_RPAREN))
		return NULL;
	body = parse_block(p);
	if (!body)
		return NULL;
	n->loc = parse_span(n->loc, p->last);
	if (to) {
		n->kind = NODE_FOR_RANGE;
		n->range.var = var;
		n->range.from = first;
		n->range.to = to;
		n->range.body = body;
	} else {
		n->each.var = var;
		n->each.map = first;
		n->each.body = body;
	}
	return n;
}

/* ---- simple statements ---------------------------------------------------------------------- */

static struct node *ended(struct parser *p, struct node *n)
{
	n->loc = parse_span(n->loc, p->last);
	return end_statement(p) ? n : NULL;
}

/* let: 'let' $var [':' type] ['=' expr] */
static struct node *parse_let(struct parser *p)
{
	struct node *n = parse_node(p, NODE_LET, p->tok.loc);

	parse_advance(p);
	n->let.var = parse_var(p);
	if (!n->let.var)
		return NULL;
	if (parse_accept(p, TOKEN_COLON)) {
		if (!parse_type(p, &n->let.as))
			return NULL;
		n->let.has_type = true;
	}
	if (parse_accept(p, TOKEN_SET)) {
		n->let.e = parse_expr(p);
		if (!n->let.e)
			return NULL;
	}
	return ended(p, n);
}

/* return: 'return' [expr] */
static struct node *parse_return(struct parser *p)
{
	struct node *n = parse_node(p, NODE_RETURN, p->tok.loc);

	parse_advance(p);
	if (p->tok.kind != TOKEN_SEMI && p->tok.kind != TOKEN_RBRACE && !p->tok.on_new_line) {
		n->expr = parse_expr(p);
		if (!n->expr)
			return NULL;
	}
	return ended(p, n);
}

static struct node *parse_break(struct parser *p)
{
	struct node *n = parse_node(p, NODE_BREAK, p->tok.loc);

	parse_advance(p);
	return ended(p, n);
}

static struct node *parse_continue(struct parser *p)
{
	struct node *n = parse_node(p, NODE_CONTINUE, p->tok.loc);

	parse_advance(p);
	return ended(p, n);
}

/* assign: (@map | $var) ('=' | '+=' | ...) expr   ('_' '=' expr discards the value) */
static struct node *parse_assign(struct parser *p, struct node *to, enum op op)
{
	bool discard = to->kind == NODE_IDENT && str_is(to->string, "_") && op == OP_NONE;
	struct node *n, *e;

	if (!discard && to->kind != NODE_MAP && to->kind != NODE_VAR) {
		diag_error(p->d, to->loc,
		           "syntax: only a map or a scratch variable can be assigned to");
		return NULL;
	}
	parse_advance(p);
	e = parse_expr(p);
	if (!e)
		return NULL;
	n = parse_node(p, discard ? NODE_EXPR : NODE_ASSIGN, to->loc);
	if (discard) {
		n->expr = e;
	} else {
		n->assign.to = to;
		n->assign.e = e;
		n->assign.op = op;
	}
	return ended(p, n);
}

/* simple: assign | expr */
static struct node *parse_simple(struct parser *p)
{
	struct node *e = parse_expr(p), *n;
	enum op op;

	if (!e)
		return NULL;
	if (op_assigns(p->tok.kind, &op))
		return parse_assign(p, e, op);
	n = parse_node(p, NODE_EXPR, e->loc);
	n->expr = e;
	return ended(p, n);
}

/* import "stdlib/...": what is always there; other files are imported outside of blocks. */
static struct node *parse_import(struct parser *p)
{
	struct node *n = parse_node(p, NODE_BLOCK, p->tok.loc);

	parse_advance(p);
	if (p->tok.kind != TOKEN_STRING) {
		parse_error(p, "expected the path of a file in quotes");
		return NULL;
	}
	if (!import_is_library(p->tok.text)) {
		diag_error(p->d, p->tok.loc,
		           "in a block only the standard library can be imported");
		diag_hint(p->d, "import files outside of probes and macros");
		return NULL;
	}
	parse_advance(p);
	return ended(p, n);
}

/* stmt: import | if | while | unroll | for | let | return | break | continue | block | simple */
static struct node *parse_stmt(struct parser *p)
{
	static const struct {
		const char *word;
		struct node *(*parse)(struct parser *p);
	} rows[] = {
		{ "if", parse_if },         { "while", parse_while },
		{ "unroll", parse_unroll }, { "for", parse_for },
		{ "let", parse_let },       { "return", parse_return },
		{ "break", parse_break },   { "continue", parse_continue },
		{ "import", parse_import },
	};

	if (p->tok.kind == TOKEN_LBRACE)
		return parse_block(p);
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (parse_at_word(p, rows[i].word))
			return rows[i].parse(p);
	return parse_simple(p);
}
