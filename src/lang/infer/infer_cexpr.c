/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Constant expressions of C: values of #define and of enumerators, sizes of arrays, #if.
 *
 * One idea: precedence climbing, and what an operator makes of two numbers is what it makes of them
 * in the script (number.h). Names are constants of the script, enumerators of the kernel or integer
 * macros of the table. In #if an unknown one is 0, and results have the sign that C gives them.
 */
#include "lang/infer/infer.h"

#include "lang/parse/lex.h"

#define DEPTH_MAX  32u
#define PARAMS_MAX 8u /* of a macro that is computed */

/* A macro at work: its parameters and their values. */
struct frame {
	const struct node *params;
	struct number values[PARAMS_MAX];
};

struct cexpr {
	struct infer *in;
	struct lexer *lex;
	struct token *tok;
	u32 end;
	u32 depth;
	bool in_if;
	const struct frame *frame; /* NULL: outside of macros */
};

static void advance(struct cexpr *c)
{
	*c->tok = lex_next(c->lex);
	if (c->tok->loc.off >= c->end)
		c->tok->kind = TOKEN_END;
}

static bool accept(struct cexpr *c, enum token_kind kind)
{
	if (c->tok->kind != kind)
		return false;
	advance(c);
	return true;
}

bool infer_constant(struct infer *in, struct str name, struct number *value)
{
	struct err e = { 0 };
	struct btf *b;
	bool is_unsigned;
	s64 found;
	u64 bits;
	u32 id;

	if (infer_cdef_const(in, name, value))
		return true;
	b = in->world->ops->btf(in->world, &e);
	if (b && btf_enum_find(b, infer_text(in, name), &found, &id)) {
		const struct type *t = btf_type(in->script, b, id, SPACE_NONE);

		*value = number_plain(found);
		if (t->kind == TYPE_INT && t->name)
			value->type = t;
		return true;
	}
	if (!constants_find(&in->constants, name, &bits, &is_unsigned))
		return false;
	*value = number_plain((s64)bits);
	if (is_unsigned && (s64)bits < 0)
		*value = (struct number){ &type_u64, bits, true, true };
	return true;
}

static bool expression(struct cexpr *c, struct number *value);

/* KERNEL_VERSION '(' a ',' b ',' c ')' */
static bool version(struct cexpr *c, struct number *value)
{
	struct number part[3];

	if (!accept(c, TOKEN_LPAREN))
		return false;
	for (u32 i = 0; i < 3; i++)
		if (!expression(c, &part[i]) || (i < 2 && !accept(c, TOKEN_COMMA)))
			return false;
	*value = number_plain(
		(s64)(part[0].value * 65536 + part[1].value * 256 + MIN(part[2].value, 255u)));
	return accept(c, TOKEN_RPAREN);
}

/* defined NAME, defined(NAME) */
static bool defined(struct cexpr *c, struct number *value)
{
	bool paren = accept(c, TOKEN_LPAREN);

	if (c->tok->kind != TOKEN_NAME)
		return false;
	*value = number_plain(infer_cdef_defined(c->in, c->tok->text));
	advance(c);
	return !paren || accept(c, TOKEN_RPAREN);
}

static bool parameter(const struct cexpr *c, struct str name, struct number *value)
{
	u32 i = 0;

	if (!c->frame)
		return false;
	for (const struct node *p = c->frame->params; p; p = p->next, i++)
		if (str_eq(p->string, name)) {
			*value = c->frame->values[i];
			return true;
		}
	return false;
}

/* The value of a macro's body with these arguments. */
static bool body_value(const struct cexpr *c, const struct c_macro *m, const struct frame *frame,
                       struct number *value)
{
	struct lexer lex = { c->lex->source, c->lex->arena, m->body };
	struct token tok;
	struct cexpr body = { c->in, &lex, &tok, m->end, c->depth + 1, c->in_if, frame };

	if (body.depth >= DEPTH_MAX)
		return false;
	advance(&body);
	return expression(&body, value) && tok.kind == TOKEN_END;
}

/* '(' [expression (',' expression)*] ')' after the name of a macro */
static bool macro_value(struct cexpr *c, const struct c_macro *m, struct number *value)
{
	struct frame frame = { .params = m->m.params };

	if (m->problem || m->m.n_params > PARAMS_MAX || !accept(c, TOKEN_LPAREN))
		return false;
	for (u32 i = 0; i < m->m.n_params; i++)
		if ((i && !accept(c, TOKEN_COMMA)) || !expression(c, &frame.values[i]))
			return false;
	return accept(c, TOKEN_RPAREN) && body_value(c, m, &frame, value);
}

static bool name_value(struct cexpr *c, struct number *value)
{
	struct str name = c->tok->text;
	const struct c_macro *m;

	advance(c);
	if (parameter(c, name, value))
		return true;
	m = c->tok->kind == TOKEN_LPAREN ? infer_cmacro_find(c->in, name, false) : NULL;
	if (m)
		return macro_value(c, m, value);
	if (str_is(name, "defined"))
		return defined(c, value);
	if (str_is(name, "KERNEL_VERSION"))
		return version(c, value);
	if (str_is(name, "LINUX_VERSION_CODE")) {
		*value = number_plain(c->in->world->kernel_version);
		return true;
	}
	if (infer_constant(c->in, name, value))
		return true;
	*value = number_plain(0);
	return c->in_if && c->tok->kind != TOKEN_LPAREN;
}

static bool unary(struct cexpr *c, struct number *value);

/* '(' type ')' unary | '(' expression ')' */
static bool group(struct cexpr *c, struct number *value)
{
	const struct type *t = NULL;

	advance(c);
	if (c->tok->kind == TOKEN_NAME) {
		struct str name = c->tok->text;
		struct lexer ahead = *c->lex;
		struct token next = lex_next(&ahead);

		while (next.kind == TOKEN_NAME && next.loc.off < c->end) { /* unsigned long */
			name.n = (u32)(next.text.p + next.text.n - name.p);
			next = lex_next(&ahead);
		}
		t = next.kind == TOKEN_RPAREN ? infer_c_integer(name) : NULL;
		while (t && c->tok->kind == TOKEN_NAME)
			advance(c);
	}
	if (!t)
		return expression(c, value) && accept(c, TOKEN_RPAREN);
	if (!accept(c, TOKEN_RPAREN) || !unary(c, value))
		return false;
	*value = (struct number){ t, number_cut(value->value, t), true, true };
	return true;
}

static bool is_u64(const struct number *n)
{
	return !n->type->is_signed && n->type->size == 8;
}

/* A truth is the int 1 or 0; in #if arithmetic keeps the sign of its operands. */
static void as_in_c(const struct cexpr *c, bool is_unsigned, struct number *value)
{
	if (value->type->kind == TYPE_BOOL)
		*value = number_plain((s64)value->value);
	else if (c->in_if)
		value->type = is_unsigned ? &type_u64 : &type_s64;
}

/* ('-' | '+' | '!' | '~') unary */
static bool prefixed(struct cexpr *c, struct number *value)
{
	enum op op = op_prefix(c->tok->kind);
	struct number e;

	advance(c);
	if (c->depth++ >= DEPTH_MAX || !unary(c, &e))
		return false;
	c->depth--;
	*value = e;
	if (op != OP_NONE && !number_unary(op, &e, value))
		return false;
	if (op != OP_NONE)
		as_in_c(c, is_u64(&e), value);
	return true;
}

static bool unary(struct cexpr *c, struct number *value)
{
	switch (c->tok->kind) {
	case TOKEN_INT:
		*value = number_plain((s64)c->tok->value);
		value->is_typed = c->tok->is_unsigned;
		if (value->is_typed)
			value->type = &type_u64;
		advance(c);
		return true;
	case TOKEN_NAME:
		return name_value(c, value);
	case TOKEN_LPAREN:
		return group(c, value);
	case TOKEN_SUB:
	case TOKEN_ADD:
	case TOKEN_NOT:
	case TOKEN_COMPL:
		return prefixed(c, value);
	default:
		return false;
	}
}

static bool compute(const struct cexpr *c, enum op op, const struct number *l,
                    const struct number *r, struct number *value)
{
	bool shift = op == OP_SHL || op == OP_SHR;

	if (!number_binary(op, l, r, value))
		return false;
	as_in_c(c, is_u64(l) || (!shift && is_u64(r)), value);
	return true;
}

static bool climb(struct cexpr *c, u32 least, struct number *value)
{
	if (!unary(c, value))
		return false;
	for (;;) {
		u32 precedence;
		enum op op = op_binary(c->tok->kind, &precedence);
		struct number left = *value, right;

		if (op == OP_NONE || precedence < least)
			return true;
		advance(c);
		if (!climb(c, precedence + 1, &right) || !compute(c, op, &left, &right, value))
			return false;
	}
}

static bool expression(struct cexpr *c, struct number *value)
{
	struct number yes, no;
	bool ok;

	if (c->depth++ >= DEPTH_MAX)
		return false;
	ok = climb(c, 1, value);
	if (ok && accept(c, TOKEN_QUESTION)) {
		ok = expression(c, &yes) && accept(c, TOKEN_COLON) && expression(c, &no);
		if (ok)
			*value = value->value ? yes : no;
	}
	c->depth--;
	return ok;
}

bool infer_cexpr(struct infer *in, struct lexer *lex, struct token *tok, u32 end, bool in_if,
                 struct number *value)
{
	struct cexpr c = { in, lex, tok, end, 0, in_if, NULL };

	return expression(&c, value);
}
