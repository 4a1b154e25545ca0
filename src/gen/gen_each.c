/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * for ($kv : @map): the kernel walks the map and calls a function of ours for each element. The
 * body is compiled as that function, after the program, with the program's own frame:
 *
 *      program                               callback(map, key, value, frame)
 *        r10 ---> [ variables, $kv ... ] <--- r9
 *
 * The address of the frame is passed along, so variables are the same memory in both; the
 * callback uses no stack of its own. Its r6 is the context again, kept in the frame meanwhile.
 * It returns 1 to end the loop; when the whole program is to end, a word in the frame says so.
 *
 * What the verifier knows of variables that the body changes is taken from it before the loop and
 * after it (mem_forget()).
 *
 * Before Linux 5.13 the kernel does not go through maps: gen_walk.c does.
 *
 * for ($i : 0..100) is made in the same way (bpf_loop, Linux 5.17): the verifier walks a loop of
 * the program round by round, but a callback only until it knows nothing new.
 */
#include "gen/emit.h"

#define ROUNDS_FEW 16u        /* fewer are followed one by one */
#define ROUNDS_MAX (1u << 23) /* of bpf_loop(); more are cut and counted */

/* Callbacks in each other; a search for a string makes two more, which the frame leaves room
 * for. */
#define LOOPS_NESTED 3u

#define CALLS_SINCE 0x051100u /* Linux 5.17 */
#define LOOPS_SINCE 0x060700u /* Linux 6.7 sees callbacks as the loops they are */

/* A loop whose body waits to be compiled. */
struct each {
	const struct node *node;
	u32 start;       /* label of the callback */
	s32 ctx;         /* frame offset of the context */
	struct mem done; /* set when the program is to end */
	struct mem from; /* of numbers: the first, unless it is a constant */
	bool *changed;   /* by index: variables that the body changes */
	struct mark used;
	u32 depth;
	void (*emit)(struct gen *g, const void *what); /* of another kind of loop */
	const void *what;
	enum reg frame; /* in which the frame's address comes */
	bool own;       /* a function that the program calls, not the kernel */
	struct each *next;
};

static void call_for_each(struct gen *g, const struct map_sym *map, u32 callback)
{
	if (!g->w->ops->features(g->w, FEATURE_FOR_EACH)->for_each)
		gen_error(g, (struct loc){ g->c.loc, 1 },
		          "going through %s needs Linux 5.13 or newer%s", map->name,
		          g->s->request.alone ? "" : " here; before, BEGIN, END and interval can");
	gen_turn_is_read(g, map);
	gen_turn_map(g, map);
	code_func(&g->c, R2, callback);
	code_mov(&g->c, R3, g->frame);
	code_const(&g->c, R4, 0);
	code_call(&g->c, BPF_FUNC_for_each_map_elem);
}

static struct each *each_add(struct gen *g, const struct node *n)
{
	struct each *e = arena_new(&g->u->arena, struct each), **tail = &g->each;

	g->found.callbacks = true;
	e->node = n;
	e->start = code_label(&g->c);
	while (*tail)
		tail = &(*tail)->next;
	*tail = e;
	return e;
}

/* The variable that a node changes, NULL none. */
static const struct node *changed_by(const struct node *n)
{
	switch (n->kind) {
	case NODE_ASSIGN:
		return n->assign.to;
	case NODE_LET:
		return n->let.var;
	case NODE_FOR_RANGE:
		return n->range.var;
	case NODE_FOR_MAP:
		return n->each.var;
	case NODE_UNARY:
		return n->unary.op >= OP_PREINC ? n->unary.e : NULL;
	default:
		return NULL;
	}
}

static bool find_changed(void *ctx, struct node *n)
{
	const struct node *to = changed_by(n);
	bool *changed = ctx;

	if (to && to->kind == NODE_VAR)
		changed[to->var.sym->index] = true;
	return true;
}

static void forget_changed(struct gen *g, const bool *changed)
{
	for (u32 i = 0; i < g->v->vars.n; i++)
		if (changed[i])
			mem_forget(g, g->vars[i], type_slot(g->v->vars.v[i]->type));
}

bool gen_has_calls(const struct gen *g)
{
	struct world *w = g->w;

	return w->ops->features(w, FEATURE_LOOP)->loop;
}

void gen_call_loop(struct gen *g, u32 callback)
{
	/* Searches have no other way, so --no-feature does not reach them. */
	if (!gen_has_calls(g) && g->w->kernel_version && g->w->kernel_version < CALLS_SINCE)
		gen_error(g, (struct loc){ g->c.loc, 1 },
		          "so long a search or loop needs Linux 5.17 or newer");
	code_func(&g->c, R2, callback);
	code_mov(&g->c, R3, g->frame);
	code_const(&g->c, R4, 0);
	code_call(&g->c, BPF_FUNC_loop);
}

/* r1 = how many rounds; jumps to `none` when there are none. */
static void count_rounds(struct gen *g, const struct node *n, struct each *e, u32 none)
{
	const struct node *from = n->range.from, *to = n->range.to;
	u32 few = code_label(&g->c);

	if (from->kind != NODE_INT)
		gen_store(g, from, &type_s64, e->from, true);
	gen_value(g, to);
	if (from->kind == NODE_INT)
		code_const(&g->c, R1, from->integer.value);
	else
		mem_load(g, 8, R1, e->from);
	code_if(&g->c, BPF_JSLE, R0, R1, none);
	code_alu(&g->c, BPF_SUB, R0, R1);
	code_mov(&g->c, R3, R0);
	code_if_imm(&g->c, BPF_JLE, R3, (s32)ROUNDS_MAX, few);
	gen_count_error(g, UERROR_LOOP, n->loc, "loop");
	code_const(&g->c, R3, ROUNDS_MAX);
	code_bind(&g->c, few);
	code_mov(&g->c, R1, R3);
}

static void call_range(struct gen *g, const struct node *n, struct each *e)
{
	const struct node *from = n->range.from, *to = n->range.to;
	u32 none = code_label(&g->c);

	if (from->kind == NODE_INT && to->kind == NODE_INT)
		code_const(&g->c, R1, to->integer.value - from->integer.value);
	else
		count_rounds(g, n, e, none);
	gen_call_loop(g, e->start);
	code_bind(&g->c, none);
}

/* As long as the condition holds, which the callback asks. */
static void call_while(struct gen *g, const struct node *n, struct each *e)
{
	u32 ended = code_label(&g->c);

	code_const(&g->c, R1, ROUNDS_MAX);
	gen_call_loop(g, e->start);
	code_if_imm(&g->c, BPF_JLT, R0, (s32)ROUNDS_MAX, ended);
	gen_count_error(g, UERROR_LOOP, n->loop.cond->loc, "loop");
	code_bind(&g->c, ended);
}

static struct node *body_of(const struct node *n)
{
	if (n->kind == NODE_WHILE)
		return n->loop.body;
	return n->kind == NODE_FOR_RANGE ? n->range.body : n->each.body;
}

static bool count_node(void *ctx, struct node *n)
{
	u32 *count = ctx;

	(void)n;
	++*count;
	return true;
}

/* In a loop the verifier walks the body again in each round. It is not compiled yet: about so much
 * comes of a node. */
static void expect_body(struct gen *g, struct node *body)
{
	u32 rounds = gen_open_loops(g, body) ? LOOP_OPEN : 2, nodes = 0;

	ast_walk(body, count_node, &nodes);
	g->repeats.insns += nodes * 8 * rounds;
	g->repeats.branches += nodes / 2 * rounds;
}

void gen_each(struct gen *g, const struct node *n)
{
	bool *changed;
	struct each *e;

	if (g->listed && n->kind == NODE_FOR_MAP) {
		gen_walk(g, n->each.map->map.sym, n, n->loc);
		return;
	}
	changed = arena_array(&g->u->arena, bool, g->v->vars.n);
	e = each_add(g, n);
	e->changed = changed;
	e->ctx = frame_pointer(g);
	e->done = frame_alloc(g, 8);
	if (n->kind == NODE_FOR_RANGE && n->range.from->kind != NODE_INT)
		e->from = frame_alloc(g, 8);
	e->used = g->used;
	e->depth = g->loop_depth + 1;
	code_store(&g->c, 8, g->frame, e->ctx, CTX);
	mem_store_const(g, e->done, 0);
	ast_walk(body_of(n), find_changed, changed);
	if (n->kind == NODE_WHILE)
		ast_walk(n->loop.cond, find_changed, changed);
	expect_body(g, body_of(n));
	forget_changed(g, changed);
	if (n->kind == NODE_FOR_RANGE)
		call_range(g, n, e);
	else if (n->kind == NODE_WHILE)
		call_while(g, n, e);
	else
		call_for_each(g, n->each.map->map.sym, e->start);
	forget_changed(g, changed);
	mem_forget(g, e->done, 8);
	mem_load(g, 8, R0, e->done);
	code_if_imm(&g->c, BPF_JNE, R0, 0, g->exit_label);
}

static bool find_while(void *ctx, const struct node *n)
{
	bool *found = ctx;

	*found |= n->kind == NODE_WHILE;
	return !*found;
}

/* A `while` in a callback is often not followed to its end by older kernels: there what did without
 * a callback stays as it was. */
static bool has_while(const struct node *body)
{
	bool found = false;

	ast_look(body, find_while, &found);
	return found;
}

bool gen_each_takes(const struct gen *g, const struct node *n)
{
	const struct node *from = n->range.from, *to = n->range.to;

	if (g->loop_depth >= LOOPS_NESTED || g->listed)
		return false;
	if (n->kind == NODE_WHILE)
		return gen_has_calls(g) &&
		       (g->w->kernel_version >= LOOPS_SINCE || !has_while(n->loop.body));
	if (from->kind == NODE_INT && to->kind == NODE_INT) {
		s64 first = (s64)from->integer.value, end = (s64)to->integer.value;

		if (first != (s32)first || end < first || end - first < ROUNDS_FEW ||
		    end - first > ROUNDS_MAX)
			return false;
	} else if (g->w->kernel_version < LOOPS_SINCE && has_while(n->range.body)) {
		return false;
	}
	return gen_has_calls(g);
}

/* The kernel counts the calls. */
void gen_each_count(struct gen *g, const struct node *map)
{
	if (g->listed)
		gen_walk(g, map->map.sym, NULL, map->loc);
	else
		call_for_each(g, map->map.sym, each_add(g, NULL)->start);
}

static bool is_word_of_stack(const struct gen *g, u32 var)
{
	return g->vars[var].base == MEM_STACK && type_slot(g->v->vars.v[var]->type) == 8;
}

/*
 * Takes from the verifier, in each round, what it knows by comparisons about numbers that the body
 * changes: where $n is 5 in this round it would be 6 in the next one, and so on without end. r1
 * has, or gets, a number it does not know; with that one twice a number is what it was. Keeps r2
 * and r3.
 */
static void forget_numbers(struct gen *g, const struct each *e, bool range)
{
	bool known = range;

	for (u32 i = 0; i < g->v->vars.n; i++) {
		if (!e->changed[i] || !is_word_of_stack(g, i))
			continue;
		if (!known) {
			code_map_value(&g->c, R1, gen_map_of(g, UMAP_DATA), 0);
			code_load(&g->c, 8, R1, R1, 0);
			known = true;
		}
		mem_load(g, 8, R0, g->vars[i]);
		code_alu(&g->c, BPF_XOR, R0, R1);
		code_alu(&g->c, BPF_XOR, R0, R1);
		mem_store(g, 8, g->vars[i], R0);
	}
}

void gen_each_pair(struct gen *g, const struct node *n, struct mem key, struct mem value)
{
	const struct map_sym *sym = n->each.map->map.sym;
	const struct var_sym *var = n->each.var->var.sym;
	struct mem pair = g->vars[var->index], to;

	gen_convert(g, pair, var->type->fields[0].type, key, sym->key, true);
	to = mem_at(pair, (s32)var->type->fields[1].off);
	if (type_is_agg(sym->value)) {
		gen_agg_value(g, sym, pair, n->each.map->loc);
		mem_store(g, 8, to, R0);
	} else {
		gen_convert(g, to, var->type->fields[1].type, value, sym->value, true);
	}
}

/* r2 and r3 are their addresses. */
static void store_pair(struct gen *g, const struct node *n)
{
	struct mark m = frame_mark(g);
	struct mem key = mem_of_pointer(g, R2), value = mem_of_pointer(g, R3);

	gen_each_pair(g, n, key, value);
	frame_release(g, m);
}

/* $i = the round's number; r1 is how many came before. */
static void store_round(struct gen *g, const struct each *e)
{
	const struct node *n = e->node, *from = n->range.from;

	if (from->kind != NODE_INT) {
		mem_load(g, 8, R0, e->from);
		code_alu(&g->c, BPF_ADD, R1, R0);
	} else if (from->integer.value) {
		code_const(&g->c, R0, from->integer.value);
		code_alu(&g->c, BPF_ADD, R1, R0);
	}
	mem_store(g, 8, g->vars[n->range.var->var.sym->index], R1);
}

static void leave(struct gen *g, u64 result)
{
	code_const(&g->c, R0, result);
	code_exit(&g->c);
}

void gen_go_on(struct gen *g)
{
	leave(g, 0);
}

void gen_stop(struct gen *g)
{
	leave(g, 1);
}

static void callback(struct gen *g, const struct each *e)
{
	bool counted = e->node->kind != NODE_FOR_MAP;

	g->frame = R9;
	g->scratch = R0;
	g->used = e->used;
	g->used.regs = 1u << (R9 - R7);
	g->used.own = 0;
	g->loop_depth = e->depth;
	g->exit_label = code_label(&g->c);
	g->break_label = code_label(&g->c);
	g->continue_label = code_label(&g->c);
	g->c.loc = e->node->loc.off;
	code_mov(&g->c, R9, counted ? R2 : R4);
	code_load(&g->c, 8, CTX, R9, e->ctx);
	forget_numbers(g, e, counted);
	if (e->node->kind == NODE_WHILE)
		gen_branch(g, e->node->loop.cond, false, g->break_label);
	else if (counted)
		store_round(g, e);
	else
		store_pair(g, e->node);
	gen_block(g, body_of(e->node));
	code_bind(&g->c, g->continue_label);
	gen_go_on(g);
	code_bind(&g->c, g->exit_label);
	mem_store_const(g, e->done, 1);
	code_bind(&g->c, g->break_label);
	gen_stop(g);
}

u32 gen_callback(struct gen *g, void (*emit)(struct gen *g, const void *what), const void *what,
                 enum reg frame)
{
	struct each *e = each_add(g, NULL);

	e->emit = emit;
	e->what = what;
	e->frame = frame;
	e->used = g->used;
	return e->start;
}

static void plain_callback(struct gen *g, const struct each *e)
{
	g->frame = R9;
	g->scratch = R0;
	g->used = e->used;
	g->used.regs = 1u << (R9 - R7);
	g->used.own = 0;
	code_mov(&g->c, R9, e->frame);
	e->emit(g, e->what);
}

/* ---- functions that the program calls ------------------------------------------------------- */

u32 gen_function(struct gen *g, void (*emit)(struct gen *g, const void *what), const void *what)
{
	u32 label = gen_callback(g, emit, what, R0);
	struct each *e = g->each;

	while (e->start != label)
		e = e->next;
	e->own = true;
	return label;
}

/*
 * The function is a global one, which the verifier walks once and not in each round (since Linux
 * 5.6); it is given nothing but a number. Rounds are counted on the stack, where the verifier sees
 * that they end.
 */
void gen_call_function(struct gen *g, u32 function, u32 most)
{
	struct mark m = frame_mark(g);
	struct mem round = frame_counter(g);
	struct code *c = &g->c;
	u32 top = code_label(c), out = code_label(c);

	mem_store_imm(g, 8, round, 0);
	code_bind(c, top);
	code_load(c, 8, R1, g->frame, g->slot);
	code_call_func(c, function);
	code_if_imm(c, BPF_JNE, R0, 0, out);
	mem_load(g, 8, R1, round);
	code_alu_imm(c, BPF_ADD, R1, 1);
	mem_store(g, 8, round, R1);
	code_if_imm(c, BPF_JLT, R1, (s32)most, top);
	code_bind(c, out);
	frame_release(g, m);
}

void gen_find_slot(struct gen *g, s32 at, u32 none)
{
	struct code *c = &g->c;

	code_store(c, 8, R10, at, R1);
	code_map(c, R1, gen_map_of(g, UMAP_SCRATCH));
	code_mov(c, R2, R10);
	code_alu_imm(c, BPF_ADD, R2, at);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_if_imm(c, BPF_JEQ, R0, 0, none);
}

/* With a stack and registers of its own; the verifier walks it by itself. */
static void own_function(struct gen *g, const struct each *e)
{
	g->frame = R10;
	g->scratch = R9;
	g->used = (struct mark){ .stack = (u32)-g->slot,
		                 .scratch = e->used.scratch,
		                 .regs = 1u << (R9 - R7) };
	g->loop_depth = 0;
	g->repeats = (struct effort){ 0 };
	e->emit(g, e->what);
}

void gen_each_callbacks(struct gen *g)
{
	while (g->each) {
		struct each *e = g->each;

		g->each = e->next;
		code_func_start(&g->c, e->start);
		if (e->own)
			own_function(g, e);
		else if (e->emit)
			plain_callback(g, e);
		else if (e->node)
			callback(g, e);
		else
			gen_go_on(g);
	}
}
