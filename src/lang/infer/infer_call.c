/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls: what holds for all functions. Each function's own rule is a row of the table.
 */
#include "lang/infer/infer.h"

#include <inttypes.h>

static infer_rule *const rules[] = {
#define F(id, name, least, most, what, rule, ...) [FUNC_##id] = rule,
	FUNCTIONS(F)
#undef F
};

struct node *infer_arg(const struct node *call, u32 i)
{
	struct node *n = call->call.args;

	while (n && i--)
		n = n->next;
	return n;
}

const char *infer_literal(struct infer *in, struct node *call, u32 i)
{
	struct node *n = infer_arg(call, i);

	if (n->kind != NODE_STRING)
		infer_expr(in, n); /* a positional parameter becomes a string here */
	if (n->kind == NODE_STRING) {
		infer_expr(in, n);
		return infer_text(in, n->string);
	}
	if (n->type)
		infer_error(in, n->loc, "%s() needs a string literal here, not '%s'",
		            call->call.f->name, type_name(in->arena, n->type));
	return NULL;
}

bool infer_literal_int(struct infer *in, struct node *call, u32 i, s64 *value)
{
	struct node *n = infer_arg(call, i);

	if (!infer_integer_arg(in, n, call->call.f->name))
		return false;
	if (n->kind != NODE_INT) {
		infer_error(in, n->loc, "%s() needs a constant here", call->call.f->name);
		return false;
	}
	*value = (s64)n->integer.value;
	return true;
}

static const struct type *unknown_function(struct infer *in, struct node *n)
{
	struct loc loc = { n->loc.off, n->call.name.n };
	struct near near;

	if (func_absent(n->call.name))
		return infer_error(in, loc, "memtap has no %.*s()", STR_ARG(n->call.name));
	if (builtin_find(n->call.name)) {
		infer_error(in, n->loc, "%.*s() takes no such argument", STR_ARG(n->call.name));
		return NULL;
	}
	near_init(&near, infer_text(in, n->call.name));
	func_offer(&near);
	near_offer(&near, "sizeof");
	near_offer(&near, "offsetof");
	infer_error(in, loc, "Unknown function: '%.*s'", STR_ARG(n->call.name));
	infer_hint_near(in, &near);
	for (struct node *a = n->call.args; a; a = a->next)
		infer_expr(in, a);
	return NULL;
}

/* pid(init), pid(curr_ns) */
static bool is_namespace(const struct builtin *b, const struct node *arg)
{
	return (b->id == BUILTIN_PID || b->id == BUILTIN_TID) && arg->kind == NODE_IDENT &&
	       (str_is(arg->string, "init") || str_is(arg->string, "curr_ns"));
}

/* pid() is pid. */
static bool call_to_builtin(struct node *n)
{
	const struct builtin *b = builtin_find(n->call.name);
	const struct node *arg = n->call.args;

	if (!b || n->call.n_args > 1 || (arg && !is_namespace(b, arg)))
		return false;
	ast_set_builtin(n, n->call.name);
	if (arg && str_is(arg->string, "init"))
		n->builtin.n = 1;
	return true;
}

static const struct type *wrong_count(struct infer *in, const struct node *n)
{
	const struct func *f = n->call.f;

	if (f->min_args == f->max_args)
		return infer_error(in, n->loc, "%s() requires %u argument%s (%u provided)", f->name,
		                   f->min_args, f->min_args == 1 ? "" : "s", n->call.n_args);
	if (n->call.n_args < f->min_args)
		return infer_error(in, n->loc, "%s() requires at least %u argument%s (%u provided)",
		                   f->name, f->min_args, f->min_args == 1 ? "" : "s",
		                   n->call.n_args);
	return infer_error(in, n->loc, "%s() takes up to %u argument%s (%u provided)", f->name,
	                   f->max_args, f->max_args == 1 ? "" : "s", n->call.n_args);
}

const struct type *infer_call(struct infer *in, struct node *n)
{
	const struct func *f = n->call.f;

	if (infer_cmacro_take(in, n))
		return infer_cmacro_value(in, n);
	if (!f && call_to_builtin(n))
		return infer_builtin(in, n);
	if (!f)
		return unknown_function(in, n);
	if (n->call.n_args < f->min_args || n->call.n_args > f->max_args)
		return wrong_count(in, n);
	if (f->unsafe && !in->script->request.unsafe) {
		infer_error(in, n->loc, "%s() is an unsafe function being used in safe mode",
		            f->name);
		infer_hint(in, "run memtap with --unsafe to allow it");
		return NULL;
	}
	if (f->agg)
		return infer_error(in, n->loc, "%s() can only be assigned to a map: @x = %s(...)",
		                   f->name, f->name);
	return rules[f->id](in, n);
}
