/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a typed script to a unit: one program per variant, the maps they use, and the
 * frame around a body (context, pid filter, scratch slot, predicate, exit).
 *
 * What a body needs is only known when it has been compiled, and the frame comes first. So a
 * program is compiled with a guess (`assume`: as little as possible) until what was found equals
 * the guess; most need one round, those with big values two or three.
 */
#include "gen/emit.h"

#include "arch/arch.h"
#include "base/unwind.h"
#include "bpf/tidy.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gen_error(struct gen *g, struct loc loc, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	g->failed = true;
	diag_error(g->d, loc, "%s", text);
}

/* ---- maps ----------------------------------------------------------------------------------- */

#define STACKS_MAX      16384u
#define STACKS_PREALLOC 8192u
#define PROCS_MAX       4096u
/* What a body needs is known when it has been compiled; it needs more where that is given. */
#define ROUNDS     4u
#define FILES_MAX  16384u
#define FAMILY_MAX 1024u

#define ALLOCATOR_SINCE 0x060100u /* elements of hashes can be made at any moment */

/* By role; what depends on the script is filled in at the end (size_internal_maps). */
static const struct umap internal_maps[] = {
	[UMAP_DATA] = { .name = "data",
	                .bpf_type = BPF_MAP_TYPE_ARRAY,
	                .flags = BPF_F_MMAPABLE,
	                .key_size = 4,
	                .max_entries = 1 },
	[UMAP_RING] = { .name = "ring", .bpf_type = BPF_MAP_TYPE_RINGBUF },
	[UMAP_SCRATCH] = { .name = "scratch",
	                   .bpf_type = BPF_MAP_TYPE_PERCPU_ARRAY,
	                   .key_size = 4,
	                   .max_entries = UNIT_SCRATCH_SLOTS,
	                   .per_cpu = true },
	[UMAP_STACKS] = { .name = "stacks",
	                  .bpf_type = BPF_MAP_TYPE_HASH,
	                  .flags = BPF_F_NO_PREALLOC,
	                  .key_size = 8,
	                  .value_size = sizeof(struct ustack_value),
	                  .max_entries = STACKS_MAX },
	[UMAP_ZERO] = { .name = "zero",
	                .bpf_type = BPF_MAP_TYPE_ARRAY,
	                .key_size = 4,
	                .max_entries = 1 },
	[UMAP_CHUNKS] = { .name = "unwind",
	                  .bpf_type = BPF_MAP_TYPE_ARRAY,
	                  .flags = BPF_F_MMAPABLE,
	                  .key_size = 4,
	                  .value_size = UNWIND_CHUNK,
	                  .max_entries = 1 },
	[UMAP_SHELVES] = { .name = "shelves",
	                   .bpf_type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
	                   .key_size = 4,
	                   .value_size = 4,
	                   .max_entries = UNIT_SHELVES },
	/* Programs add those they meet; of those that have ended they are not informed. */
	[UMAP_PROCS] = { .name = "processes",
	                 .bpf_type = BPF_MAP_TYPE_LRU_HASH,
	                 .key_size = 4,
	                 .value_size = sizeof(struct unwind_proc),
	                 .max_entries = PROCS_MAX },
	[UMAP_FILES] = { .name = "files",
	                 .bpf_type = BPF_MAP_TYPE_HASH,
	                 .flags = BPF_F_NO_PREALLOC,
	                 .key_size = sizeof(struct unwind_key),
	                 .value_size = sizeof(struct unwind_file),
	                 .max_entries = FILES_MAX },
	/* Processes come and go while the script runs, but few. */
	[UMAP_FAMILY] = { .name = "family",
	                  .bpf_type = BPF_MAP_TYPE_HASH,
	                  .key_size = 4,
	                  .value_size = 8,
	                  .max_entries = FAMILY_MAX },
	[UMAP_SEEN] = { .name = "seen",
	                .bpf_type = BPF_MAP_TYPE_LRU_HASH,
	                .key_size = 24,
	                .value_size = 8,
	                .max_entries = 1024 },
	[UMAP_LANES] = { .name = "lanes",
	                 .bpf_type = BPF_MAP_TYPE_ARRAY,
	                 .flags = BPF_F_MMAPABLE,
	                 .key_size = 4,
	                 .value_size = sizeof(struct unit_lane) },
	[UMAP_PARTS] = { .name = "parts",
	                 .bpf_type = BPF_MAP_TYPE_ARRAY,
	                 .flags = BPF_F_MMAPABLE,
	                 .key_size = 4 },
	[UMAP_TURNS] = { .name = "turns",
	                 .bpf_type = BPF_MAP_TYPE_ARRAY,
	                 .flags = BPF_F_MMAPABLE,
	                 .key_size = 4,
	                 .max_entries = 1 },
};

static bool is_perf_event(enum attach_kind kind)
{
	return attach_kind_has(kind, KIND_COUNTER) || attach_kind_has(kind, KIND_TIMER) ||
	       kind == ATTACH_PROFILE;
}

u32 gen_map_of(struct gen *g, enum umap_role role)
{
	s32 at = unit_map(g->u, role);
	struct umap m;

	if (at >= 0)
		return (u32)at;
	m = internal_maps[role];
	m.role = role;
	vec_add(&g->u->arena, &g->u->maps, m);
	return g->u->maps.n - 1;
}

static void preallocate_stacks(struct umap *m)
{
	m->flags = 0;
	m->max_entries = STACKS_PREALLOC;
}

/* A timer runs with interrupts off, and of elements as large as a stack the kernel's reserve
 * has few: a second one at the same time could fail. */
u32 gen_stacks_map(struct gen *g)
{
	u32 at = gen_map_of(g, UMAP_STACKS);

	if (attach_kind_has(g->v->kind, KIND_TIMER) ||
	    (is_perf_event(g->v->kind) && g->w->kernel_version < ALLOCATOR_SINCE))
		preallocate_stacks(&g->u->maps.v[at]);
	return at;
}

/* What is aggregated has a cell for each CPU, everything else one, whichever hash is declared. */
u32 gen_map_type(const struct map_sym *sym, bool per_cpu)
{
	if (!sym->key)
		return per_cpu ? BPF_MAP_TYPE_PERCPU_ARRAY : BPF_MAP_TYPE_ARRAY;
	if (sym->bpf_type == BPF_MAP_TYPE_LRU_HASH || sym->bpf_type == BPF_MAP_TYPE_LRU_PERCPU_HASH)
		return per_cpu ? BPF_MAP_TYPE_LRU_PERCPU_HASH : BPF_MAP_TYPE_LRU_HASH;
	return per_cpu ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH;
}

static bool is_hash(u32 type)
{
	return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_PERCPU_HASH;
}

static bool has_stack(const struct type *t, bool of_user)
{
	bool found = t->kind == TYPE_USTACK || t->kind == TYPE_STACK ||
	             (t->kind == TYPE_KSTACK && !of_user);

	for (u32 i = 0; t->kind == TYPE_TUPLE && i < t->n_fields && !found; i++)
		found = has_stack(t->fields[i].type, of_user);
	return found;
}

/* Since Linux 6.1 elements come from an allocator that any program may use; it is known by what
 * else came then. To walk a user stack more is looked up, at once. */
static bool has_allocator(struct gen *g, const struct type *key)
{
	s32 off;

	return has_stack(key, true) ? gen_unwind_maps(g)
	                            : gen_unwind_member(g, "struct mm_struct", "mm_mt", &off);
}

/* Programs of perf events may use no other hashes before Linux 6.1. */
static bool must_preallocate(const struct gen *g)
{
	if (g->w->kernel_version >= ALLOCATOR_SINCE)
		return false;
	for (const struct probe *p = g->s->probes; p; p = p->next)
		for (u32 i = 0; i < p->variants.n; i++)
			if (is_perf_event(p->variants.v[i]->kind))
				return true;
	return false;
}

/*
 * A hash without preallocated elements starts at once and costs the same per event, but an
 * insertion can fail when it happens with interrupts off and the kernel's small reserve is used up.
 * Where that can be, elements are allocated beforehand. A map that is emptied with each table gets
 * all its keys anew, as fast as events come, so there any probe can find the reserve used up. What
 * is sent when it finds no room (gen_spill.c) needs none beforehand, unless one event alone puts in
 * more than may be on its way; and few stacks are new within one stretch with interrupts off.
 */
static bool wants_elements(struct gen *g, const struct map_sym *sym)
{
	bool spills = gen_spills(sym);

	if (sym->many_at_once || must_preallocate(g))
		return true;
	if (!sym->hurried && (!sym->taken || spills))
		return false;
	return !(spills || (has_stack(sym->key, false) && !sym->taken)) ||
	       !has_allocator(g, sym->key);
}

/* Maps of a group are turned over by one word, that of the first. */
static u32 word_of_group(const struct gen *g, const struct umap *m)
{
	for (u32 i = 0; i < g->u->maps.n; i++)
		if (g->u->maps.v[i].turn && g->u->maps.v[i].together == m->together)
			return g->u->maps.v[i].now;
	return m->turn + UTURN_NOW;
}

/* What is counted by key, and what has a stack in its key, has keys nobody knows beforehand: the
 * loader gives it as many as there is memory for. */
static void add_script_map(struct gen *g, const struct map_sym *sym)
{
	bool per_cpu = type_is_agg(sym->value);
	struct umap m = {
		.name = sym->name,
		.role = UMAP_USER,
		.bpf_type = gen_map_type(sym, per_cpu),
		.key_size = sym->key ? type_slot(sym->key) : 4,
		.value_size = unit_element(sym->key, sym->value),
		.max_entries = !sym->key          ? 1
		               : sym->max_entries ? sym->max_entries
		                                  : g->cfg->max_map_keys,
		.key = sym->key,
		.value = sym->value,
		.per_cpu = per_cpu,
		.sized = sym->max_entries != 0,
		.metric = sym->metric,
	};

	if (is_hash(m.bpf_type) && !wants_elements(g, sym))
		m.flags = BPF_F_NO_PREALLOC;
	m.by_memory = !m.sized && !g->cfg->max_map_keys_set && sym->key && is_hash(m.bpf_type) &&
	              (per_cpu || has_stack(sym->key, false));
	if (sym->taken) {
		m.turn = UTURN_FIRST + UTURN_WORDS * g->n_turns++;
		m.spills = gen_spills(sym);
		m.together = sym->taken;
		m.now = word_of_group(g, &m);
		m.max_entries = sym->key ? m.max_entries : 2;
	}
	assert(sym->index == g->u->maps.n);
	vec_add(&g->u->arena, &g->u->maps, m);
}

/* ---- runtime error counters ----------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* What fails in two ways at one place is two errors: a stack may be unreadable, or not be kept. */
static u32 error_index(struct gen *g, enum uerror_kind kind, struct loc loc, const char *what)
{
	struct uerror e = { kind, loc, what, 0 };

	for (u32 i = 0; i < g->u->errors.n; i++) {
		const struct uerror *old = &g->u->errors.v[i];

		if (old->kind == kind && old->loc.off == loc.off && old->loc.len == loc.len &&
		    same_text(old->what, what))
			return i;
	}
	vec_add(&g->u->arena, &g->u->errors, e);
	return g->u->errors.n - 1;
}

void gen_count_data(struct gen *g, u32 word)
{
	code_map_value(&g->c, R1, gen_map_of(g, UMAP_DATA), word * 8);
	code_const(&g->c, R2, 1);
	code_atomic(&g->c, BPF_ADD, R1, 0, R2);
}

void gen_update_errors(struct gen *g, enum reg dst, struct loc loc, const char *map)
{
	u32 n = g->u->errors.n, i = error_index(g, UERROR_UPDATE, loc, map);

	for (u32 answer = 1; i == n && answer < UERROR_ANSWERS; answer++)
		vec_add(&g->u->arena, &g->u->errors,
		        ((struct uerror){ UERROR_UPDATE, loc, map, answer }));
	code_map_value(&g->c, dst, gen_map_of(g, UMAP_DATA), (UDATA_ERRORS + i) * 8);
}

void gen_count_error(struct gen *g, enum uerror_kind kind, struct loc loc, const char *what)
{
	gen_count_data(g, UDATA_ERRORS + error_index(g, kind, loc, what));
}

/* ---- the frame around a body ---------------------------------------------------------------- */

/* Kinds the kernel binds to a process, and those that are not about one. */
static bool needs_no_filter(const struct gen *g)
{
	struct world *w = g->w;

	/* A perf event's pid is only where the breakpoint is put first. */
	if (attach_kind_is_user(g->v->kind))
		return !g->cfg->follow_at_once &&
		       w->ops->features(w, FEATURE_UPROBE_MULTI)->uprobe_multi;
	if (attach_kind_has(g->v->kind, KIND_COUNTER) &&
	    !w->ops->features(w, FEATURE_INHERIT_THREAD)->inherit_thread)
		return false;
	return attach_kind_has(g->v->kind, KIND_ANY_PID);
}

/* The process in R0 is one of those that are followed. */
static void family_filter(struct gen *g, u32 out)
{
	struct mark m = frame_mark(g);
	struct mem key = frame_alloc(g, 8);

	mem_store(g, 4, key, R0);
	code_map(&g->c, R1, gen_map_of(g, UMAP_FAMILY));
	mem_addr(g, key, R2);
	code_call(&g->c, BPF_FUNC_map_lookup_elem);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, out);
	frame_release(g, m);
}

/* -p: everything else asks who is running. */
static void pid_filter(struct gen *g, u32 out)
{
	if (!g->s->request.pid || needs_no_filter(g))
		return;
	gen_pid_tgid(g);
	code_alu_imm(&g->c, BPF_RSH, R0, 32);
	if (g->s->follows)
		family_filter(g, out);
	else
		code_if_imm(&g->c, BPF_JNE, R0, g->s->request.pid, out);
}

/* Claims the first free of this CPU's slots, or counts the event as dropped. */
static void claim_scratch(struct gen *g, u32 dropped)
{
	struct code *c = &g->c;
	u32 top = code_label(c), got = code_label(c);

	code_const(c, R7, 0);
	code_bind(c, top);
	code_store(c, 8, R10, SCRATCH_HOME, R7); /* the key, where the address will be */
	code_map(c, R1, gen_map_of(g, UMAP_SCRATCH));
	code_mov(c, R2, R10);
	code_alu_imm(c, BPF_ADD, R2, SCRATCH_HOME);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_if_imm(c, BPF_JEQ, R0, 0, dropped);
	code_exchange(c, R0, 0, R1, 1);
	code_if_imm(c, BPF_JEQ, R1, 0, got);
	code_alu_imm(c, BPF_ADD, R7, 1);
	code_if_imm(c, BPF_JLT, R7, UNIT_SCRATCH_SLOTS, top);
	code_goto(c, dropped);
	code_bind(c, got);
	if (g->listed) { /* what the verifier does not know it does not tell apart */
		code_store(c, 8, R0, SCRATCH_NUMBER, R7);
		code_load(c, 8, R7, R0, SCRATCH_NUMBER);
	}
	if (g->slot)
		code_store(c, 8, R10, g->slot, R7);
	code_mov(c, g->scratch, R0);
	if (g->assume.scratch_home)
		code_store(c, 8, R10, SCRATCH_HOME, R0);
}

static bool find_memory(void *ctx, struct node *n)
{
	bool *found = ctx;
	bool plain = n->kind == NODE_INT || n->kind == NODE_BINARY || n->kind == NODE_UNARY ||
	             (n->kind == NODE_BUILTIN && n->type->kind == TYPE_INT) ||
	             (n->kind == NODE_MAP && !n->map.n_keys && type_is_scalar(n->type));

	*found |= !plain;
	return plain;
}

/* A predicate of plain numbers is looked at before memory is claimed: most events end here. */
static bool needs_no_memory(struct node *pred)
{
	bool found = false;

	ast_walk(pred, find_memory, &found);
	return !found;
}

struct first_use {
	const struct var_sym *var;
	const struct node *node;
};

static bool find_first_use(void *ctx, struct node *n)
{
	struct first_use *f = ctx;

	if (f->node)
		return false;
	/* A plain assignment runs its right side first. */
	if (n->kind == NODE_ASSIGN && n->assign.op == OP_NONE && n->assign.to->kind == NODE_VAR) {
		ast_walk(n->assign.e, find_first_use, f);
		if (!f->node && n->assign.to->var.sym == f->var)
			f->node = n;
		return false;
	}
	if (n->kind == NODE_VAR && n->var.sym == f->var)
		f->node = n;
	return true;
}

/* True when the first thing a probe does with the variable is an unconditional assignment. */
static bool assigned_first(struct gen *g, const struct var_sym *var)
{
	struct first_use f = { .var = var };

	if (g->v->pred)
		ast_walk(g->v->pred, find_first_use, &f);
	for (struct node *n = g->v->body->stmts; n && !f.node; n = n->next) {
		ast_walk(n, find_first_use, &f);
		if (f.node == n)
			return n->kind == NODE_ASSIGN;
	}
	return false;
}

static void place_vars(struct gen *g)
{
	g->vars = arena_array(&g->u->arena, struct mem, g->v->vars.n);
	for (u32 i = 0; i < g->v->vars.n; i++) {
		const struct var_sym *var = g->v->vars.v[i];
		u32 size = type_slot(var->type);

		g->vars[var->index] = size == 8 && !g->shared[var->index] ? frame_word(g)
		                                                          : frame_alloc(g, size);
		if (assigned_first(g, var))
			continue;
		if (type_is_scalar(var->type))
			mem_store_const(g, g->vars[var->index], 0);
		else
			mem_zero(g, g->vars[var->index], 0, size);
	}
}

/* A test that did not get as far as its body has failed. */
static void result_set(struct gen *g, u64 result)
{
	if (!attach_kind_has(g->v->kind, KIND_VERDICT))
		return;
	code_const(&g->c, R0, result);
	code_store(&g->c, 8, R10, g->result, R0);
}

/* r0 = what the program returns: of a test 1 for any result but 0, which has 64 bits. */
static void result_load(struct gen *g)
{
	bool verdict = attach_kind_has(g->v->kind, KIND_VERDICT);
	u32 passed = code_label(&g->c);

	if (verdict)
		code_load(&g->c, 8, R1, R10, g->result);
	code_const(&g->c, R0, attach_kind_has(g->v->kind, KIND_PACKET)); /* 1: it may pass */
	if (verdict) {
		code_if_imm(&g->c, BPF_JEQ, R1, 0, passed);
		code_const(&g->c, R0, 1);
	}
	code_bind(&g->c, passed);
}

/*
 * Nothing keeps a program at a user probe from running while another task waits in the middle of it
 * on the same processor (it was preempted, or brings a page in). Since 6.13 the kernel may give
 * programs a stack for each processor, on which these two would overwrite each other's variables
 * and saved pointers: a later load through them is an oops. It never does so where one has a tail
 * call, be it one that the verifier sees to be never reached.
 */
static void keep_task_stack(struct gen *g)
{
	u32 on = code_label(&g->c);

	if (!attach_kind_has(g->v->kind, KIND_USER))
		return;
	code_const(&g->c, R0, 0);
	code_if_imm(&g->c, BPF_JEQ, R0, 0, on);
	code_mov(&g->c, R2, R0);
	code_mov(&g->c, R3, R0);
	code_call(&g->c, BPF_FUNC_tail_call);
	code_bind(&g->c, on);
}

static void body(struct gen *g)
{
	u32 dropped = code_label(&g->c), out = code_label(&g->c);
	bool early;

	g->exit_label = code_label(&g->c);
	code_mov(&g->c, CTX, R1); /* taken away again where nobody reads it */
	keep_task_stack(g);
	pid_filter(g, out);
	gen_iter_skip_end(g, out);
	if (attach_kind_has(g->v->kind, KIND_VERDICT))
		g->result = frame_pointer(g);
	result_set(g, 1);
	early = g->assume.scratch && g->v->pred && needs_no_memory(g->v->pred);
	if (early)
		gen_branch(g, g->v->pred, false, out);
	if (g->assume.scratch)
		claim_scratch(g, dropped);
	result_set(g, 0);
	if (g->listed && attach_kind_has(g->v->kind, KIND_VERDICT))
		mem_store_imm(g, 8, g->verdict = frame_alloc(g, 8), 0);
	place_vars(g);
	if (g->v->pred && !early)
		gen_branch(g, g->v->pred, false, g->exit_label);
	gen_block(g, g->v->body);
	code_bind(&g->c, g->exit_label);
	gen_iter_poke(g);
	if (g->assume.scratch) {
		code_store_imm(&g->c, 8, R9, 0, 0);
		code_goto(&g->c, out);
		code_bind(&g->c, dropped);
		gen_count_data(g, UDATA_BUSY);
	} else {
		code_bind(&g->c, dropped);
	}
	code_bind(&g->c, out);
	result_load(g);
	code_exit(&g->c);
	gen_each_callbacks(g);
	gen_unwind_step(g);
}

static void compile_once(struct gen *g)
{
	arena_reset(&g->work);
	code_init(&g->c, &g->work);
	g->c.no_fetch = !g->w->ops->features(g->w, FEATURE_ATOMICS)->atomics;
	g->c.loc = g->v->body->loc.off;
	g->used = (struct mark){ .stack = g->assume.scratch ? 8 : 0, .scratch = SCRATCH_FIRST };
	g->found = (struct needs){ 0 };
	g->unwind = (struct unwind_places){ 0 };
	g->walk_depth = 0;
	g->slot = 0;
	if (g->listed) {
		g->slot = frame_pointer(g); /* where functions have it, too */
		g->used.scratch = SCRATCH_NUMBER + 8;
	}
	if (g->assume.unwind)
		g->unwind = gen_unwind_reserve(g);
	g->found.unwind = false;
	g->loop_depth = 0;
	g->searched = 0;
	g->repeats = (struct effort){ 0 };
	g->n_open_loops = gen_open_loops(g, g->v->body);
	g->frame = R10;
	g->scratch = g->assume.scratch ? R9 : R0;
	g->used.regs = g->assume.scratch ? 1u << (R9 - R7) : 0;
	g->each = NULL;
	g->failed = false;
	g->sent = false;
	body(g);
}

/* Sites of one name are one probe to the script, wherever they are. */
static void number_probes(struct gen *g)
{
	for (u32 i = 0; i < g->v->sites.n; i++) {
		struct usite *site = &g->v->sites.v[i];
		size_t n = strlen(site->name);
		void **known = hmap_find(&g->probe_numbers, site->name, n);

		if (!known) {
			hmap_put(&g->probe_numbers, site->name, n,
			         (void *)(uintptr_t)g->u->probe_names.n);
			vec_add(&g->u->arena, &g->u->probe_names, site->name);
			known = hmap_find(&g->probe_numbers, site->name, n);
		}
		site->cookie = (uintptr_t)*known;
	}
}

/* The program being added serves what its probe says of files that are not there yet. */
static void keep_late(struct gen *g, const struct probe *p)
{
	for (u32 i = 0; g->s->follows && i < p->late.n; i++) {
		struct ulate late = { .prog = g->u->progs.n,
			              .text = arena_strdup(&g->u->arena, p->late.v[i].text),
			              .exact = p->late.v[i].exact || g->s->request.exact_sites };

		if (p->late.v[i].kind == g->v->kind)
			vec_add(&g->u->arena, &g->u->late, late);
	}
}

/* Only the finished program is worth its memory, and pages are expensive to get. */
static void keep_code(struct uprog *prog, struct arena *a, const struct code *c)
{
	struct bpf_insn *insns = arena_array(a, struct bpf_insn, c->insns.n);
	u32 *locs = arena_array(a, u32, c->locs.n), *funcs = arena_array(a, u32, c->funcs.n);

	memcpy(insns, c->insns.v, c->insns.n * sizeof(*insns));
	memcpy(locs, c->locs.v, c->locs.n * sizeof(*locs));
	if (c->funcs.n)
		memcpy(funcs, c->funcs.v, c->funcs.n * sizeof(*funcs));
	prog->insns = insns;
	prog->n_insns = c->insns.n;
	prog->locs = locs;
	prog->funcs = funcs;
	prog->n_funcs = c->funcs.n;
}

static bool check_maps(struct gen *g, const struct probe *p)
{
	if (code_fits_maps(&g->c))
		return true;
	diag_error(g->d, p->loc, "more than %u maps in one probe, internal ones included",
	           CODE_MAPS_MAX);
	diag_hint(g->d, "count under several keys of one map, or split it into more probes");
	return false;
}

static bool gen_program(struct gen *g, const struct probe *p)
{
	u32 records = g->u->records.n, errors = g->u->errors.n, diags = g->d->list.n;
	struct uprog prog = { .kind = g->v->kind, .loc = p->loc };
	struct err e;

	g->assume = (struct needs){ 0 };
	gen_walk_find(g);
	number_probes(g);
	for (u32 round = 0;; round++) {
		assert(round < ROUNDS);
		g->u->records.n = records;
		g->u->errors.n = errors;
		compile_once(g);
		if (g->failed)
			return false;
		if (g->found.scratch <= g->assume.scratch &&
		    g->found.scratch_home <= g->assume.scratch_home &&
		    g->found.callbacks <= g->assume.callbacks &&
		    g->found.unwind == g->assume.unwind &&
		    (!g->found.takes || g->found.may_sleep == g->assume.may_sleep))
			break;
		assert(g->d->list.n == diags);
		g->assume.unwind = g->found.unwind;
		g->assume.may_sleep = g->found.may_sleep;
		g->assume.scratch |= g->found.scratch;
		g->assume.scratch_home |= g->found.scratch_home;
		g->assume.callbacks |= g->found.callbacks;
	}
	if (!code_finish(&g->c, &e))
		return diag_error(g->d, p->loc, "%s", e.text);
	if (!check_maps(g, p))
		return false;
	tidy_code(&g->c);
	hoist_code(&g->c);
	prog.name = g->v->sites.v[0].name;
	keep_code(&prog, &g->u->arena, &g->c);
	prog.sites = g->v->sites.v;
	prog.n_sites = g->v->sites.n;
	prog.may_sleep = g->found.may_sleep;
	keep_late(g, p);
	vec_add(&g->u->arena, &g->u->progs, prog);
	return true;
}

/* ---- the script ----------------------------------------------------------------------------- */

static void size_internal_maps(struct gen *g)
{
	s32 data = unit_map(g->u, UMAP_DATA), scratch = unit_map(g->u, UMAP_SCRATCH);
	s32 zero = unit_map(g->u, UMAP_ZERO), turns = unit_map(g->u, UMAP_TURNS);
	s32 ring = unit_map(g->u, UMAP_RING), stacks = unit_map(g->u, UMAP_STACKS);
	s32 lanes = unit_map(g->u, UMAP_LANES), parts = unit_map(g->u, UMAP_PARTS);
	const struct unit_lanes *l = &g->u->lanes;

	if (data >= 0)
		g->u->maps.v[data].value_size = (UDATA_ERRORS + g->u->errors.n) * 8;
	if (scratch >= 0)
		g->u->maps.v[scratch].value_size = g->scratch_peak;
	if (zero >= 0)
		g->u->maps.v[zero].value_size = g->zero_size;
	if (turns >= 0)
		g->u->maps.v[turns].value_size = (UTURN_FIRST + UTURN_WORDS * g->n_turns) * 8;
	if (ring >= 0)
		g->u->maps.v[ring].max_entries = MAX(g->cfg->ring_pages * UNIT_RING_PAGE,
		                                     arch_page());
	if (lanes >= 0) {
		g->u->maps.v[lanes].max_entries = l->n;
		g->u->maps.v[parts].max_entries = l->n * l->parts;
		g->u->maps.v[parts].value_size =
			l->part + (u32)ROUND_UP(sizeof(struct unit_lane_head) + l->most, 8u);
	}
	if (stacks >= 0 && g->s->hurried)
		preallocate_stacks(&g->u->maps.v[stacks]);
}

static void copy_settings(struct unit *u, const struct script *s, const struct config *c)
{
	unit_set_source(u, s->source->name, s->source->text);
	for (u32 i = 0; i < s->source->imports.n; i++) {
		struct usource part = s->source->imports.v[i];

		part.name = arena_strdup(&u->arena, part.name);
		vec_add(&u->arena, &u->imports, part);
	}
	u->max_strlen = c->max_strlen;
	u->cut_mark = c->cut_mark;
	u->print_maps_on_exit = c->print_maps_on_exit;
	u->max_cat_bytes = c->max_cat_bytes;
	u->only_lines = c->only_lines ? arena_strdup(&u->arena, c->only_lines) : NULL;
	u->max_lines = c->max_lines;
	u->mangled = !c->demangle;
	u->no_lines = !c->show_debug_info;
	u->lenient_probes = c->missing_probes != MISSING_ERROR;
	u->silent_probes = c->missing_probes == MISSING_IGNORE;
	for (u32 i = 0; i < s->notes.n; i++) {
		const char *note = arena_strdup(&u->arena, s->notes.v[i]);

		vec_add(&u->arena, &u->notes, note);
	}
	u->stack_mode = c->stack_mode;
	u->ring_pages = c->ring_pages;
	u->poll_ms = c->poll_ms;
	u->map_memory = c->map_memory;
	u->map_memory_set = c->map_memory_set;
	u->stack_memory = c->stack_memory;
	u->unwind_memory = c->unwind_memory;
	u->follow_at_once = c->follow_at_once;
	u->view = c->view ? arena_strdup(&u->arena, c->view) : NULL;
}

/* Entry and return of a function may be one program (kern/kern_session.c), which asks what it
 * is. */
static u32 session_kfunc(const struct unit *u, struct world *w)
{
	bool entry = false, at_return = false;
	struct err ignored = { 0 };
	const struct btf *b;

	for (u32 i = 0; i < u->progs.n; i++) {
		enum attach_kind kind = u->progs.v[i].kind;

		if (!(attach_kind_uses(kind) & FEATURE_KPROBE_SESSION))
			continue;
		if (attach_kind_has(kind, KIND_RETURN))
			at_return = true;
		else
			entry = true;
	}
	if (!entry || !at_return || !w->ops->btf)
		return 0;
	b = w->ops->btf(w, &ignored);
	return b ? btf_find(b, BTF_KIND_FUNC, "bpf_session_is_return") : 0;
}

bool gen_script(struct unit *u, const struct script *s, const struct config *c, struct world *w,
                struct diags *d)
{
	struct gen g = { .u = u, .s = s, .cfg = c, .w = w, .d = d };
	bool ok = true;

	copy_settings(u, s, c);
	for (u32 i = 0; i < s->maps.n; i++)
		add_script_map(&g, s->maps.v[i]);
	for (const struct probe *p = s->probes; p; p = p->next) {
		for (u32 i = 0; i < p->variants.n; i++) {
			g.v = p->variants.v[i];
			if (g.v->sites.n && !g.v->ruled_out)
				ok &= gen_program(&g, p);
		}
	}
	if (g.n_turns)
		gen_map_of(&g, UMAP_TURNS);
	size_internal_maps(&g);
	u->session_kfunc = session_kfunc(u, w);
	hmap_free(&g.probe_numbers);
	arena_free(&g.work);
	return ok;
}
