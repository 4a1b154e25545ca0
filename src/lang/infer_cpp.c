/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lines that begin with '#' in a script, as far as they matter without a C compiler: constants,
 * and conditions around definitions. Included headers are not read, their types come from BTF.
 */
#include "lang/infer.h"

#include "lang/lex.h"

#define CONDITIONS_MAX 32u

struct condition {
	bool active; /* this branch counts */
	bool taken;  /* this or an earlier branch counted */
};

struct cpp {
	struct infer *in;
	struct condition stack[CONDITIONS_MAX];
	u32 n;
	u32 depth; /* of parentheses */
};

static struct token next_on_line(struct lexer *l, u32 end)
{
	struct token t = lex_next(l);

	if (t.loc.off >= end)
		t.kind = TOKEN_END;
	return t;
}

static bool combine(enum token_kind op, s64 right, s64 *value)
{
	u64 a = (u64)*value, b = (u64)right;

	switch (op) {
	case TOKEN_SHL:
		*value = (s64)(a << (b & 63));
		return true;
	case TOKEN_OR:
		*value = (s64)(a | b);
		return true;
	case TOKEN_ADD:
		*value = (s64)(a + b);
		return true;
	case TOKEN_SUB:
		*value = (s64)(a - b);
		return true;
	case TOKEN_MUL:
		*value = (s64)(a * b);
		return true;
	default:
		return false;
	}
}

static bool pair(struct cpp *c, struct lexer *l, u32 end, enum token_kind closer, s64 *value);

/* term: '(' pair ')' | ['-'] (number | name of a constant) */
static bool term(struct cpp *c, struct lexer *l, u32 end, s64 *value)
{
	struct token t = next_on_line(l, end);
	bool minus = t.kind == TOKEN_SUB;

	if (t.kind == TOKEN_LPAREN)
		return pair(c, l, end, TOKEN_RPAREN, value);
	if (minus)
		t = next_on_line(l, end);
	if (t.kind == TOKEN_INT)
		*value = (s64)t.value;
	else if (t.kind != TOKEN_NAME || !infer_cdef_const(c->in, t.text, value))
		return false;
	if (minus)
		*value = (s64)(0 - (u64)*value);
	return true;
}

/* pair: term [op term]; longer ones would need precedence and are not constants to us. */
static bool pair(struct cpp *c, struct lexer *l, u32 end, enum token_kind closer, s64 *value)
{
	struct token op;
	s64 right;
	bool ok;

	if (c->depth == CONDITIONS_MAX)
		return false;
	c->depth++;
	ok = term(c, l, end, value);
	op = next_on_line(l, end);
	if (ok && op.kind != closer)
		ok = term(c, l, end, &right) && next_on_line(l, end).kind == closer &&
		     combine(op.kind, right, value);
	c->depth--;
	return ok;
}

static bool constant(struct cpp *c, struct lexer l, u32 end, s64 *value)
{
	return pair(c, &l, end, TOKEN_END, value);
}

static bool is_defined(struct cpp *c, struct str name)
{
	struct err e = { 0 };
	s64 value;

	if (str_is(name, "BPFTRACE_HAVE_BTF"))
		return c->in->world->ops->btf(c->in->world, &e) != NULL;
	return infer_cdef_const(c->in, name, &value);
}

/* #if: a constant, or defined(NAME) with or without parentheses. */
static bool is_true(struct cpp *c, struct lexer l, u32 end)
{
	struct lexer ahead = l;
	struct token t = next_on_line(&ahead, end);
	bool negate = t.kind == TOKEN_NOT;
	s64 value;

	if (negate)
		t = next_on_line(&ahead, end);
	if (t.kind == TOKEN_NAME && str_is(t.text, "defined")) {
		t = next_on_line(&ahead, end);
		if (t.kind == TOKEN_LPAREN)
			t = next_on_line(&ahead, end);
		return is_defined(c, t.text) != negate;
	}
	return constant(c, l, end, &value) && value;
}

static bool active(const struct cpp *c)
{
	return !c->n || c->stack[c->n - 1].active;
}

static void open_condition(struct cpp *c, bool holds, struct loc loc)
{
	bool now = active(c) && holds;

	if (c->n == CONDITIONS_MAX) {
		infer_error_now(c->in, loc, "conditions are nested more than %u levels deep",
		                CONDITIONS_MAX);
		return;
	}
	/* In a branch that does not count none inside does. */
	c->stack[c->n].taken = now || !active(c);
	c->stack[c->n++].active = now;
}

static void other_branch(struct cpp *c, bool holds)
{
	struct condition *top = &c->stack[c->n - 1];

	top->active = !top->taken && holds;
	top->taken |= top->active;
}

static void define(struct cpp *c, struct lexer l, u32 end)
{
	struct token name = next_on_line(&l, end);
	s64 value = 1;

	if (name.kind != TOKEN_NAME)
		return;
	/* NAME alone, or NAME constant; "NAME(" is a macro and has no value. */
	if (l.pos < end && l.source->text[l.pos] == '(')
		return;
	if (l.pos < end && !constant(c, l, end, &value)) {
		struct lexer rest = l;

		if (next_on_line(&rest, end).kind != TOKEN_END)
			return;
		value = 1;
	}
	infer_cdef_set_const(c->in, name.text, value);
}

static void hash_line(struct cpp *c, struct loc loc)
{
	struct lexer l = { .source = c->in->script->source,
		           .arena = c->in->arena,
		           .pos = loc.off + 1 };
	u32 end = loc.off + loc.len;
	struct token word = next_on_line(&l, end), name;
	struct lexer rest = l;

	if (word.kind != TOKEN_NAME)
		return;
	name = next_on_line(&rest, end);
	if (str_is(word.text, "ifdef"))
		open_condition(c, is_defined(c, name.text), loc);
	else if (str_is(word.text, "ifndef"))
		open_condition(c, !is_defined(c, name.text), loc);
	else if (str_is(word.text, "if"))
		open_condition(c, is_true(c, l, end), loc);
	else if (str_is(word.text, "elif") && c->n)
		other_branch(c, is_true(c, l, end));
	else if (str_is(word.text, "else") && c->n)
		other_branch(c, true);
	else if (str_is(word.text, "endif") && c->n)
		c->n--;
	else if (str_is(word.text, "define") && active(c))
		define(c, l, end);
}

void infer_definitions(struct infer *in)
{
	struct cpp c = { .in = in };

	for (const struct c_def *d = in->script->c_defs; d; d = d->next) {
		if (in->script->source->text[d->loc.off] == '#')
			hash_line(&c, d->loc);
		else if (active(&c))
			infer_cdef_read(in, d->loc);
	}
}
