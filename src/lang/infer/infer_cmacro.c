/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * #define whose body is not a constant: with parameters, or of what is known only when the script
 * runs.
 *
 *     #define MIN(a, b) ((a) < (b) ? (a) : (b))
 *     #define SIZE arg1
 *
 * The one idea: a body that is an expression of the script is read when it is first used, and put
 * in the place of the use like that of a macro (macro.c); its variables and maps are the
 * script's. Conditions decide which definition counts, so that happens here and not while the
 * script is parsed. In C definitions and #if the same macros are computed (infer_cexpr.c).
 *
 * Arguments are values and not text: SQUARE(1 + 2) of (x * x) is 9. No '#', '##' and '...'.
 */
#include "lang/infer/infer.h"

#include "lang/parse/lex.h"
#include "lang/parse/macro.h"

#define NESTED_MAX 64u

/* params: '(' [name (',' name)*] ')'; the lexer is after it then. False: something else. */
static bool read_params(struct infer *in, struct lexer *l, struct c_macro *c)
{
	struct node **tail = &c->m.params;
	struct token t;

	lex_next(l); /* '(' */
	for (t = lex_next(l); t.kind == TOKEN_NAME; t = lex_next(l)) {
		struct node *n = ast_node(in->arena, NODE_IDENT, t.loc);

		n->string = t.text;
		*tail = n;
		tail = &n->next;
		c->m.n_params++;
		t = lex_next(l);
		if (t.kind != TOKEN_COMMA)
			break;
	}
	return t.kind == TOKEN_RPAREN && t.loc.off < c->end;
}

void infer_cmacro_define(struct infer *in, struct token name, struct lexer l, u32 end)
{
	struct c_macro *c = arena_new(in->arena, struct c_macro);

	c->m.name = name.text;
	c->m.loc = name.loc;
	c->end = end;
	c->is_plain = l.pos >= end || l.source->text[l.pos] != '(';
	if (!c->is_plain && !read_params(in, &l, c))
		c->problem = "has parameters that memtap does not know";
	c->body = l.pos;
	hmap_put(&in->c_bodies, infer_text(in, name.text), name.text.n, c);
}

struct c_macro *infer_cmacro_find(struct infer *in, struct str name, bool is_plain)
{
	void **slot = in->c_bodies.n ? hmap_find(&in->c_bodies, name.p, name.n) : NULL;
	struct c_macro *c = slot ? *slot : NULL;

	return c && c->is_plain == is_plain ? c : NULL;
}

static const char *signature(struct infer *in, const struct c_macro *c)
{
	const char *text = arena_printf(in->arena, "%.*s(", STR_ARG(c->m.name));

	for (const struct node *p = c->m.params; p; p = p->next)
		text = arena_printf(in->arena, "%s%.*s%s", text, STR_ARG(p->string),
		                    p->next ? ", " : "");
	return arena_printf(in->arena, "%s)", text);
}

static bool read_body(struct infer *in, struct c_macro *c)
{
	struct node *e;

	if (c->m.body)
		return true;
	e = c->problem ? NULL : parse_text(in->script, c->body, c->end, in->diags);
	if (!e)
		return false;
	c->m.body = ast_node(in->arena, NODE_BLOCK, e->loc);
	c->m.body->result = e;
	return true;
}

static bool fits(struct infer *in, const struct c_macro *c, const struct node *n)
{
	u32 given = n->kind == NODE_CALL ? n->call.n_args : 0;

	if (given == c->m.n_params)
		return true;
	infer_error_now(in, n->loc, "macro '%.*s' takes %u argument%s (%u given)",
	                STR_ARG(c->m.name), c->m.n_params, c->m.n_params == 1 ? "" : "s", given);
	infer_hint(in, "it is defined as %s", signature(in, c));
	return false;
}

static bool put(struct infer *in, struct c_macro *c, struct node *n)
{
	if (in->nested > NESTED_MAX) {
		infer_error_now(in, n->loc, "macro '%.*s' uses itself, or others too deeply",
		                STR_ARG(c->m.name));
		return false;
	}
	if (!c->problem && !fits(in, c, n))
		return false;
	if (!read_body(in, c)) {
		infer_error_now(in, n->loc, "macro '%.*s' %s", STR_ARG(c->m.name),
		                c->problem ? c->problem : "is no expression of the script");
		return false;
	}
	return macro_put(in->script, &c->m, n, in->diags);
}

bool infer_cmacro_take(struct infer *in, struct node *n)
{
	bool is_call = n->kind == NODE_CALL;
	struct number value;
	struct c_macro *c;

	if (!is_call && (n->kind != NODE_IDENT || infer_cdef_const(in, n->string, &value)))
		return false;
	c = infer_cmacro_find(in, is_call ? n->call.name : n->string, !is_call);
	if (!c)
		return false;
	/* After an error anything that is no error will do. */
	if (in->macros_failed || !put(in, c, n)) {
		in->macros_failed = true;
		infer_set_int(n, 0, &type_s64);
	}
	return true;
}

const struct type *infer_cmacro_value(struct infer *in, struct node *n)
{
	const struct type *t;

	in->nested++;
	t = infer_expr(in, n);
	in->nested--;
	return t;
}
