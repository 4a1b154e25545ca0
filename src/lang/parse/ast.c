/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Making, copying and walking trees. One table says where each kind of node keeps what is below
 * it; everything that goes through a tree without looking at meanings reads that table.
 */
#include "lang/parse/ast.h"
#include "lang/parse/ast_slots.h"

#include <string.h>

#define AT(member) offsetof(struct node, member)

/* Offsets of the pointers (to a node or a list of nodes) in source order, 0 ends. */
static const u16 slots[][AST_SLOTS] = {
	[NODE_CALL] = { AT(call.args) },
	[NODE_MAP] = { AT(map.keys) },
	[NODE_UNARY] = { AT(unary.e) },
	[NODE_BINARY] = { AT(binary.left), AT(binary.right) },
	[NODE_TERNARY] = { AT(ternary.cond), AT(ternary.yes), AT(ternary.no) },
	[NODE_FIELD] = { AT(field.e) },
	[NODE_TUPLE_AT] = { AT(tuple_at.e) },
	[NODE_INDEX] = { AT(index.e), AT(index.i) },
	[NODE_CAST] = { AT(cast.to.e), AT(cast.e) },
	[NODE_SIZEOF] = { AT(size.e), AT(size.of.e) },
	[NODE_TYPEINFO] = { AT(size.e), AT(size.of.e) },
	[NODE_OFFSETOF] = { AT(size.e), AT(size.of.e) },
	[NODE_TUPLE] = { AT(tuple.items) },
	[NODE_EXPR] = { AT(expr) },
	[NODE_RETURN] = { AT(expr) },
	[NODE_ASSIGN] = { AT(assign.to), AT(assign.e) },
	[NODE_LET] = { AT(let.var), AT(let.as.e), AT(let.e) },
	[NODE_IF] = { AT(branch.cond), AT(branch.yes), AT(branch.no) },
	[NODE_WHILE] = { AT(loop.cond), AT(loop.body) },
	[NODE_UNROLL] = { AT(loop.cond), AT(loop.body) },
	[NODE_FOR_RANGE] = { AT(range.var), AT(range.from), AT(range.to), AT(range.body) },
	[NODE_FOR_MAP] = { AT(each.var), AT(each.map), AT(each.body) },
	[NODE_BLOCK] = { AT(stmts), AT(result) },
	[NODE_CONTINUE] = { 0 }, /* the last kind: the table covers all */
};

struct node **ast_slot(struct node *n, u32 i)
{
	u16 off = i < AST_SLOTS ? slots[n->kind][i] : 0;

	return off ? (struct node **)((char *)n + off) : NULL;
}

const char *ast_kind_name(enum node_kind kind)
{
	static const char *const names[] = {
#define X(name) #name,
		NODE_KINDS(X)
#undef X
	};

	return names[kind];
}

struct node *ast_node(struct arena *a, enum node_kind kind, struct loc loc)
{
	struct node *n = arena_new(a, struct node);

	n->kind = kind;
	n->loc = loc;
	return n;
}

struct arena *ast_arena(const struct script *s)
{
	return s->trees ? s->trees : s->arena;
}

void ast_set_builtin(struct node *n, struct str name)
{
	n->kind = NODE_BUILTIN;
	n->builtin.name = name;
	n->builtin.b = builtin_find(name);
	n->builtin.n = n->builtin.b->id == BUILTIN_ARG ? (u32)builtin_arg(name) : 0;
}

struct node *ast_copy(struct arena *a, const struct node *n)
{
	struct node *first = NULL, **tail = &first;

	for (; n; n = n->next) {
		struct node *copy = arena_new(a, struct node), **slot;

		*copy = *n;
		copy->next = NULL;
		for (u32 i = 0; (slot = ast_slot(copy, i)); i++)
			*slot = ast_copy(a, *slot);
		*tail = copy;
		tail = &copy->next;
	}
	return first;
}

void ast_walk(struct node *n, bool (*pre)(void *ctx, struct node *n), void *ctx)
{
	struct node **slot;

	if (!n || !pre(ctx, n))
		return;
	for (u32 i = 0; (slot = ast_slot(n, i)); i++)
		for (struct node *kid = *slot; kid; kid = kid->next)
			ast_walk(kid, pre, ctx);
}

void ast_look(const struct node *n, bool (*pre)(void *ctx, const struct node *n), void *ctx)
{
	struct node **slot, copy;

	if (!n || !pre(ctx, n))
		return;
	copy = *n;
	for (u32 i = 0; (slot = ast_slot(&copy, i)); i++)
		for (const struct node *kid = *slot; kid; kid = kid->next)
			ast_look(kid, pre, ctx);
}
