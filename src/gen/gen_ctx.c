/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program gets to know when its probe fires: arguments, return value, registers, and who is
 * running. Where an argument lies differs per kind of probe; which registers these are, arch/
 * knows.
 */
#include "gen/emit.h"

#include <string.h>

#include "arch/arch.h"
#include "lang/probe/standin.h"

#define COMM_SIZE   16u
#define COMM_PADDED 0x060400u /* the helper fills all of it */

/* ---- arguments ------------------------------------------------------------------------------ */

static void usdt_memory(struct gen *g, const struct operand *a, const struct type *t,
                        struct loc loc)
{
	if (a->reg >= 0)
		code_load(&g->c, 8, R3, CTX, a->reg);
	else
		code_const(&g->c, R3, 0);
	if (a->index >= 0) {
		code_load(&g->c, 8, R0, CTX, a->index);
		code_alu_imm(&g->c, BPF_MUL, R0, a->scale ? a->scale : 1);
		code_alu(&g->c, BPF_ADD, R3, R0);
	}
	if (a->value == (s32)a->value) {
		code_alu_imm(&g->c, BPF_ADD, R3, (s32)a->value);
	} else {
		code_const(&g->c, R0, (u64)a->value);
		code_alu(&g->c, BPF_ADD, R3, R0);
	}
	gen_read_scalar(g, SPACE_USER, t, loc);
}

static void usdt_arg(struct gen *g, u32 i, struct loc loc)
{
	const struct usdt_arg *a = &g->v->usdt[i];
	const struct type *t = type_int(a->size, a->is_signed);

	switch (a->at.form) {
	case OPERAND_CONST:
		code_const(&g->c, R0, (u64)a->at.value);
		gen_narrow(g, t, R0);
		break;
	case OPERAND_REG:
		code_load(&g->c, 8, R0, CTX, a->at.reg);
		if (a->at.high_byte)
			code_alu_imm(&g->c, BPF_RSH, R0, 8);
		gen_narrow(g, t, R0);
		break;
	case OPERAND_MEM:
		usdt_memory(g, &a->at, t, loc);
		break;
	}
}

static bool has_func_arg(struct gen *g)
{
	return g->w->ops->features(g->w, FEATURE_FUNC_ARG)->func_arg;
}

/* Word i of the context in r0, as a plain number: loaded, it would be a pointer to its type. */
static void traced_word(struct gen *g, u32 i)
{
	struct mark m = frame_mark(g);
	struct mem slot = frame_alloc(g, 8);

	mem_store_imm(g, 8, slot, 0);
	mem_addr(g, slot, R1);
	code_const(&g->c, R2, 8);
	code_mov(&g->c, R3, CTX);
	code_alu_imm(&g->c, BPF_ADD, R3, (s32)i * 8);
	code_call(&g->c, BPF_FUNC_probe_read_kernel);
	mem_load(g, 8, R0, slot);
	frame_release(g, m);
}

/* Of the function that returns. */
static u32 n_params(struct gen *g, struct loc loc)
{
	const struct variant *v = g->v;
	struct btf_info proto;
	struct err e = { 0 };
	struct btf *b = v->proto_btf ? v->proto_btf : g->w->ops->btf(g->w, &e);
	bool variadic;
	u32 n = 0;

	if (!v->proto || !b || !btf_proto(b, v->proto, &proto, &n, &variadic))
		gen_error(g, loc, "what several functions return together needs Linux 5.17");
	return n;
}

/* fentry: the helper hands the argument over as a plain number. */
static void traced_arg(struct gen *g, u32 i)
{
	struct mark m = frame_mark(g);
	struct mem slot;

	if (!has_func_arg(g)) {
		traced_word(g, i);
		return;
	}
	slot = frame_alloc(g, 8);
	code_mov(&g->c, R1, CTX);
	code_const(&g->c, R2, i);
	mem_store_imm(g, 8, slot, 0);
	mem_addr(g, slot, R3);
	code_call(&g->c, BPF_FUNC_get_func_arg);
	mem_load(g, 8, R0, slot);
	frame_release(g, m);
}

static bool arg_direct(struct gen *g, u32 i, enum reg dst)
{
	switch (attach_kind_args(g->v->kind)) {
	case KIND_ARGS_ENTRY:
		if (i >= arch.c.n_ints)
			return false;
		code_load(&g->c, 8, dst, CTX, arch_reg(str_of(arch.c.ints[i]))->at);
		return true;
	case KIND_ARGS_RAW:
		if (g->v->standin)
			i = g->v->standin->args[i] - 1u;
		code_load(&g->c, 8, dst, CTX, (s32)i * 8);
		return true;
	default:
		return false;
	}
}

void gen_arg(struct gen *g, u32 i, struct loc loc)
{
	if (arg_direct(g, i, R0))
		return;
	switch (attach_kind_args(g->v->kind)) {
	case KIND_ARGS_NOTE:
		if (i < g->v->n_usdt)
			usdt_arg(g, i, loc);
		else
			gen_error(g, loc, "this probe has %u arguments, there is no arg%u",
			          g->v->n_usdt, i);
		break;
	case KIND_ARGS_TRACED:
		traced_arg(g, i);
		break;
	default:
		gen_error(g, loc, "arg%u can not be used with %s probes", i,
		          attach_kind_name(g->v->kind));
		break;
	}
}

static void load_retval(struct gen *g, struct loc loc)
{
	struct mark m = frame_mark(g);
	struct mem slot;

	if (g->v->standin) {
		code_load(&g->c, 8, R0, CTX, (g->v->standin->retval - 1) * 8);
		return;
	}
	if (attach_kind_args(g->v->kind) != KIND_ARGS_TRACED) {
		code_load(&g->c, 8, R0, CTX, arch.result);
		return;
	}
	if (!has_func_arg(g)) {
		traced_word(g, n_params(g, loc)); /* after the arguments */
		return;
	}
	slot = frame_alloc(g, 8);
	mem_store_imm(g, 8, slot, 0);
	code_mov(&g->c, R1, CTX);
	mem_addr(g, slot, R2);
	code_call(&g->c, BPF_FUNC_get_func_ret);
	mem_load(g, 8, R0, slot);
	frame_release(g, m);
}

/* ---- who is running ------------------------------------------------------------------------- */

const struct world *gen_machine(struct gen *g)
{
	g->w->ops->machine(g->w);
	return g->w;
}

/* Ids of the initial pid namespace cost one call; in another one the kernel translates. */
void gen_pid_tgid(struct gen *g)
{
	struct mark m = frame_mark(g);
	struct mem ids;

	if (!gen_machine(g)->nested_pid_ns) {
		code_call(&g->c, BPF_FUNC_get_current_pid_tgid);
		return;
	}
	ids = frame_alloc(g, 8);
	mem_store_imm(g, 8, ids, 0);
	code_const(&g->c, R1, g->w->pid_ns_dev);
	code_const(&g->c, R2, g->w->pid_ns_ino);
	mem_addr(g, ids, R3);
	code_const(&g->c, R4, 8);
	code_call(&g->c, BPF_FUNC_get_ns_current_pid_tgid);
	mem_load(g, 8, R0, ids); /* struct bpf_pidns_info: u32 pid (a thread), u32 tgid */
	frame_release(g, m);
}

static void ids(struct gen *g, const struct node *n)
{
	if (n->builtin.n) /* pid(init) */
		code_call(&g->c, BPF_FUNC_get_current_pid_tgid);
	else
		gen_pid_tgid(g);
}

/* Of the two ids in R0. */
static void half_of_ids(struct gen *g, bool upper)
{
	if (upper)
		code_alu_imm(&g->c, BPF_RSH, R0, 32);
	else
		code_alu32(&g->c, BPF_MOV, R0, R0);
}

static void read_pid(struct gen *g, const struct node *n)
{
	ids(g, n);
	half_of_ids(g, true);
}

static void read_tid(struct gen *g, const struct node *n)
{
	ids(g, n);
	half_of_ids(g, false);
}

static void read_uid(struct gen *g, const struct node *n)
{
	(void)n;
	code_call(&g->c, BPF_FUNC_get_current_uid_gid);
	half_of_ids(g, false);
}

static void read_gid(struct gen *g, const struct node *n)
{
	(void)n;
	code_call(&g->c, BPF_FUNC_get_current_uid_gid);
	half_of_ids(g, true);
}

/* Up to Linux 6.3 the helper leaves what is after the name as it was: it is cleared beforehand. */
static void store_comm(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                       bool pad)
{
	u32 filled = g->w->kernel_version < COMM_PADDED ? 0 : COMM_SIZE;

	if (!t->bounded && t->count < COMM_SIZE) { /* it may be cut */
		struct mem whole = frame_alloc(g, COMM_SIZE);

		store_comm(g, n, n->type, whole, true);
		gen_convert(g, dst, t, whole, n->type, pad);
		return;
	}
	if (pad || dst.base == MEM_STACK)
		mem_zero(g, dst, filled, type_slot(t));
	mem_addr(g, dst, R1);
	code_const(&g->c, R2, COMM_SIZE);
	code_call(&g->c, BPF_FUNC_get_current_comm);
}

static void store_stack(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                        bool pad)
{
	(void)pad;
	gen_stack(g, t, dst, n->loc);
}

/* ---- the session ---------------------------------------------------------------------------- */

static void read_elapsed(struct gen *g, const struct node *n)
{
	(void)n;
	code_call(&g->c, BPF_FUNC_ktime_get_boot_ns);
	code_map_value(&g->c, R1, gen_map_of(g, UMAP_DATA), UDATA_START * 8);
	code_load(&g->c, 8, R1, R1, 0);
	code_alu(&g->c, BPF_SUB, R0, R1);
}

static void read_ncpus(struct gen *g, const struct node *n)
{
	(void)n;
	g->u->n_cpus = gen_machine(g)->n_cpus;
	code_const(&g->c, R0, g->u->n_cpus);
}

/* Of `target` as well, which is a constant but for -c. */
static void read_cpid(struct gen *g, const struct node *n)
{
	(void)n;
	code_map_value(&g->c, R1, gen_map_of(g, UMAP_DATA), UDATA_CPID * 8);
	code_load(&g->c, 8, R0, R1, 0);
}

/* ---- the event ------------------------------------------------------------------------------ */

/* As a number, by way of memory: the verifier lets nobody calculate with the pointer itself. */
static void read_ctx(struct gen *g, const struct node *n)
{
	struct mark m = frame_mark(g);
	struct mem pointer = frame_alloc(g, 8), number = frame_alloc(g, 8);

	(void)n;
	mem_store(g, 8, pointer, CTX);
	mem_addr(g, pointer, R3);
	mem_addr(g, number, R1);
	code_const(&g->c, R2, 8);
	code_call(&g->c, BPF_FUNC_probe_read_kernel);
	mem_load(g, 8, R0, number);
	frame_release(g, m);
}

static void read_arg(struct gen *g, const struct node *n)
{
	gen_arg(g, n->builtin.n, n->loc);
}

static void read_retval(struct gen *g, const struct node *n)
{
	load_retval(g, n->loc);
	gen_narrow(g, n->type, R0);
}

static void read_usermode(struct gen *g, const struct node *n)
{
	(void)n;
	code_load(&g->c, 8, R0, CTX, arch.user_at);
	code_alu_imm(&g->c, BPF_AND, R0, arch.user_mask);
	code_alu_imm(&g->c, BPF_RSH, R0, arch.user_shift);
	if (arch.user_is_clear)
		code_alu_imm(&g->c, BPF_XOR, R0, 1);
}

/* The cookie given at attach time numbers the site; kinds without cookies have one site. */
static void read_probe(struct gen *g, const struct node *n)
{
	const struct usite *sites = g->v->sites.v;
	bool same = true;

	(void)n;
	for (u32 i = 1; i < g->v->sites.n; i++)
		same &= sites[i].cookie == sites[0].cookie;
	if (same) {
		code_const(&g->c, R0, sites[0].cookie);
		return;
	}
	code_mov(&g->c, R1, CTX);
	code_call(&g->c, BPF_FUNC_get_attach_cookie);
}

/* The addresses of the sites, by their numbers: before 5.15 nobody says which function it is. */
static void site_address(struct gen *g, const struct node *n)
{
	struct world *w = g->w;
	u32 done = code_label(&g->c);

	if (!attach_kind_has(g->v->kind, KIND_KERNEL)) {
		gen_error(g, n->loc, "'func' of %s probes needs Linux 5.15 or newer",
		          attach_kind_name(g->v->kind));
		return;
	}
	read_probe(g, n);
	code_mov(&g->c, R1, R0);
	for (u32 i = 0; i < g->v->sites.n; i++) {
		const struct usite *s = &g->v->sites.v[i];

		code_const(&g->c, R0, s->address ? s->address : w->ops->kaddr(w, s->event));
		code_if_imm(&g->c, BPF_JEQ, R1, (s32)s->cookie, done);
	}
	code_bind(&g->c, done);
}

/* Where the probed function starts. */
static void read_func(struct gen *g, const struct node *n)
{
	if (attach_kind_is_user(g->v->kind) && !attach_kind_has(g->v->kind, KIND_RETURN)) {
		code_load(&g->c, 8, R0, CTX, arch.ip);
		return;
	}
	if (g->v->standin) {
		struct world *w = g->w;

		code_const(&g->c, R0, w->ops->kaddr(w, g->v->standin->function));
		return;
	}
	if (!g->w->ops->features(g->w, FEATURE_FUNC_IP)->func_ip) {
		site_address(g, n);
		return;
	}
	code_mov(&g->c, R1, CTX);
	code_call(&g->c, BPF_FUNC_get_func_ip);
}

/* A user symbol: address and pid. */
static void store_func(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                       bool pad)
{
	(void)t;
	(void)pad;
	read_func(g, n);
	mem_store(g, 8, dst, R0);
	gen_pid_tgid(g);
	half_of_ids(g, true);
	mem_store(g, 8, mem_at(dst, 8), R0);
	gen_seen(g);
}

/* ---- the rows ------------------------------------------------------------------------------- */

#define AS_NONE                                                                                    \
	{                                                                                          \
		0                                                                                  \
	}
#define AS_HELPER(name)                                                                            \
	{                                                                                          \
		.helper = BPF_FUNC_##name                                                          \
	}
#define AS_VALUE(f)                                                                                \
	{                                                                                          \
		.value = (f)                                                                       \
	}
#define AS_STORED(f)                                                                               \
	{                                                                                          \
		.store = (f)                                                                       \
	}
#define AS_EITHER(f, g)                                                                            \
	{                                                                                          \
		.value = (f), .store = (g)                                                         \
	}

static const struct {
	u32 helper;
	void (*value)(struct gen *g, const struct node *n);
	void (*store)(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
	              bool pad);
} builtins[] = {
#define V(id, name, type, read, ...) [BUILTIN_##id] = read,
	VARIABLES(V)
#undef V
};

bool gen_builtin_direct(struct gen *g, const struct node *n, enum reg dst)
{
	if (!n->builtin.b || n->builtin.b->id != BUILTIN_ARG)
		return false;
	return arg_direct(g, n->builtin.n, dst);
}

void gen_builtin(struct gen *g, const struct node *n)
{
	enum builtin_id id = n->builtin.b->id;

	if (builtins[id].helper)
		code_call(&g->c, builtins[id].helper);
	else if (builtins[id].value)
		builtins[id].value(g, n);
	else
		gen_error(g, n->loc, "'%.*s' can not be used as a number here",
		          STR_ARG(n->builtin.name));
}

void gen_builtin_store(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                       bool pad)
{
	enum builtin_id id = n->builtin.b->id;

	if (builtins[id].store)
		builtins[id].store(g, n, t, dst, pad);
	else
		gen_error(g, n->loc, "'%.*s' can not be stored", STR_ARG(n->builtin.name));
}
