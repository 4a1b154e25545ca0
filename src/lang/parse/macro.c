/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Macros. A use is replaced by a copy of the body, as a block with a value, in which parameters
 * are replaced by the arguments:
 *
 *     macro add($sum, @seen, by) { @seen++; $sum += by; $sum }
 *     BEGIN { $x = 1; print(add($x, @a, pid * 2)); }
 *
 * The one idea: variables carry the number of the use they belong to, so a body's own variables
 * can not meet those of the script or of another use. Maps are of the whole script, so a
 * body may only name those it was given.
 *
 * Nothing is typed here; a mistake in a body is found where it is used.
 */
#include "lang/parse/macro.h"

#include "lang/parse/ast_slots.h"
#include "lang/parse/lang.h"
#include "lang/parse/lex.h"
#include "lang/parse/stdlib.h"

#define NODES_MAX 200000u /* that expansion may add: uses in uses multiply */
#define DEPTH_MAX 5000u   /* of the tree: everything that walks it is recursive */

struct expander {
	struct script *script;
	struct diags *d;
	u32 uses;        /* so far: numbers the scopes */
	u32 nodes;       /* copied so far */
	bool in_library; /* in a body of the library, which knows none of the script's macros */
	bool stop;
};

/* A use at work: what is put in place of what. */
struct use {
	struct expander *x;
	const struct macro *macro;
	struct node *args;
	u32 scope;
	struct loc loc; /* of the call */
	bool is_define; /* #define: variables and maps are the script's, fields may be arguments */
};

static bool give_up(struct expander *x, struct loc loc, const char *text)
{
	if (!x->stop)
		diag_error(x->d, loc, "%s", text);
	x->stop = true;
	return false;
}

/* ---- which macro ---------------------------------------------------------------------------- */

static struct str param_name(const struct node *param)
{
	if (param->kind == NODE_VAR)
		return param->var.name;
	return param->kind == NODE_MAP ? param->map.name : param->string;
}

static bool fits(const struct node *param, const struct node *arg)
{
	if (param->kind == NODE_VAR)
		return arg->kind == NODE_VAR;
	return param->kind != NODE_MAP || (arg->kind == NODE_MAP && !arg->map.keys);
}

/* How well the arguments fit, above 0; 0: not at all. */
static u32 fitness(const struct macro *m, const struct node *call)
{
	const struct node *arg = call->call.args;
	u32 exact = 1;

	if (m->n_params != call->call.n_args)
		return 0;
	for (const struct node *p = m->params; p; p = p->next, arg = arg->next) {
		if (!fits(p, arg))
			return 0;
		exact += p->kind != NODE_IDENT;
	}
	return exact;
}

/* "add($sum, @seen, by)" */
static const char *signature(struct arena *a, const struct macro *m)
{
	const char *text = arena_strndup(a, m->name.p, m->name.n);

	text = arena_printf(a, "%s(", text);
	for (const struct node *p = m->params; p; p = p->next)
		text = arena_printf(a, "%s%.*s%s", text, STR_ARG(param_name(p)),
		                    p->next ? ", " : "");
	return arena_printf(a, "%s)", text);
}

/* Has the script a #define of that name with parameters? Which of them counts is known later. */
static bool has_define(const struct script *s, struct str name)
{
	for (const struct c_def *d = s->c_defs; d; d = d->next) {
		struct lexer l = { .source = s->source, .arena = s->arena, .pos = d->loc.off };

		if (s->source->text[l.pos++] == '#' && str_is(lex_next(&l).text, "define") &&
		    str_eq(lex_next(&l).text, name) && s->source->text[l.pos] == '(')
			return true;
	}
	return false;
}

/* Reads the library's macros of that name, once. */
static bool take_library(struct expander *x, struct str name)
{
	const char *text = x->in_library || !has_define(x->script, name) ? stdlib_find(name) : NULL;

	for (const struct macro *m = x->script->macros; m; m = m->next)
		if (m->library && str_eq(m->name, name))
			return false;
	return text && parse_library(x->script, text, x->d);
}

/* A macro that has the name of a function or variable is that one in its own body. */
static bool is_visible(const struct expander *x, const struct macro *m, bool is_known)
{
	return (m->library || !x->in_library) && !(m->at_work && is_known);
}

/* The macro a call means; NULL when it is none. Of several the one with more parameters that say
 * what they take. The script's own come before the library's. */
static struct macro *find(struct expander *x, const struct node *call)
{
	struct macro *best = NULL, *other = NULL;
	u32 most = 0;

	for (struct macro *m = x->script->macros; m; m = m->next) {
		u32 n;

		if (!str_eq(m->name, call->call.name) || !is_visible(x, m, call->call.f))
			continue;
		n = fitness(m, call);
		if (n > most) {
			most = n;
			best = m;
		}
		other = m;
	}
	if (!best && take_library(x, call->call.name))
		return find(x, call);
	if (best || !other || call->call.f)
		return best;
	diag_error(x->d, call->loc, "macro '%.*s' does not take these arguments",
	           STR_ARG(other->name));
	diag_hint(x->d, "it is defined as %s", signature(x->script->arena, other));
	return NULL;
}

/* ---- expansion ------------------------------------------------------------------------------ */

static const struct node *argument(const struct use *u, enum node_kind kind, struct str name)
{
	const struct node *arg = u->args;

	for (const struct node *p = u->macro->params; p && arg; p = p->next, arg = arg->next)
		if (p->kind == kind && str_eq(param_name(p), name))
			return arg;
	return NULL;
}

static bool count_node(void *ctx, struct node *n)
{
	u32 *nodes = ctx;

	(void)n;
	return ++*nodes <= NODES_MAX;
}

static bool has_room(const struct use *u)
{
	if (u->x->nodes > NODES_MAX)
		give_up(u->x, u->macro->loc,
		        "the uses of macros in macros make this script too large");
	return !u->x->stop;
}

/* Puts a copy of the argument in the place of n, in the list that n is in. */
static void put(const struct use *u, struct node *n, const struct node *arg)
{
	struct node one = *arg, *next = n->next;

	one.next = NULL;
	ast_walk(&one, count_node, &u->x->nodes);
	if (!has_room(u))
		return;
	*n = *ast_copy(ast_arena(u->x->script), &one);
	n->next = next;
}

static bool is_of_type(const struct node *n)
{
	return n->kind == NODE_SIZEOF || n->kind == NODE_OFFSETOF || n->kind == NODE_TYPEINFO;
}

/* What is wrong in a library's body is wrong in the call. */
static void relocate(struct node *n, struct loc loc)
{
	n->loc = loc;
	if (n->kind == NODE_CAST)
		n->cast.to.loc = loc;
	else if (is_of_type(n))
		n->size.of.loc = loc;
}

/* sizeof(x): the parser takes a bare name for a type; in a macro it may be an argument. */
static void substitute_type(const struct use *u, struct node *n)
{
	const struct type_name *of = &n->size.of;

	if (!is_of_type(n) || n->size.e || of->pointers || of->array >= 0 ||
	    !argument(u, NODE_IDENT, of->text))
		return;
	n->size.e = ast_node(ast_arena(u->x->script), NODE_IDENT, of->loc);
	n->size.e->string = of->text;
}

/* #define GET(p, f) ((p)->f) */
static void substitute_field(const struct use *u, struct node *n)
{
	const struct node *arg = argument(u, NODE_IDENT, n->field.name);

	if (arg && arg->kind == NODE_IDENT)
		n->field.name = arg->string;
	else if (arg && arg->kind == NODE_BUILTIN)
		n->field.name = arg->builtin.name;
}

static void substitute(const struct use *u, struct node *n);

static void substitute_below(const struct use *u, struct node *n)
{
	struct node **slot;

	for (u32 i = 0; (slot = ast_slot(n, i)); i++)
		for (struct node *kid = *slot; kid; kid = kid->next)
			substitute(u, kid);
}

static void substitute(const struct use *u, struct node *n)
{
	const struct node *arg = NULL;

	u->x->nodes++;
	if (!has_room(u))
		return;
	if (n->kind == NODE_VAR)
		arg = argument(u, NODE_VAR, n->var.name);
	else if (n->kind == NODE_IDENT)
		arg = argument(u, NODE_IDENT, n->string);
	else if (n->kind == NODE_BUILTIN)
		arg = argument(u, NODE_IDENT, n->builtin.name);
	if (arg) {
		put(u, n, arg);
		return;
	}
	if (u->macro->library)
		relocate(n, u->loc);
	if (u->is_define && n->kind == NODE_FIELD)
		substitute_field(u, n);
	if (n->kind == NODE_VAR)
		n->var.scope = u->scope;
	if (n->kind == NODE_MAP && (arg = argument(u, NODE_MAP, n->map.name)))
		n->map.name = arg->map.name;
	substitute_type(u, n);
	substitute_below(u, n);
}

static void expand(struct expander *x, struct node *n, u32 depth);

static void expand_below(struct expander *x, struct node *n, u32 depth)
{
	struct node **slot;

	for (u32 i = 0; (slot = ast_slot(n, i)); i++)
		for (struct node *kid = *slot; kid; kid = kid->next)
			expand(x, kid, depth + 1);
}

/* n, a call, becomes the macro's body. */
static void replace(struct expander *x, struct node *n, struct macro *m, u32 depth)
{
	struct node *body, *next = n->next;
	struct use u = { x, m, n->call.args, ++x->uses, n->loc, false };
	bool in_library = x->in_library;

	if (m->at_work) {
		diag_error(x->d, n->loc, "macro '%.*s' uses itself", STR_ARG(m->name));
		return;
	}
	expand_below(x, n, depth); /* the arguments, which may use this macro too */
	body = ast_copy(ast_arena(x->script), m->body);
	substitute_below(&u, body);
	m->at_work = true;
	x->in_library |= m->library;
	expand_below(x, body, depth);
	x->in_library = in_library;
	m->at_work = false;
	body->loc = n->loc;
	body->macro = m;
	*n = *body;
	n->next = next;
}

/* The name alone of a macro of the script that takes nothing. */
static bool is_bare_use(const struct expander *x, struct str name)
{
	bool is_known = builtin_find(name);

	for (const struct macro *m = x->script->macros; m; m = m->next)
		if (!m->library && !m->n_params && str_eq(m->name, name) &&
		    is_visible(x, m, is_known))
			return true;
	return false;
}

/* Makes it a call. */
static void take_bare_use(const struct expander *x, struct node *n)
{
	struct str name = n->kind == NODE_BUILTIN ? n->builtin.name : n->string;
	struct node *call;

	if (!is_bare_use(x, name))
		return;
	call = ast_node(ast_arena(x->script), NODE_CALL, n->loc);
	call->call.name = name;
	call->next = n->next;
	*n = *call;
}

static void expand(struct expander *x, struct node *n, u32 depth)
{
	struct macro *m;

	if (x->stop)
		return;
	if (depth > DEPTH_MAX) {
		give_up(x, n->loc, "macros in macros are nested too deeply here");
		return;
	}
	if (n->kind == NODE_IDENT || n->kind == NODE_BUILTIN)
		take_bare_use(x, n);
	m = n->kind == NODE_CALL ? find(x, n) : NULL;
	if (m)
		replace(x, n, m, depth);
	else
		expand_below(x, n, depth);
}

/* ---- definitions ---------------------------------------------------------------------------- */

struct check {
	struct diags *d;
	const struct macro *macro;
};

static bool check_node(void *ctx, struct node *n)
{
	const struct check *c = ctx;
	const struct use u = { .macro = c->macro, .args = c->macro->params };

	if (n->kind == NODE_MAP && !argument(&u, NODE_MAP, n->map.name)) {
		diag_error(c->d, n->loc, "%.*s is not a parameter of macro '%.*s'",
		           STR_ARG(n->map.name), STR_ARG(c->macro->name));
		diag_hint(c->d, "a macro changes only the maps and variables it is given");
	}
	return true;
}

static bool same_shape(const struct macro *a, const struct macro *b)
{
	const struct node *q = b->params;

	if (!str_eq(a->name, b->name) || a->n_params != b->n_params)
		return false;
	for (const struct node *p = a->params; p; p = p->next, q = q->next)
		if (p->kind != q->kind)
			return false;
	return true;
}

static void check_params(struct diags *d, const struct macro *m)
{
	for (const struct node *p = m->params; p; p = p->next)
		for (const struct node *q = p->next; q; q = q->next)
			if (str_eq(param_name(p), param_name(q)))
				diag_error(d, q->loc, "macro '%.*s' has two parameters '%.*s'",
				           STR_ARG(m->name), STR_ARG(param_name(q)));
}

static void check_definition(struct script *s, struct diags *d, const struct macro *m)
{
	struct check c = { d, m };

	for (const struct macro *n = s->macros; n != m; n = n->next)
		if (same_shape(n, m))
			diag_error(d, m->loc, "macro '%.*s' is defined twice with these parameters",
			           STR_ARG(m->name));
	check_params(d, m);
	ast_walk(m->body, check_node, &c);
}

bool macro_expand(struct script *s, struct diags *d)
{
	struct expander x = { .script = s, .d = d };
	u32 errors = d->n_errors;

	for (const struct macro *m = s->macros; m; m = m->next)
		check_definition(s, d, m);
	if (d->n_errors != errors)
		return false;
	for (struct probe *p = s->probes; p; p = p->next) {
		if (p->pred)
			expand(&x, p->pred, 0);
		expand(&x, p->body, 0);
	}
	return d->n_errors == errors;
}

bool macro_expand_probe(struct script *s, struct probe *p, struct diags *d)
{
	struct expander x = { .script = s, .d = d };
	u32 errors = d->n_errors;

	if (p->pred)
		expand(&x, p->pred, 0);
	expand(&x, p->body, 0);
	return d->n_errors == errors;
}

bool macro_put(struct script *s, const struct macro *m, struct node *n, struct diags *d)
{
	struct expander x = { .script = s, .d = d, .nodes = s->macro_nodes };
	struct node *body = ast_copy(ast_arena(s), m->body), *next = n->next;
	struct use u = { .x = &x, .macro = m, .loc = n->loc, .is_define = true };

	if (n->kind == NODE_CALL)
		u.args = n->call.args;
	substitute_below(&u, body);
	s->macro_nodes = x.nodes;
	if (x.stop)
		return false;
	body->loc = n->loc;
	body->macro = m;
	*n = *body;
	n->next = next;
	return true;
}
