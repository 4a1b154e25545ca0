/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program is told when its probe fires: arguments, return value, registers, and who is
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

static void usdt_memory(struct gen *g, const struct usdt_arg *a, const struct type *t,
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

	switch (a->form) {
	case USDT_CONST:
		code_const(&g->c, R0, (u64)a->value);
		gen_narrow(g, t, R0);
		break;
	case USDT_REG:
		code_load(&g->c, 8, R0, CTX, a->reg);
		if (a->high_byte)
			code_alu_imm(&g->c, BPF_RSH, R0, 8);
		gen_narrow(g, t, R0);
		break;
	case USDT_MEM:
		usdt_memory(g, a, t, loc);
		break;
	}
}

/* fentry: the helper hands the argument over as a plain number. */
static void traced_arg(struct gen *g, u32 i)
{
	struct mark m = frame_mark(g);
	struct mem slot = frame_alloc(g, 8);

	code_mov(&g->c, R1, CTX);
	code_const(&g->c, R2, i);
	mem_store_imm(g, 8, slot, 0);
	mem_addr(g, slot, R3);
	code_call(&g->c, BPF_FUNC_get_func_arg);
	mem_load(g, 8, R0, slot);
	frame_release(g, m);
}

bool gen_arg_direct(struct gen *g, u32 i, enum reg dst)
{
	switch (attach_kind_args(g->v->kind)) {
	case KIND_ARGS_ENTRY:
		if (i >= arch.c.n_ints)
			return false;
		code_load(&g->c, 8, dst, CTX, arch_reg(str_of(arch.c.ints[i])));
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
	if (gen_arg_direct(g, i, R0))
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

void gen_retval(struct gen *g)
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
	slot = frame_alloc(g, 8);
	mem_store_imm(g, 8, slot, 0);
	code_mov(&g->c, R1, CTX);
	mem_addr(g, slot, R2);
	code_call(&g->c, BPF_FUNC_get_func_ret);
	mem_load(g, 8, R0, slot);
	frame_release(g, m);
}

/* ---- who is running ------------------------------------------------------------------------- */

/* Ids of the initial pid namespace cost one call; in another one the kernel translates. */
void gen_pid_tgid(struct gen *g)
{
	struct mark m = frame_mark(g);
	struct mem ids;

	if (!g->w->nested_pid_ns) {
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

/* Of the two ids in R0. */
static void half_of_ids(struct gen *g, bool pid)
{
	if (pid)
		code_alu_imm(&g->c, BPF_RSH, R0, 32);
	else
		code_alu32(&g->c, BPF_MOV, R0, R0);
}

static void elapsed(struct gen *g)
{
	code_call(&g->c, BPF_FUNC_ktime_get_boot_ns);
	code_map_value(&g->c, R1, gen_map_of(g, UMAP_DATA), UDATA_START * 8);
	code_load(&g->c, 8, R1, R1, 0);
	code_alu(&g->c, BPF_SUB, R0, R1);
}

/* The cookie given at attach time numbers the site; kinds without cookies have one site. */
static void probe_index(struct gen *g)
{
	const struct usite *sites = g->v->sites.v;
	bool same = true;

	for (u32 i = 1; i < g->v->sites.n; i++)
		same &= sites[i].cookie == sites[0].cookie;
	if (same) {
		code_const(&g->c, R0, sites[0].cookie);
		return;
	}
	code_mov(&g->c, R1, CTX);
	code_call(&g->c, BPF_FUNC_get_attach_cookie);
}

/* Where the probed function starts. */
static void function_address(struct gen *g)
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
	code_mov(&g->c, R1, CTX);
	code_call(&g->c, BPF_FUNC_get_func_ip);
}

static void uid_or_gid(struct gen *g, bool gid)
{
	code_call(&g->c, BPF_FUNC_get_current_uid_gid);
	if (gid)
		code_alu_imm(&g->c, BPF_RSH, R0, 32);
	else
		code_alu32(&g->c, BPF_MOV, R0, R0);
}

static void data_word(struct gen *g, u32 word)
{
	code_map_value(&g->c, R1, gen_map_of(g, UMAP_DATA), word * 8);
	code_load(&g->c, 8, R0, R1, 0);
}

/* Builtins that are one helper call without arguments. */
static u32 plain_helper(enum builtin_id id)
{
	switch (id) {
	case BUILTIN_NSECS:
		return BPF_FUNC_ktime_get_boot_ns;
	case BUILTIN_CPU:
		return BPF_FUNC_get_smp_processor_id;
	case BUILTIN_NUMAID:
		return BPF_FUNC_get_numa_node_id;
	case BUILTIN_CURTASK:
		return BPF_FUNC_get_current_task;
	case BUILTIN_CGROUP:
		return BPF_FUNC_get_current_cgroup_id;
	case BUILTIN_RAND:
		return BPF_FUNC_get_prandom_u32;
	case BUILTIN_JIFFIES:
		return BPF_FUNC_jiffies64;
	default:
		return 0;
	}
}

bool gen_builtin_direct(struct gen *g, const struct node *n, enum reg dst)
{
	if (!n->builtin.b || n->builtin.b->id != BUILTIN_ARG)
		return false;
	return gen_arg_direct(g, n->builtin.n, dst);
}

void gen_builtin(struct gen *g, const struct node *n)
{
	enum builtin_id id = n->builtin.b->id;
	u32 helper = plain_helper(id);

	if (helper) {
		code_call(&g->c, helper);
		return;
	}
	switch (id) {
	case BUILTIN_PID:
	case BUILTIN_TID:
		if (n->builtin.n)
			code_call(&g->c, BPF_FUNC_get_current_pid_tgid);
		else
			gen_pid_tgid(g);
		half_of_ids(g, id == BUILTIN_PID);
		break;
	case BUILTIN_UID:
	case BUILTIN_GID:
	case BUILTIN_USERNAME:
		uid_or_gid(g, id == BUILTIN_GID);
		break;
	case BUILTIN_ELAPSED:
		elapsed(g);
		break;
	case BUILTIN_NCPUS:
		code_const(&g->c, R0, g->w->n_cpus);
		break;
	case BUILTIN_CTX:
		code_mov(&g->c, R0, CTX);
		break;
	case BUILTIN_ARG:
		gen_arg(g, n->builtin.n, n->loc);
		break;
	case BUILTIN_RETVAL:
		gen_retval(g);
		gen_narrow(g, n->type, R0);
		break;
	case BUILTIN_FUNC:
		function_address(g);
		break;
	case BUILTIN_PROBE:
		probe_index(g);
		break;
	case BUILTIN_USERMODE:
		code_load(&g->c, 8, R0, CTX, arch.user_at);
		code_alu_imm(&g->c, BPF_AND, R0, arch.user_mask);
		code_alu_imm(&g->c, BPF_RSH, R0, arch.user_shift);
		break;
	case BUILTIN_CPID:
	case BUILTIN_TARGET: /* of -c: another one is a constant */
		data_word(g, UDATA_CPID);
		break;
	default:
		gen_error(g, n->loc, "'%.*s' can not be used as a number here",
		          STR_ARG(n->builtin.name));
		break;
	}
}

/* Up to Linux 6.3 the helper leaves what is behind the name as it was: it is cleared beforehand. */
static void store_comm(struct gen *g, const struct type *t, struct mem dst, bool pad)
{
	u32 filled = g->w->kernel_version < COMM_PADDED ? 0 : COMM_SIZE;

	if (pad || dst.base == MEM_STACK)
		mem_zero(g, dst, filled, type_slot(t));
	mem_addr(g, dst, R1);
	code_const(&g->c, R2, COMM_SIZE);
	code_call(&g->c, BPF_FUNC_get_current_comm);
}

void gen_builtin_store(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                       bool pad)
{
	switch (n->builtin.b->id) {
	case BUILTIN_COMM:
		store_comm(g, t, dst, pad);
		break;
	case BUILTIN_USTACK:
	case BUILTIN_KSTACK:
	case BUILTIN_STACK:
		gen_stack(g, t, dst, n->loc);
		break;
	case BUILTIN_FUNC: /* a user symbol: address and pid */
		function_address(g);
		mem_store(g, 8, dst, R0);
		gen_pid_tgid(g);
		half_of_ids(g, true);
		mem_store(g, 8, mem_at(dst, 8), R0);
		gen_seen(g);
		break;
	default:
		gen_error(g, n->loc, "'%.*s' can not be stored", STR_ARG(n->builtin.name));
		break;
	}
}
