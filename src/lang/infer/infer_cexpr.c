/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Constant expressions of C: values of #define and of enumerators, sizes of arrays, #if.
 *
 * One idea: precedence climbing over C's operators on 64-bit integers. Names are constants of the
 * script, enumerators of the kernel or integer macros of the table; in #if an unknown one is 0.
 */
#include "lang/infer/infer.h"

#include "lang/infer/constants.h"
#include "lang/parse/lex.h"

#define DEPTH_MAX  32u
#define PARAMS_MAX 8u /* of a macro that is computed */

/* A macro at work: its parameters and their values. */
struct frame {
	const struct node *params;
	s64 values[PARAMS_MAX];
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

bool infer_constant(struct infer *in, struct str name, s64 *value, const struct type **type)
{
	struct err e = { 0 };
	struct btf *b;
	u32 id;

	*type = &type_s64;
	if (infer_cdef_const(in, name, value, type))
		return true;
	b = in->world->ops->btf(in->world, &e);
	if (b && btf_enum_find(b, infer_text(in, name), value, &id)) {
		const struct type *t = btf_type(in->arena, b, id, SPACE_NONE);

		if (t->kind == TYPE_INT && t->name)
			*type = t;
		return true;
	}
	return constants_find(name, value);
}

static bool expression(struct cexpr *c, s64 *value);

/* KERNEL_VERSION '(' a ',' b ',' c ')' */
static bool version(struct cexpr *c, s64 *value)
{
	s64 part[3];

	if (!accept(c, TOKEN_LPAREN))
		return false;
	for (u32 i = 0; i < 3; i++)
		if (!expression(c, &part[i]) || (i < 2 && !accept(c, TOKEN_COMMA)))
			return false;
	*value = part[0] * 65536 + part[1] * 256 + MIN(part[2], (s64)255);
	return accept(c, TOKEN_RPAREN);
}

/* defined NAME, defined(NAME) */
static bool defined(struct cexpr *c, s64 *value)
{
	bool paren = accept(c, TOKEN_LPAREN);

	if (c->tok->kind != TOKEN_NAME)
		return false;
	*value = infer_cdef_defined(c->in, c->tok->text);
	advance(c);
	return !paren || accept(c, TOKEN_RPAREN);
}

static bool parameter(const struct cexpr *c, struct str name, s64 *value)
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
                       s64 *value)
{
	struct lexer lex = { c->lex->source, c->lex->arena, m->body };
	struct token tok;
	struct cexpr body = { c->in, &lex, &tok, m->end, c->depth + 1, c->in_if, frame };

	if (body.depth >= DEPTH_MAX)
		return false;
	advance(&body);
	return expression(&body, value) && tok.kind == TOKEN_END;
}

/* '(' [expression (',' expression)*] ')' behind the name of a macro */
static bool macro_value(struct cexpr *c, const struct c_macro *m, s64 *value)
{
	struct frame frame = { .params = m->m.params };

	if (m->problem || m->m.n_params > PARAMS_MAX || !accept(c, TOKEN_LPAREN))
		return false;
	for (u32 i = 0; i < m->m.n_params; i++)
		if ((i && !accept(c, TOKEN_COMMA)) || !expression(c, &frame.values[i]))
			return false;
	return accept(c, TOKEN_RPAREN) && body_value(c, m, &frame, value);
}

static bool name_value(struct cexpr *c, s64 *value)
{
	struct str name = c->tok->text;
	const struct c_macro *m;
	const struct type *type;

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
		*value = c->in->world->kernel_version;
		return true;
	}
	if (infer_constant(c->in, name, value, &type))
		return true;
	*value = 0;
	return c->in_if && c->tok->kind != TOKEN_LPAREN;
}

static s64 cut(s64 v, const struct type *t)
{
	u32 shift = 64 - t->size * 8;

	return t->is_signed ? (s64)((u64)v << shift) >> shift : (s64)((u64)v << shift >> shift);
}

static bool unary(struct cexpr *c, s64 *value);

/* '(' type ')' unary | '(' expression ')' */
static bool group(struct cexpr *c, s64 *value)
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
	*value = cut(*value, t);
	return true;
}

static bool unary(struct cexpr *c, s64 *value)
{
	enum token_kind op = c->tok->kind;

	switch (op) {
	case TOKEN_INT:
		*value = (s64)c->tok->value;
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
		advance(c);
		if (c->depth++ >= DEPTH_MAX || !unary(c, value))
			return false;
		c->depth--;
		*value = op == TOKEN_SUB     ? (s64)(0 - (u64)*value)
		         : op == TOKEN_NOT   ? !*value
		         : op == TOKEN_COMPL ? ~*value
		                             : *value;
		return true;
	default:
		return false;
	}
}

static const struct {
	enum token_kind token;
	u32 precedence;
} rows[] = {
	{ TOKEN_LOR, 1 },  { TOKEN_LAND, 2 }, { TOKEN_OR, 3 },   { TOKEN_XOR, 4 }, { TOKEN_AND, 5 },
	{ TOKEN_EQ, 6 },   { TOKEN_NE, 6 },   { TOKEN_LT, 7 },   { TOKEN_GT, 7 },  { TOKEN_LE, 7 },
	{ TOKEN_GE, 7 },   { TOKEN_SHL, 8 },  { TOKEN_SHR, 8 },  { TOKEN_ADD, 9 }, { TOKEN_SUB, 9 },
	{ TOKEN_MUL, 10 }, { TOKEN_DIV, 10 }, { TOKEN_MOD, 10 },
};

static u32 precedence(enum token_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].token == kind)
			return rows[i].precedence;
	return 0;
}

static s64 compute(enum token_kind op, s64 l, s64 r)
{
	u64 a = (u64)l, b = (u64)r;

	switch (op) {
	case TOKEN_LOR:
		return l || r;
	case TOKEN_LAND:
		return l && r;
	case TOKEN_OR:
		return (s64)(a | b);
	case TOKEN_XOR:
		return (s64)(a ^ b);
	case TOKEN_AND:
		return (s64)(a & b);
	case TOKEN_EQ:
		return l == r;
	case TOKEN_NE:
		return l != r;
	case TOKEN_LT:
		return l < r;
	case TOKEN_GT:
		return l > r;
	case TOKEN_LE:
		return l <= r;
	case TOKEN_GE:
		return l >= r;
	case TOKEN_SHL:
		return (s64)(a << (b & 63));
	case TOKEN_SHR:
		return (s64)(a >> (b & 63));
	case TOKEN_ADD:
		return (s64)(a + b);
	case TOKEN_SUB:
		return (s64)(a - b);
	case TOKEN_MUL:
		return (s64)(a * b);
	case TOKEN_DIV: /* the one quotient that does not fit wraps */
		return r == -1 ? (s64)(0 - a) : l / r;
	default:
		return r == -1 ? 0 : l % r;
	}
}

static bool climb(struct cexpr *c, u32 least, s64 *value)
{
	if (!unary(c, value))
		return false;
	for (;;) {
		enum token_kind op = c->tok->kind;
		u32 p = precedence(op);
		s64 right;

		if (!p || p < least)
			return true;
		advance(c);
		if (!climb(c, p + 1, &right) || ((op == TOKEN_DIV || op == TOKEN_MOD) && !right))
			return false;
		*value = compute(op, *value, right);
	}
}

static bool expression(struct cexpr *c, s64 *value)
{
	s64 yes, no;
	bool ok;

	if (c->depth++ >= DEPTH_MAX)
		return false;
	ok = climb(c, 1, value);
	if (ok && accept(c, TOKEN_QUESTION)) {
		ok = expression(c, &yes) && accept(c, TOKEN_COLON) && expression(c, &no);
		if (ok)
			*value = *value ? yes : no;
	}
	c->depth--;
	return ok;
}

bool infer_cexpr(struct infer *in, struct lexer *lex, struct token *tok, u32 end, bool in_if,
                 s64 *value)
{
	struct cexpr c = { in, lex, tok, end, 0, in_if, NULL };

	return expression(&c, value);
}
