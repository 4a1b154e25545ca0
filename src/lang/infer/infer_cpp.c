/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lines that begin with '#' in a script, as far as they matter without a C compiler: constants,
 * texts, conditions around definitions, and files that are included (parse_include.c). For headers
 * of the system, types come from BTF and integer macros from a table (constants.c).
 */
#include "lang/infer/infer.h"

#include "lang/parse/parse.h"

#define CONDITIONS_MAX 32u

struct condition {
	bool active;     /* this branch counts */
	bool taken;      /* this or an earlier branch counted */
	struct loc line; /* where it begins */
	u32 from;        /* and this branch of it */
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
static bool constant(struct cpp *c, struct lexer l, u32 end, bool in_if, struct number *value)
{
	struct token t = next_on_line(&l, end);

	return infer_cexpr(c->in, &l, &t, end, in_if, value) && t.kind == TOKEN_END;
}

bool infer_cdef_defined(struct infer *in, struct str name)
{
	struct err e = { 0 };
	struct number value;

	if (str_is(name, "BPFTRACE_HAVE_BTF"))
		return in->world->ops->btf(in->world, &e) != NULL;
	return hmap_find(&in->c_macros, name.p, name.n) || infer_cdef_const(in, name, &value);
}

const char *infer_cpp_string(struct infer *in, struct str name)
{
	void **slot = hmap_find(&in->c_macros, name.p, name.n);

	return slot ? *slot : NULL;
}

static bool active(const struct cpp *c)
{
	return !c->n || c->stack[c->n - 1].active;
}

/* What is wrong in a header need not matter to the script; headers also do what only a whole C
 * compiler follows, as conditions within a definition. */
static void complain(struct cpp *c, struct loc loc, const char *what, struct str word)
{
	u32 headers = c->in->script->source->headers;

	if (headers && loc.off >= headers)
		diag_warn(c->in->diags, loc, "#%.*s %s", STR_ARG(word), what);
	else
		infer_error_now(c->in, loc, "#%.*s %s", STR_ARG(word), what);
}

static bool is_true(struct cpp *c, struct lexer l, u32 end, struct loc line)
{
	struct number value;

	if (constant(c, l, end, true, &value))
		return value.value != 0;
	diag_warn(c->in->diags, line, "this is no constant expression: it is taken to be false");
	return false;
}

static void open_condition(struct cpp *c, bool holds, struct loc loc)
{
	bool now = active(c) && holds;
	struct condition *top = &c->stack[c->n];

	if (c->n == CONDITIONS_MAX) {
		infer_error_now(c->in, loc, "conditions are nested more than %u levels deep",
		                CONDITIONS_MAX);
		return;
	}
	/* In a branch that does not count none inside does. */
	*top = (struct condition){ now, now || !active(c), loc, loc.off + loc.len };
	c->n++;
}

/* As in bpftrace, conditions are about definitions: who wants to leave a probe out is warned. */
static void end_branch(struct cpp *c, u32 at)
{
	const struct condition *top = &c->stack[c->n - 1];

	if (top->active || (c->n > 1 && !c->stack[c->n - 2].active))
		return;
	for (const struct probe *p = c->in->script->probes; p; p = p->next) {
		if (p->loc.off < top->from || p->loc.off >= at)
			continue;
		diag_warn(c->in->diags, p->loc, "conditions have no effect on probes");
		diag_hint(c->in->diags,
		          "write a predicate: /has_probe(\"...\")/, or || between the "
		          "probes to choose from");
	}
}

/* #elif, #else or #endif: true when there is a condition it belongs to. */
static bool branch_ends(struct cpp *c, struct token word)
{
	if (!c->n) {
		complain(c, word.loc, "without an #if", word.text);
		return false;
	}
	end_branch(c, word.loc.off);
	return true;
}

static void other_branch(struct cpp *c, bool holds, struct loc line)
{
	struct condition *top = &c->stack[c->n - 1];

	top->active = !top->taken && holds;
	top->taken |= top->active;
	top->from = line.off + line.len;
}

static void no_directive(struct cpp *c, struct token word)
{
	static const char *const ignored[] = { "pragma", "line", "ident" };

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (str_is(word.text, ignored[i]))
			return;
	complain(c, word.loc, "is no line of the C preprocessor", word.text);
}

/* #error and #warning: the rest of the line. */
static struct str message(struct lexer l, u32 end)
{
	struct str text = { l.source->text + l.pos, end - l.pos };

	return str_trim(text, STR_BLANKS);
}

/* NAME alone, NAME expression, NAME "text". What uses names that come later is tried again; what is
 * no constant then is put where it is used (infer_cmacro.c). */
static void define(struct cpp *c, struct lexer l, u32 end)
{
	struct token name = next_on_line(&l, end), first;
	struct lexer rest = l;
	char *text = NULL;
	struct number value = number_plain(1);

	if (name.kind != TOKEN_NAME)
		return;
	first = next_on_line(&rest, end);
	if (first.kind == TOKEN_STRING && next_on_line(&rest, end).kind == TOKEN_END)
		text = arena_strndup(c->in->arena, first.text.p, first.text.n);
	hmap_put(&c->in->c_macros, infer_text(c->in, name.text), name.text.n, text);
	if (text)
		return;
	if (l.pos < end && l.source->text[l.pos] == '(') {
		infer_cmacro_define(c->in, name, l, end);
	} else if (first.kind == TOKEN_END || constant(c, l, end, false, &value)) {
		infer_cdef_set_const(c->in, name.text, &value);
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

/* The definitions of a header that is there come next. Those of the system are not looked for; one
 * of the user's own may hold what the script needs. */
static void include(struct cpp *c, struct c_def *d, struct lexer l, u32 end)
{
	struct token name = next_on_line(&l, end);

	if (parse_include(c->in->script, d, c->in->diags) || name.kind != TOKEN_STRING)
		return;
	diag_warn(c->in->diags, name.loc,
	          "there is no file \"%.*s\" here; types come from BTF and debug information",
	          STR_ARG(name.text));
	diag_hint(c->in->diags, "say where it is with -I DIR, or copy the definitions the script "
	                        "needs into it");
}

/* Until no more can be computed: each round a name may become known that others wait for. */
static void again(struct cpp *c)
{
	u32 before, left;

	do {
		before = c->pending.n;
		left = 0;
		for (u32 i = 0; i < before; i++) {
			const struct pending p = c->pending.v[i];
			struct number value;

			if (constant(c, p.rest, p.end, false, &value))
				infer_cdef_set_const(c->in, p.name, &value);
			else
				c->pending.v[left++] = p;
		}
		c->pending.n = left;
	} while (left && left < before);
}

static bool is_branch(struct str word)
{
	return str_is(word, "elif") || str_is(word, "else") || str_is(word, "endif");
}

/* The line that ends a branch. */
static void other_line(struct cpp *c, struct token word, struct lexer l, u32 end, struct loc line)
{
	if (!branch_ends(c, word))
		return;
	if (str_is(word.text, "endif"))
		c->n--;
	else if (str_is(word.text, "else"))
		other_branch(c, true, line);
	else
		other_branch(c, !c->stack[c->n - 1].taken && is_true(c, l, end, line), line);
}

static void hash_line(struct cpp *c, struct c_def *d)
{
	struct loc loc = d->loc;
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
		open_condition(c, active(c) && is_true(c, l, end, loc), loc);
	else if (is_branch(word.text))
		other_line(c, word, l, end, loc);
	else if (!active(c))
		return;
	else if (str_is(word.text, "define"))
		define(c, l, end);
	else if (str_is(word.text, "undef"))
		undefine(c, l, end);
	else if (str_is(word.text, "include"))
		include(c, d, l, end);
	else if (str_is(word.text, "error"))
		infer_error_now(c->in, loc, "%.*s", STR_ARG(message(l, end)));
	else if (str_is(word.text, "warning"))
		diag_warn(c->in->diags, loc, "%.*s", STR_ARG(message(l, end)));
	else
		no_directive(c, word);
}

void infer_definitions(struct infer *in)
{
	struct cpp c = { .in = in };

	parse_include_first(in->script, in->diags);
	for (struct c_def *d = in->script->c_defs; d; d = d->next) {
		if (in->script->source->text[d->loc.off] == '#')
			hash_line(&c, d);
		else if (active(&c))
			infer_cdef_read(in, d->loc);
	}
	if (c.n)
		complain(&c, c.stack[c.n - 1].line, "has no #endif", STR("if"));
	again(&c);
}
