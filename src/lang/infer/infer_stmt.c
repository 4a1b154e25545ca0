/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Statements and the variables they declare.
 *
 * The one idea: a variable belongs to the block it is first assigned or declared in, so two blocks
 * can each have a $x of their own. Older scripts use a variable after the block in which it was
 * assigned: one that is, and was not declared by `let`, belongs to the whole probe. A variable
 * is known from its first assignment in source order on; every pass finds the same one again.
 */
#include "lang/infer/infer.h"

#define UNROLL_MAX 100u

/* Of one probe. Each takes 8 bytes or more, so that no program has room for as many. */
#define VARIABLES_MAX 8192u

/* ---- variables ------------------------------------------------------------------------------ */

static bool is_named(const struct var_sym *sym, const struct node *var)
{
	return sym->scope == var->var.scope && str_is(var->var.name, sym->name);
}

static struct binding *find_implicit(struct infer *in, const struct node *var)
{
	for (u32 i = 0; i < in->implicit.n; i++)
		if (is_named(in->implicit.v[i]->sym, var))
			return in->implicit.v[i];
	return NULL;
}

static struct binding *binding_new(struct infer *in, const struct node *var)
{
	struct binding *b = arena_new(in->arena, struct binding);

	b->sym = arena_new(in->arena, struct var_sym);
	b->sym->name = infer_text(in, var->var.name);
	b->sym->scope = var->var.scope;
	in->changed = true;
	return b;
}

/* Each pass numbers the variables it meets. */
static void see(struct infer *in, struct binding *b)
{
	if (b->pass == in->pass)
		return;
	b->pass = in->pass;
	b->sym->index = in->variant->vars.n;
	vec_add(in->arena, &in->variant->vars, b->sym);
}

static struct binding *find_visible(struct infer *in, const struct node *var)
{
	struct binding *b;

	for (u32 i = in->scope.n; i-- > 0;)
		if (is_named(in->scope.v[i]->sym, var))
			return in->scope.v[i];
	b = find_implicit(in, var);
	return b && b->pass == in->pass ? b : NULL;
}

/* The visible binding of a VAR node, NULL when there is none. A variable whose block has ended is
 * made one of the whole probe from the next pass on. */
static struct binding *find_binding(struct infer *in, const struct node *var)
{
	struct binding *b = find_visible(in, var);

	if (b || find_implicit(in, var))
		return b;
	for (u32 i = 0; i < in->left.n; i++)
		if (is_named(in->left.v[i]->sym, var)) {
			vec_add(in->arena, &in->implicit, binding_new(in, var));
			break;
		}
	return NULL;
}

/* Makes the variable of a declaring node visible until the block ends. The node remembers its
 * symbol from pass to pass. */
static struct binding *var_bind(struct infer *in, struct node *var, bool let)
{
	struct binding *b;

	if (in->variant->vars.n == VARIABLES_MAX && !in->stopped) {
		infer_error_now(in, var->loc, "this probe has more than %u variables",
		                VARIABLES_MAX);
		in->stopped = true;
	}
	if (var->var.sym) {
		b = arena_new(in->arena, struct binding);
		b->sym = var->var.sym;
	} else {
		b = binding_new(in, var);
		var->var.sym = b->sym;
	}
	b->let = let;
	see(in, b);
	vec_add(in->arena, &in->scope, b);
	return b;
}

static struct binding *var_declare(struct infer *in, struct node *var)
{
	if (find_visible(in, var))
		infer_error(in, var->loc,
		            "Variable %.*s was already declared; it can not be shadowed",
		            STR_ARG(var->var.name));
	return var_bind(in, var, true);
}

/* The variable that `$x = ...` assigns to. */
static struct binding *var_assigned(struct infer *in, struct node *var)
{
	struct binding *b = find_visible(in, var);

	if (b)
		return b;
	b = find_implicit(in, var);
	if (!b)
		return var_bind(in, var, false);
	see(in, b);
	return b;
}

static void leave_block(struct infer *in, u32 outer)
{
	for (u32 i = outer; i < in->scope.n; i++)
		if (!in->scope.v[i]->let)
			vec_add(in->arena, &in->left, in->scope.v[i]);
	in->scope.n = outer;
}

static void var_set_type(struct infer *in, struct binding *b, const struct type *type)
{
	if (b->sym->type && type_eq(b->sym->type, type) && b->sym->type->bounded == type->bounded &&
	    b->sym->type->space == type->space)
		return;
	b->sym->type = type;
	in->changed = true;
}

/* The value goes into a variable of narrower type: cut it to that. */
static void cut_to(struct infer *in, struct node *n, const struct type *type)
{
	struct node *inner;

	if (type->kind != TYPE_INT || type->size == 8 || !n->type || n->type->kind != TYPE_INT ||
	    type_eq(n->type, type))
		return;
	inner = arena_new(in->arena, struct node);
	*inner = *n;
	inner->next = NULL;
	n->kind = NODE_CAST;
	n->type = type;
	n->cast.e = inner;
	n->cast.to = (struct type_name){ .text = str_of(type_name(in->arena, type)),
		                         .array = -1,
		                         .loc = n->loc };
}

/* A value goes into a variable whose type is written. */
static void fit(struct infer *in, struct binding *b, struct node *value)
{
	const struct type *t = b->sym->type;

	if (t->kind == TYPE_STR && t->bounded && !value->type->bounded)
		var_set_type(in, b, type_str(in->arena, t->count, false));
	else
		cut_to(in, value, t);
}

static void var_assign(struct infer *in, struct binding *b, struct node *value, struct loc loc)
{
	const struct type *old = b->sym->type, *type;

	if (!value->type)
		return;
	if (!b->fixed)
		infer_own_take(in, &b->sym->own, value);
	if (!old) {
		var_set_type(in, b, infer_rest(in, value->type));
		return;
	}
	type = infer_unify_node(in, old, value);
	if (type && b->fixed && type->kind == TYPE_STR && type->count > old->count)
		type = NULL; /* it would be cut */
	if (!type) {
		infer_error(
			in, loc,
			"Type mismatch for %s: trying to assign value of type '%s' when variable "
			"already has a type '%s'",
			b->sym->name, type_name(in->arena, value->type), type_name(in->arena, old));
		return;
	}
	if (b->fixed)
		fit(in, b, value);
	else
		var_set_type(in, b, infer_rest(in, type));
}

/* ---- assignments ---------------------------------------------------------------------------- */

/* target op= e: the value is what `target op e` would be. */
static const struct type *compound_type(struct infer *in, struct node *n, const struct type *old)
{
	const struct type *by = n->assign.e->type;
	struct number left, right;

	if (!by)
		return NULL;
	if (!old)
		old = n->assign.op == OP_SUB ? &type_s64 : infer_widen(by);
	if (old->kind == TYPE_PTR && by->kind == TYPE_INT &&
	    (n->assign.op == OP_ADD || n->assign.op == OP_SUB))
		return old;
	if ((old->kind != TYPE_INT && old->kind != TYPE_BOOL) ||
	    (by->kind != TYPE_INT && by->kind != TYPE_BOOL))
		return infer_error(in, n->loc, "Operator '%s=' can not be applied to '%s' and '%s'",
		                   op_text(n->assign.op), type_name(in->arena, old),
		                   type_name(in->arena, by));
	left = (struct number){ .type = old };
	right = infer_number(in, n->assign.e);
	return number_type(n->assign.op, &left, &right);
}

/* A block with an aggregation as its value, which only a map can take. */
static bool is_agg_block(const struct node *e)
{
	if (e->kind != NODE_BLOCK)
		return false;
	while (e->kind == NODE_BLOCK && e->result)
		e = e->result;
	return infer_is_agg(e);
}

/* @m = { ...; count() } becomes { ...; @m = count(); } */
static void assign_inside(struct infer *in, struct node *n)
{
	struct node *block = n->assign.e, **end = &block->stmts, *next = n->next;
	struct node *assign = ast_node(in->arena, NODE_ASSIGN, n->loc);

	assign->assign.to = n->assign.to;
	assign->assign.e = block->result;
	block->result = NULL;
	while (*end)
		end = &(*end)->next;
	*end = assign;
	*n = *block;
	n->next = next;
	infer_block(in, n);
}

static void assign_map(struct infer *in, struct node *n)
{
	struct node *to = n->assign.to, *e = n->assign.e;
	bool macro = infer_cmacro_take(in, e);
	bool agg = !macro && infer_is_agg(e);
	const struct type *type;

	if (agg && n->assign.op != OP_NONE) {
		infer_error(in, n->loc, "%s() can only be assigned with '='", infer_agg_name(e));
		return;
	}
	if (agg)
		type = e->type = infer_agg(in, e);
	else
		type = infer_storable(in, e);
	if (n->assign.op != OP_NONE) {
		const struct type *old = infer_map_read(in, to, true);

		if (old && type_is_agg(old)) {
			infer_error(in, n->loc, "%s holds %s: '%s=' can not change it",
			            to->map.sym->name, type_name(in->arena, old),
			            op_text(n->assign.op));
			return;
		}
		type = compound_type(in, n, old);
	}
	infer_map_assign(in, to, n->assign.op == OP_NONE ? e : NULL, type, n->loc);
}

static const struct type *undefined(struct infer *in, const struct node *var)
{
	struct near near;

	near_init(&near, infer_text(in, var->var.name));
	for (u32 i = 0; i < in->scope.n; i++)
		near_offer(&near, in->scope.v[i]->sym->name);
	for (u32 i = 0; i < in->implicit.n; i++)
		if (in->implicit.v[i]->pass == in->pass)
			near_offer(&near, in->implicit.v[i]->sym->name);
	for (u32 i = 0; i < in->left.n; i++)
		near_offer(&near, in->left.v[i]->sym->name);
	infer_error(in, var->loc, "Undefined or undeclared variable: %.*s", STR_ARG(var->var.name));
	infer_hint_near(in, &near);
	return NULL;
}

const struct type *infer_var(struct infer *in, struct node *n)
{
	struct binding *b = find_binding(in, n);

	if (!b)
		return undefined(in, n);
	n->var.sym = b->sym;
	return b->sym->type;
}

static void assign_var(struct infer *in, struct node *n)
{
	struct node *to = n->assign.to, *e = n->assign.e;
	struct binding *b;

	if (!infer_cmacro_take(in, e) && e->kind == NODE_CALL && e->call.f && e->call.f->agg) {
		infer_error(in, e->loc, "%s() can only be assigned to a map: @x = %s(...)",
		            e->call.f->name, e->call.f->name);
		return;
	}
	infer_storable(in, e);
	b = n->assign.op == OP_NONE ? var_assigned(in, to) : find_binding(in, to);
	if (n->assign.op != OP_NONE) {
		const struct type *type;

		if (!b) {
			undefined(in, to);
			return;
		}
		type = compound_type(in, n, b->sym->type);
		if (type && !b->fixed) {
			infer_own_add(in, &b->sym->own, type);
			var_set_type(in, b,
			             b->sym->type ? infer_unify(in, b->sym->type, type) : type);
		}
	} else {
		var_assign(in, b, e, n->loc);
	}
	to->var.sym = b->sym;
	to->type = b->sym->type;
}

static void stmt_assign(struct infer *in, struct node *n)
{
	struct node *to = n->assign.to, *e = n->assign.e;

	if (to->kind == NODE_MAP && n->assign.op == OP_NONE && is_agg_block(e)) {
		assign_inside(in, n);
		return;
	}
	if (to->kind == NODE_MAP)
		assign_map(in, n);
	else if (to->kind == NODE_VAR)
		assign_var(in, n);
	else
		infer_error(in, to->loc, "only maps and variables can be assigned to");
	if (n->assign.op != OP_NONE && to->type && e->type) {
		struct number left = infer_number(in, to), right = infer_number(in, e);

		n->assign.is_signed = number_is_signed(n->assign.op, &left, &right);
	}
}

static void stmt_let(struct infer *in, struct node *n)
{
	struct node *e = n->let.e;
	const struct type *as = NULL;
	struct binding *b;

	if (e)
		infer_storable(in, e);
	if (n->let.has_type)
		as = infer_type_name(in, &n->let.as,
		                     e && e->type && e->type->kind == TYPE_PTR ? e->type->space
		                                                               : infer_space(in));
	if (as)
		as = infer_complete(in, as);
	b = var_declare(in, n->let.var);
	if (as && as->kind == TYPE_STR) /* what does not fit is refused */
		as = type_str(in->arena, as->count, !b->sym->type || b->sym->type->bounded);
	if (as) {
		b->fixed = true;
		var_set_type(in, b, as);
	}
	if (e)
		var_assign(in, b, e, n->loc);
	n->let.var->type = b->sym->type;
	/* Declared and never assigned: an integer, 0. Of a value that is wrong nothing more is
	 * said. */
	if (in->final && !b->sym->type && (!e || e->type))
		n->let.var->type = b->sym->type = &type_s64;
}

/* ---- the others ----------------------------------------------------------------------------- */

void infer_condition(struct infer *in, struct node *n, const char *what)
{
	const struct type *t = infer_value(in, n);

	if (t && !type_is_scalar(t))
		infer_error(in, n->loc, "%s must be an integer, a bool or a pointer, not '%s'",
		            what, type_name(in->arena, t));
}

static void stmt_if(struct infer *in, struct node *n);

/* What is after `if` or `else`; NULL: nothing. */
static void branch(struct infer *in, struct node *n, bool dead)
{
	in->dead += dead;
	if (n && n->kind == NODE_IF)
		stmt_if(in, n);
	else if (n)
		infer_block(in, n);
	in->dead -= dead;
}

static bool note_asking(void *ctx, struct node *n)
{
	bool *asks = ctx;

	*asks |= n->kind == NODE_PARAM || n->kind == NODE_PARAM_COUNT ||
	         (n->kind == NODE_CALL && n->call.f && n->call.f->id == FUNC_GETOPT);
	return true;
}

/* Before the first pass makes constants of what was asked for. */
static void note_condition(struct node *n)
{
	if (!n->branch.seen)
		ast_walk(n->branch.cond, note_asking, &n->branch.asks);
	n->branch.seen = true;
}

/* A constant condition leaves one branch that can run; one that comptime or is_...() decided takes
 * the other away. */
static void stmt_if(struct infer *in, struct node *n)
{
	const struct node *cond = n->branch.cond;
	bool decided, taken;

	note_condition(n);
	infer_condition(in, n->branch.cond, "a condition");
	decided = infer_is_comptime(cond);
	if (decided && cond->kind != NODE_INT)
		return; /* not known yet, or reported */
	taken = cond->kind != NODE_INT || cond->integer.value;
	if (decided && taken)
		n->branch.no = NULL;
	else if (decided)
		n->branch.yes = ast_node(in->arena, NODE_BLOCK, n->branch.yes->loc);
	in->asking += n->branch.asks;
	branch(in, n->branch.yes, !taken);
	branch(in, n->branch.no, cond->kind == NODE_INT && taken);
	in->asking -= n->branch.asks;
}

static void loop_body(struct infer *in, struct node *body)
{
	in->loops++;
	infer_block(in, body);
	in->loops--;
}

static void stmt_while(struct infer *in, struct node *n)
{
	infer_condition(in, n->loop.cond, "a condition");
	loop_body(in, n->loop.body);
}

static void stmt_unroll(struct infer *in, struct node *n)
{
	struct node *count = n->loop.cond;

	if (infer_integer(in, count, "the count of unroll")) {
		if (count->kind != NODE_INT)
			infer_error(in, count->loc, "the count of unroll must be a constant");
		else if ((s64)count->integer.value < 1)
			infer_error(in, count->loc, "unroll minimum value is 1");
		else if (count->integer.value > UNROLL_MAX)
			infer_error(in, count->loc, "unroll maximum value is %u", UNROLL_MAX);
	}
	loop_body(in, n->loop.body);
}

static void stmt_range(struct infer *in, struct node *n)
{
	u32 outer = in->scope.n;
	struct binding *b;

	infer_integer(in, n->range.from, "the start of a range");
	infer_integer(in, n->range.to, "the end of a range");
	b = var_declare(in, n->range.var);
	b->fixed = true;
	var_set_type(in, b, &type_s64);
	n->range.var->type = b->sym->type;
	loop_body(in, n->range.body);
	leave_block(in, outer);
}

/* $kv of `for ($kv : @m)`: key and value as a pair. */
static const struct type *pair_type(struct infer *in, struct node *n)
{
	struct map_info *m = infer_map_whole(in, n->each.map);
	const struct type *parts[2];

	if (!m)
		return infer_error(in, n->each.map->loc, "for needs a map");
	if (m->bare && !m->keyed)
		return infer_error(in, n->each.map->loc, "%s has no keys to loop over",
		                   m->sym->name);
	if (!m->sym->key || !m->sym->value)
		return infer_undefined_map(in, n->each.map, m);
	parts[0] = m->sym->key;
	parts[1] = infer_map_readable(m->sym->value);
	if (!parts[1])
		return infer_error(in, n->each.map->loc, "the values of %s (%s) can not be read",
		                   m->sym->name, type_name(in->arena, m->sym->value));
	return type_tuple(in->arena, parts, 2);
}

static void stmt_each(struct infer *in, struct node *n)
{
	const struct type *type = pair_type(in, n);
	u32 outer = in->scope.n;
	struct binding *b = var_declare(in, n->each.var);

	b->fixed = true;
	if (type)
		var_set_type(in, b, type);
	n->each.var->type = b->sym->type;
	loop_body(in, n->each.body);
	leave_block(in, outer);
}

static void stmt_jump(struct infer *in, struct node *n)
{
	if (!in->loops)
		infer_error(in, n->loc, "'%s' is only possible in a loop",
		            n->kind == NODE_BREAK ? "break" : "continue");
}

static void infer_stmt(struct infer *in, struct node *n)
{
	switch (n->kind) {
	case NODE_EXPR:
		infer_expr(in, n->expr);
		break;
	case NODE_RETURN:
		if (n->expr)
			infer_integer(in, n->expr, "the value of return");
		break;
	case NODE_ASSIGN:
		stmt_assign(in, n);
		break;
	case NODE_LET:
		stmt_let(in, n);
		break;
	case NODE_IF:
		stmt_if(in, n);
		break;
	case NODE_WHILE:
		stmt_while(in, n);
		break;
	case NODE_UNROLL:
		stmt_unroll(in, n);
		break;
	case NODE_FOR_RANGE:
		stmt_range(in, n);
		break;
	case NODE_FOR_MAP:
		stmt_each(in, n);
		break;
	case NODE_BLOCK:
		infer_block(in, n);
		break;
	case NODE_BREAK:
	case NODE_CONTINUE:
		stmt_jump(in, n);
		break;
	default:
		infer_expr(in, n);
		break;
	}
}

const struct type *infer_block_value(struct infer *in, struct node *block)
{
	struct expansion expansion = { block, in->expansion };
	const struct type *t = &type_none;
	u32 outer = in->scope.n;

	if (block->macro)
		in->expansion = &expansion;
	for (struct node *n = block->stmts; n && !in->stopped; n = n->next)
		infer_stmt(in, n);
	if (block->result)
		t = infer_expr(in, block->result);
	leave_block(in, outer);
	in->expansion = expansion.outer;
	return t;
}

void infer_block(struct infer *in, struct node *block)
{
	infer_block_value(in, block);
}
