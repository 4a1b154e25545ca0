/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lines that begin with '#' in a script, as far as they matter without a C compiler: constants,
 * texts, and conditions around definitions. Included headers are not read: types come from BTF,
 * integer macros from a table (constants.c).
 */
#include "lang/infer.h"

#include "lang/lex.h"

#define CONDITIONS_MAX 32u

struct condition {
	bool active; /* this branch counts */
	bool taken;  /* this or an earlier branch counted */
};

/* A #define that could not be computed yet. */
struct pending {
	struct str name;
	struct lexer rest;
	u32 end;
};

struct cpp {
	struct infer *in;
	struct condition stack[CONDITIONS_MAX];
	u32 n;
	VEC(struct pending) pending;
};

static struct token next_on_line(struct lexer *l, u32 end)
{
	struct token t = lex_next(l);

	if (t.loc.off >= end)
		t.kind = TOKEN_END;
	return t;
}

/* The expression that is all of the rest of the line. */
static bool constant(struct cpp *c, struct lexer l, u32 end, bool in_if, s64 *value)
{
	struct token t = next_on_line(&l, end);

	return infer_cexpr(c->in, &l, &t, end, in_if, value) && t.kind == TOKEN_END;
}

bool infer_cdef_defined(struct infer *in, struct str name)
{
	const struct type *type;
	struct err e = { 0 };
	s64 value;

	if (str_is(name, "BPFTRACE_HAVE_BTF"))
		return in->world->ops->btf(in->world, &e) != NULL;
	return hmap_find(&in->c_macros, name.p, name.n) ||
	       infer_cdef_const(in, name, &value, &type);
}

const char *infer_cpp_string(struct infer *in, struct str name)
{
	void **slot = hmap_find(&in->c_macros, name.p, name.n);

	return slot ? *slot : NULL;
}

static bool is_true(struct cpp *c, struct lexer l, u32 end)
{
	s64 value;

	return constant(c, l, end, true, &value) && value;
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

/* NAME alone, NAME expression, NAME "text". What uses names that come later is tried again; what is
 * no constant then is put where it is used (infer_cmacro.c). */
static void define(struct cpp *c, struct lexer l, u32 end)
{
	struct token name = next_on_line(&l, end), first;
	struct lexer rest = l;
	const char *text = NULL;
	s64 value = 1;

	if (name.kind != TOKEN_NAME)
		return;
	first = next_on_line(&rest, end);
	if (first.kind == TOKEN_STRING && next_on_line(&rest, end).kind == TOKEN_END)
		text = infer_text(c->in, first.text);
	hmap_put(&c->in->c_macros, infer_text(c->in, name.text), name.text.n, (void *)text);
	if (text)
		return;
	if (l.pos < end && l.source->text[l.pos] == '(') {
		infer_cmacro_define(c->in, name, l, end);
	} else if (first.kind == TOKEN_END || constant(c, l, end, false, &value)) {
		infer_cdef_set_const(c->in, name.text, value, NULL);
	} else {
		struct pending p = { name.text, l, end };

		vec_add(c->in->arena, &c->pending, p);
		infer_cmacro_define(c->in, name, l, end);
	}
}

static void undefine(struct cpp *c, struct lexer l, u32 end)
{
	struct token name = next_on_line(&l, end);

	if (name.kind == TOKEN_NAME)
		diag_warn(c->in->diags, name.loc, "#undef has no effect");
}

/* Headers are not read; one of the user's own may hold what the script needs. */
static void include(struct cpp *c, struct lexer l, u32 end)
{
	struct token name = next_on_line(&l, end);

	if (name.kind != TOKEN_STRING)
		return;
	diag_warn(c->in->diags, name.loc,
	          "\"%.*s\" is not read: types come from BTF and debug "
	          "information",
	          STR_ARG(name.text));
	diag_hint(c->in->diags, "copy the definitions the script needs into it");
}

static void again(struct cpp *c)
{
	for (u32 round = 0; round < c->pending.n; round++) {
		for (u32 i = 0; i < c->pending.n; i++) {
			const struct pending *p = &c->pending.v[i];
			s64 value;

			if (constant(c, p->rest, p->end, false, &value))
				infer_cdef_set_const(c->in, p->name, value, NULL);
		}
	}
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
		open_condition(c, infer_cdef_defined(c->in, name.text), loc);
	else if (str_is(word.text, "ifndef"))
		open_condition(c, !infer_cdef_defined(c->in, name.text), loc);
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
	else if (str_is(word.text, "undef") && active(c))
		undefine(c, l, end);
	else if (str_is(word.text, "include") && active(c))
		include(c, l, end);
	else if (str_is(word.text, "error") && active(c))
		infer_error_now(c->in, loc, "%.*s", (int)(end - l.pos),
		                l.source->text + l.pos + (l.pos < end));
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
	again(&c);
}
