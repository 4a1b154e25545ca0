/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules of functions about symbols, stacks, registers and cgroups. What the machine can answer
 * now becomes a constant now.
 */
#include "lang/infer/infer.h"

#include "arch/arch.h"
#include "lang/probe/ksymbol.h"

#include <signal.h>
#include <string.h>

static bool address_arg(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;
	const struct type *t = infer_value(in, a);

	if (t && !type_is_scalar(t))
		infer_error(in, a->loc, "%s() needs an address, not '%s'", n->call.f->name,
		            type_name(in->arena, t));
	return t && type_is_scalar(t);
}

const struct type *infer_call_ksym(struct infer *in, struct node *n)
{
	return address_arg(in, n) ? type_plain(in->arena, TYPE_KSYM) : NULL;
}

const struct type *infer_call_usym(struct infer *in, struct node *n)
{
	return address_arg(in, n) ? type_plain(in->arena, TYPE_USYM) : NULL;
}

static bool offer_kernel_symbol(void *ctx, const char *name, const char *module, u64 addr)
{
	(void)module;
	if (addr)
		near_offer(ctx, name);
	return true;
}

static const struct type *unknown_kernel_symbol(struct infer *in, struct loc loc, const char *name)
{
	struct near near;

	near_init(&near, name);
	infer_error(in, loc, "Failed to resolve kernel symbol: '%s'", name);
	if (in->added)
		in->world->ops->symbols(in->world, STR("*"), offer_kernel_symbol, &near);
	infer_hint_near(in, &near);
	return NULL;
}

/* Of "symbol" or "module:symbol"; *name is the symbol's. Without an address there is none. */
static void find_kernel_symbols(struct infer *in, const char *text, const char **name,
                                struct ksymbols *s)
{
	const char *colon = strchr(text, ':'), *module = NULL;

	*name = colon ? colon + 1 : text;
	if (colon)
		module = arena_strndup(in->arena, text, (size_t)(colon - text));
	ksymbols_find(in->world, *name, module, false, s);
	if (s->n && !s->v[0].addr)
		s->n = 0;
}

/* kaddr("symbol"), kaddr("module:symbol") */
const struct type *infer_call_kaddr(struct infer *in, struct node *n)
{
	const char *text = infer_literal(in, n, 0), *name;
	struct loc loc = n->call.args ? n->call.args->loc : n->loc;
	struct ksymbols s;

	if (!text)
		return NULL;
	find_kernel_symbols(in, text, &name, &s);
	if (!s.n)
		return unknown_kernel_symbol(in, loc, text);
	if (s.n > 1) {
		infer_error(in, loc, "'%s' is ambiguous: the kernel has %u symbols of this name",
		            text, s.n);
		infer_hint(in, "choose one: %s",
		           ksymbols_choices(in->world, in->arena, &s, name, NULL));
		return NULL;
	}
	return infer_set_int(n, s.v[0].addr, &type_u64);
}

/* has_kaddr("symbol"): would kaddr() know it? Ours, not bpftrace's. */
const struct type *infer_call_has_kaddr(struct infer *in, struct node *n)
{
	const char *text = infer_literal(in, n, 0), *name;
	struct ksymbols s;

	if (!text)
		return NULL;
	find_kernel_symbols(in, text, &name, &s);
	return infer_set_answer(n, s.n == 1);
}

struct offer {
	struct near near;
};

static bool offer_symbol(void *ctx, const struct elf_sym *s)
{
	struct offer *o = ctx;

	near_offer(&o->near, s->name);
	return true;
}

static const struct type *no_symbol(struct infer *in, const struct node *n, struct elf *f,
                                    const char *name)
{
	struct offer o;

	infer_error(in, n->call.args->loc, "'%s' has no symbol '%s'", elf_path(f), name);
	if (in->added) {
		near_init(&o.near, name);
		elf_each(f, offer_symbol, &o);
		infer_hint_near(in, &o.near);
	}
	return NULL;
}

/* What the address of a symbol is counted from when a file is loaded anywhere. */
enum uaddr_from {
	FROM_NOTHING, /* it is loaded where it says */
	FROM_CODE,    /* a program: the start of its code, which the kernel keeps */
	FROM_SITE,    /* a library: the place of the probe, where the process is */
};

static enum uaddr_from uaddr_from(struct elf *f)
{
	if (!elf_is_pie(f))
		return FROM_NOTHING;
	return elf_is_program(f) ? FROM_CODE : FROM_SITE;
}

static struct elf *file_of_probe(struct infer *in, struct err *e)
{
	const struct variant *v = in->variant;

	if (!infer_is_user(in) || !v->sites.n) {
		err_set(e, "uaddr() works in uprobe, uretprobe and usdt probes");
		return NULL;
	}
	return in->world->ops->elf(in->world, v->sites.v[0].path, e);
}

/* The address, by the file's own headers, that a symbol's is counted from. */
static bool find_origin(struct infer *in, const struct node *n, struct elf *f, u64 *origin)
{
	const struct variant *v = in->variant;
	enum uaddr_from from = uaddr_from(f);
	const u8 *code;
	size_t size;

	*origin = 0;
	if (from == FROM_CODE)
		return elf_code(f, 0, &code, &size, origin);
	if (from == FROM_NOTHING)
		return true;
	if (v->kind != ATTACH_UPROBE || v->sites.n != 1) {
		infer_error(in, n->loc,
		            "uaddr() in a library works in uprobes of one place: '%s' is loaded at "
		            "a different address in each process",
		            elf_path(f));
		return false;
	}
	return elf_vaddr(f, v->sites.v[0].offset, origin);
}

const struct type *infer_call_uaddr(struct infer *in, struct node *n)
{
	const char *name = infer_literal(in, n, 0);
	const struct type *elem;
	struct err e = { 0 };
	struct elf_sym sym;
	struct elf *f;
	u64 origin;

	if (!name)
		return NULL;
	f = file_of_probe(in, &e);
	if (!f)
		return infer_failed(in, n->loc, &e);
	if (!elf_find(f, name, &sym))
		return no_symbol(in, n, f, name);
	if (!find_origin(in, n, f, &origin))
		return NULL;
	elem = type_int(sym.size == 1 || sym.size == 2 || sym.size == 4 ? (u32)sym.size : 8, false);
	return infer_set_int(n, sym.value - origin, type_ptr(in->arena, elem, SPACE_USER));
}

/* Asked first; what is wrong is said by the other. */
const struct type *infer_call_uaddr_from(struct infer *in, struct node *n)
{
	const char *name = infer_literal(in, n, 0);
	enum uaddr_from from = FROM_NOTHING;
	struct err e = { 0 };
	struct elf_sym sym;
	struct elf *f;

	if (!name)
		return NULL;
	f = file_of_probe(in, &e);
	if (f && elf_find(f, name, &sym))
		from = uaddr_from(f);
	return infer_set_int(n, from, &type_u64);
}

const struct type *infer_call_reg(struct infer *in, struct node *n)
{
	const char *name = infer_literal(in, n, 0);
	struct near near;

	if (!name)
		return NULL;
	if (!attach_kind_has(in->variant->kind, KIND_REGS))
		return infer_error(in, n->loc, "reg() is not available in %s probes",
		                   attach_kind_name(in->variant->kind));
	near_init(&near, name);
	if (arch_reg(str_of(name)))
		return &type_u64;
	for (u32 i = 0; i < arch.n_regs; i++)
		near_offer(&near, arch.regs[i].name);
	infer_error(in, n->call.args->loc, "'%s' is not a register of this machine", name);
	infer_hint_near(in, &near);
	return NULL;
}

const struct type *infer_call_cgroupid(struct infer *in, struct node *n)
{
	const char *path = infer_literal(in, n, 0);
	struct err e = { 0 };
	u64 id;

	if (!path)
		return NULL;
	if (!in->world->ops->cgroupid(in->world, path, &id, &e))
		return infer_failed(in, n->call.args->loc, &e);
	return infer_set_int(n, id, &type_u64);
}

const struct type *infer_call_cgroup_path(struct infer *in, struct node *n)
{
	struct type *t = arena_new(in->arena, struct type);

	infer_integer(in, n->call.args, "the cgroup id");
	*t = *type_plain(in->arena, TYPE_CGROUP_PATH);
	if (n->call.n_args > 1)
		t->text = infer_literal(in, n, 1);
	return t;
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* How a stack is printed, or (walk) how a user stack is found. */
static const struct {
	const char *name;
	enum stack_mode mode;
	bool is_walk;
	enum stack_walk walk;
} modes[] = {
	{ "bpftrace", STACK_BPFTRACE, false, 0 },
	{ "perf", STACK_PERF, false, 0 },
	{ "raw", STACK_RAW, false, 0 },
	{ "build_id", STACK_BUILD_ID, false, 0 },
	{ "fp", 0, true, WALK_FP },
	{ "dwarf", 0, true, WALK_AUTO },
	{ "copy", 0, true, WALK_COPY },
};

static bool stack_mode(struct infer *in, const struct node *a, bool user, struct type *t)
{
	struct near near;

	near_init(&near, infer_text(in, a->string));
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (!user && (modes[i].is_walk || modes[i].mode == STACK_BUILD_ID))
			continue;
		if (!str_is(a->string, modes[i].name)) {
			near_offer(&near, modes[i].name);
			continue;
		}
		if (modes[i].is_walk)
			t->walk = modes[i].walk;
		else
			t->mode = modes[i].mode;
		return true;
	}
	infer_error(in, a->loc, "Unknown stack mode: '%.*s'", STR_ARG(a->string));
	infer_hint(in, user ? "use one of bpftrace, perf, raw, build_id, fp, dwarf, copy"
	                    : "use one of bpftrace, perf, raw");
	return false;
}

static bool stack_limit(struct infer *in, struct node *n, u32 i, struct type *t)
{
	s64 limit;

	if (!infer_literal_int(in, n, i, &limit))
		return false;
	if (limit < 1 || limit > (s64)UNIT_STACK_FRAMES) {
		infer_error(in, infer_arg(n, i)->loc, "a stack has 1 to %u frames, not %lld",
		            UNIT_STACK_FRAMES, (long long)limit);
		return false;
	}
	t->limit = (u32)limit;
	return true;
}

/* kstack([mode,] [limit]), ustack([mode,] [walk,] [limit]), stack as ustack */
const struct type *infer_call_stack(struct infer *in, struct node *n)
{
	enum type_kind kind = n->call.f->id == FUNC_USTACK   ? TYPE_USTACK
	                      : n->call.f->id == FUNC_KSTACK ? TYPE_KSTACK
	                                                     : TYPE_STACK;
	bool user = kind != TYPE_KSTACK;
	struct type *t = arena_new(in->arena, struct type);
	const struct node *a = n->call.args;
	u32 i = 0, most = user ? 2 : 1;

	*t = *type_stack(in->arena, kind, in->config->stack_mode, UNIT_STACK_FRAMES);
	for (; a && a->kind == NODE_IDENT && i < most; a = a->next, i++)
		if (!stack_mode(in, a, user, t))
			return NULL;
	if (i + 1 < n->call.n_args)
		return infer_error(in, infer_arg(n, i + 1)->loc,
		                   "%s() takes a mode, then a number of frames", n->call.f->name);
	if (a && !stack_limit(in, n, i, t))
		return NULL;
	return t;
}

/* ---- the rest ------------------------------------------------------------------------------- */

const struct type *infer_call_nsecs(struct infer *in, struct node *n)
{
	static const char *const clocks[] = { "monotonic", "boot", "tai", "sw_tai" };
	struct node *a = n->call.args;

	if (!a)
		return &type_u64;
	if (a->kind == NODE_IDENT)
		for (size_t i = 0; i < ARRAY_SIZE(clocks); i++)
			if (str_is(a->string, clocks[i]))
				return &type_u64;
	infer_error(in, a->loc, "nsecs() takes the name of a clock");
	infer_hint(in, "use one of monotonic, boot, tai");
	return NULL;
}

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },   { "INT", SIGINT },     { "QUIT", SIGQUIT }, { "ILL", SIGILL },
	{ "TRAP", SIGTRAP }, { "ABRT", SIGABRT },   { "BUS", SIGBUS },   { "FPE", SIGFPE },
	{ "KILL", SIGKILL }, { "USR1", SIGUSR1 },   { "SEGV", SIGSEGV }, { "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE }, { "ALRM", SIGALRM },   { "TERM", SIGTERM }, { "CHLD", SIGCHLD },
	{ "CONT", SIGCONT }, { "STOP", SIGSTOP },   { "TSTP", SIGTSTP }, { "TTIN", SIGTTIN },
	{ "TTOU", SIGTTOU }, { "URG", SIGURG },     { "XCPU", SIGXCPU }, { "XFSZ", SIGXFSZ },
	{ "PROF", SIGPROF }, { "WINCH", SIGWINCH },
};

const struct type *infer_call_signal(struct infer *in, struct node *n)
{
	struct node *a = n->call.args;
	const struct type *t = infer_value(in, a);
	const char *name;

	if (a->kind != NODE_STRING) {
		if (t && t->kind != TYPE_INT)
			infer_error(in, a->loc, "%s() needs a name or a number, not '%s'",
			            n->call.f->name, type_name(in->arena, t));
		else if (a->kind == NODE_INT && (a->integer.value < 1 || a->integer.value > 64))
			infer_error(in, a->loc, "%lld is not a signal",
			            (long long)a->integer.value);
		return &type_none;
	}
	name = infer_text(in, a->string);
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (strcmp(signals[i].name, name) == 0) {
			infer_set_int(a, (u64)signals[i].number, &type_s64);
			return &type_none;
		}
	infer_error(in, a->loc, "Unknown signal: '%s'", name);
	return NULL;
}

const struct type *infer_call_unwatch(struct infer *in, struct node *n)
{
	const struct type *t = infer_value(in, n->call.args);

	if (t && t->kind != TYPE_INT && t->kind != TYPE_PTR)
		infer_error(in, n->call.args->loc, "unwatch() needs an address, not '%s'",
		            type_name(in->arena, t));
	return &type_none;
}

const struct type *infer_call_follow(struct infer *in, struct node *n)
{
	infer_integer(in, n->call.args, "the process to follow");
	in->script->follows = true;
	return &type_none;
}
