/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Statements. The kernel only runs programs that are sure to end, so every loop also counts
 * its rounds; one that reaches the limit is left, and that is counted as a runtime error.
 */
#include "gen/emit.h"

#define LOOP_BUDGET   400000u /* instructions; the verifier follows one million at most */
#define LOOP_MAX      65536u
#define LOOP_INNER    1024u /* rounds of a loop inside another */
#define LOOP_LEAST    8u
#define LOOP_BRANCHES 8000u /* the verifier keeps at most 8192 open branches */

static void statement(struct gen *g, const struct node *n);

void gen_block(struct gen *g, const struct node *block)
{
	for (const struct node *n = block->stmts; n; n = n->next)
		statement(g, n);
}

/* ---- assignments ---------------------------------------------------------------------------- */

static void assign_var_op(struct gen *g, const struct node *n)
{
	const struct node *to = n->assign.to;
	struct mem var = g->vars[to->var.sym->index];
	u32 step = gen_step(to->type);

	gen_value(g, n->assign.e);
	if (step > 1)
		code_alu_imm(&g->c, BPF_MUL, R0, (s32)step);
	code_mov(&g->c, R1, R0);
	mem_load(g, 8, R0, var);
	gen_arith(g, n->assign.op, n->assign.is_signed, n->loc);
	gen_narrow(g, to->type, R0);
	mem_store(g, 8, var, R0);
}

static void store_var(struct gen *g, const struct node *var, const struct node *e)
{
	const struct var_sym *sym = var->var.sym;

	if (e->kind == NODE_INT)
		mem_store_const(g, g->vars[sym->index], e->integer.value);
	else
		gen_store_in(g, e, sym->type, g->vars[sym->index], gen_is_padded(sym->type), sym);
}

static void assign(struct gen *g, const struct node *n)
{
	if (n->assign.to->kind == NODE_MAP)
		gen_map_assign(g, n);
	else if (n->assign.op != OP_NONE)
		assign_var_op(g, n);
	else
		store_var(g, n->assign.to, n->assign.e);
}

static void let(struct gen *g, const struct node *n)
{
	const struct var_sym *sym = n->let.var->var.sym;

	if (n->let.e)
		store_var(g, n->let.var, n->let.e);
	else if (type_is_scalar(sym->type))
		mem_store_const(g, g->vars[sym->index], 0);
	else
		mem_zero(g, g->vars[sym->index], 0, type_slot(sym->type));
}

/* ---- branches and loops --------------------------------------------------------------------- */

/* Of a constant condition only the branch that can run is compiled. */
static void branch(struct gen *g, const struct node *n)
{
	const struct node *cond = n->branch.cond;
	u32 no = code_label(&g->c), done = code_label(&g->c);

	if (cond->kind != NODE_INT)
		gen_branch(g, cond, false, no);
	if (cond->kind != NODE_INT || cond->integer.value)
		gen_block(g, n->branch.yes);
	if (cond->kind != NODE_INT && n->branch.no)
		code_goto(&g->c, done);
	code_bind(&g->c, no);
	if (n->branch.no && (cond->kind != NODE_INT || !cond->integer.value))
		statement(g, n->branch.no);
	code_bind(&g->c, done);
}

/* The state of a loop being compiled. */
struct loop {
	u32 top, over, end, next;
	u32 check; /* instruction that compares with the limit */
	bool open; /* the verifier does not see its end */
	u32 most;  /* more rounds there are not */
	u32 outer_break, outer_continue;
	struct effort outer;
	struct mem rounds;
};

/* $i < 10, also as one of several conditions: there the verifier sees the end of a loop. */
static bool counts_to_constant(const struct node *cond)
{
	if (cond->kind != NODE_BINARY)
		return cond->kind == NODE_INT;
	if (cond->binary.op == OP_LAND)
		return counts_to_constant(cond->binary.left) ||
		       counts_to_constant(cond->binary.right);
	return cond->binary.right->kind == NODE_INT &&
	       (cond->binary.left->kind == NODE_VAR || cond->binary.left->kind == NODE_UNARY);
}

/* Scratch memory it does not follow. */
static bool is_open(const struct gen *g, const struct node *n)
{
	if (n->kind == NODE_WHILE)
		return g->listed || !counts_to_constant(n->loop.cond);
	return n->kind == NODE_FOR_RANGE &&
	       (n->range.from->kind != NODE_INT || n->range.to->kind != NODE_INT);
}

struct open_loops {
	const struct gen *g;
	u32 n;
};

static bool count_open(void *ctx, struct node *n)
{
	struct open_loops *count = ctx;

	count->n += is_open(count->g, n);
	return true;
}

u32 gen_open_loops(const struct gen *g, struct node *n)
{
	struct open_loops count = { .g = g };

	ast_walk(n, count_open, &count);
	return count.n;
}

static struct loop loop_open(struct gen *g, const struct node *n)
{
	struct loop l = { .top = code_label(&g->c),
		          .over = code_label(&g->c),
		          .end = code_label(&g->c),
		          .next = code_label(&g->c),
		          .open = is_open(g, n),
		          .most = LOOP_MAX,
		          .outer_break = g->break_label,
		          .outer_continue = g->continue_label,
		          .outer = g->repeats };

	g->break_label = l.end;
	g->continue_label = l.next;
	g->loop_depth++;
	g->repeats = (struct effort){ 0 };
	l.rounds = frame_counter(g);
	mem_store_const(g, l.rounds, 0);
	code_bind(&g->c, l.top);
	mem_load(g, 8, R0, l.rounds);
	l.check = g->c.insns.n;
	code_if_imm(&g->c, BPF_JGE, R0, LOOP_MAX, l.over);
	code_alu_imm(&g->c, BPF_ADD, R0, 1);
	mem_store(g, 8, l.rounds, R0);
	return l;
}

static struct effort effort_from(const struct gen *g, u32 from)
{
	struct effort w = { .insns = g->c.insns.n - from };

	for (u32 i = from; i < g->c.insns.n; i++) {
		const struct bpf_insn *in = &g->c.insns.v[i];
		u8 class = BPF_CLASS(in->code), op = BPF_OP(in->code);

		w.branches += (class == BPF_JMP || class == BPF_JMP32) && op != BPF_JA &&
		              op != BPF_CALL && op != BPF_EXIT;
	}
	return w;
}

static void effort_add(struct effort *to, struct effort w, u32 times)
{
	to->insns += w.insns * times;
	to->branches += w.branches * times;
}

void gen_repeat(struct gen *g, u32 from, u32 rounds)
{
	if (rounds > 1)
		effort_add(&g->repeats, effort_from(g, from), rounds - 1);
}

/* How many rounds the verifier can follow: it walks them one by one, and each branch whose way it
 * does not know stays open until the last. Loops whose end it does not see it walks to this limit:
 * they share what there is. */
static u32 round_limit(const struct gen *g, const struct loop *l, struct effort round)
{
	u32 share = l->open ? MAX(g->n_open_loops, 1u) : 1, most = LOOP_MAX;
	u32 limit = MIN(LOOP_BUDGET / share / round.insns,
	                LOOP_BRANCHES / share / MAX(round.branches, 1u));

	if (g->loop_depth > 1)
		most = l->open ? LOOP_OPEN : LOOP_INNER;
	if (g->loop_depth > 1 && l->open && g->repeats.branches)
		most = LOOP_OPEN / 4;
	if (g->loop_depth > 2 && l->open)
		most = LOOP_LEAST;
	return MIN(MAX(limit, LOOP_LEAST), most);
}

static void loop_close(struct gen *g, struct loop *l, struct loc loc)
{
	struct effort round = effort_from(g, l->check + 1);
	u32 limit;

	round.insns += 3;
	effort_add(&round, g->repeats, 1);
	limit = MIN(round_limit(g, l, round), l->most);
	g->c.insns.v[l->check].imm = (s32)limit;
	g->repeats = l->outer;
	if (l->open)
		effort_add(&g->repeats, round, limit - 1);
	code_goto(&g->c, l->top);
	code_bind(&g->c, l->over);
	gen_count_error(g, UERROR_LOOP, loc, "loop");
	code_bind(&g->c, l->end);
	g->break_label = l->outer_break;
	g->continue_label = l->outer_continue;
	g->loop_depth--;
}

static void while_(struct gen *g, const struct node *n)
{
	struct loop l;

	if (gen_each_takes(g, n)) {
		gen_each(g, n);
		return;
	}
	l = loop_open(g, n);
	gen_branch(g, n->loop.cond, false, l.end);
	gen_block(g, n->loop.body);
	code_bind(&g->c, l.next);
	loop_close(g, &l, n->loop.cond->loc);
}

/* How many rounds, LOOP_MAX when that is not known or more. */
static u32 range_rounds(const struct node *n)
{
	const struct node *from = n->range.from, *to = n->range.to;

	if (from->kind != NODE_INT || to->kind != NODE_INT)
		return LOOP_MAX;
	if ((s64)from->integer.value >= (s64)to->integer.value)
		return 0;
	return (u32)MIN(to->integer.value - from->integer.value, LOOP_MAX);
}

/* for ($i : a..b): b is computed once; $i is a copy, changing it does not change the loop. */
static void for_range(struct gen *g, const struct node *n)
{
	u32 rounds = range_rounds(n);
	struct mem at, to;
	struct loop l;

	if (!rounds)
		return;
	if (gen_each_takes(g, n)) {
		gen_each(g, n);
		return;
	}
	at = frame_word(g);
	to = frame_word(g);
	if (n->range.from->kind == NODE_INT)
		mem_store_const(g, at, n->range.from->integer.value);
	else
		gen_store(g, n->range.from, &type_s64, at, true);
	gen_store(g, n->range.to, &type_s64, to, true);
	l = loop_open(g, n);
	l.most = rounds + 1; /* the last one finds the end */
	mem_load(g, 8, R0, at);
	mem_load(g, 8, R1, to);
	code_if(&g->c, BPF_JSGE, R0, R1, l.end);
	mem_store(g, 8, g->vars[n->range.var->var.sym->index], R0);
	gen_block(g, n->range.body);
	code_bind(&g->c, l.next);
	mem_load(g, 8, R0, at);
	code_alu_imm(&g->c, BPF_ADD, R0, 1);
	mem_store(g, 8, at, R0);
	loop_close(g, &l, n->loc);
}

static void unroll(struct gen *g, const struct node *n)
{
	u32 outer_break = g->break_label, outer_continue = g->continue_label;

	g->break_label = code_label(&g->c);
	for (u64 i = 0; i < n->loop.cond->integer.value; i++) {
		g->continue_label = code_label(&g->c);
		gen_block(g, n->loop.body);
		code_bind(&g->c, g->continue_label);
	}
	code_bind(&g->c, g->break_label);
	g->break_label = outer_break;
	g->continue_label = outer_continue;
}

/* Most programs return nothing that anybody wants to know. */
static void return_value(struct gen *g, const struct node *n)
{
	if (!n->expr)
		return;
	if (!attach_kind_has(g->v->kind, KIND_VERDICT)) {
		gen_effect(g, n->expr);
		return;
	}
	gen_value(g, n->expr);
	if (g->walk_depth)
		mem_store(g, 8, g->verdict, R0);
	else
		code_store(&g->c, 8, g->frame, g->result, R0);
}

static void statement(struct gen *g, const struct node *n)
{
	struct mark m = frame_mark(g);

	g->c.loc = n->loc.off;
	switch (n->kind) {
	case NODE_EXPR:
		gen_effect(g, n->expr);
		break;
	case NODE_ASSIGN:
		assign(g, n);
		break;
	case NODE_LET:
		let(g, n);
		break;
	case NODE_IF:
		branch(g, n);
		break;
	case NODE_WHILE:
		while_(g, n);
		break;
	case NODE_UNROLL:
		unroll(g, n);
		break;
	case NODE_FOR_RANGE:
		for_range(g, n);
		break;
	case NODE_FOR_MAP:
		gen_each(g, n);
		break;
	case NODE_BLOCK:
		gen_block(g, n);
		break;
	case NODE_RETURN:
		return_value(g, n);
		code_goto(&g->c, g->exit_label);
		break;
	case NODE_BREAK:
		code_goto(&g->c, g->break_label);
		break;
	case NODE_CONTINUE:
		code_goto(&g->c, g->continue_label);
		break;
	default:
		gen_error(g, n->loc, "this statement can not be compiled (%s)",
		          ast_kind_name(n->kind));
		break;
	}
	frame_release(g, m);
}
