/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bare names: builtin variables, enumerators, positional parameters.
 *
 * The one idea: a builtin is a row with either a fixed type or a rule, since some exist only in
 * some kinds of probes.
 */
#include "lang/infer/infer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "lang/probe/standin.h"

#define SHORT_LISTED 6u /* names in a hint */
#define STACK_FRAMES 127u
#define ARGS_RAW     12u /* of a raw tracepoint */

static const struct type *wrong_probe(struct infer *in, const struct node *n, const char *where)
{
	infer_error(in, n->loc, "'%.*s' is not available in %s probes", STR_ARG(n->builtin.name),
	            attach_kind_name(in->variant->kind));
	infer_hint(in, "%s", where);
	return NULL;
}

static const struct type *rule_comm(struct infer *in, struct node *n)
{
	(void)n;
	return type_str(in->arena, 16, true);
}

static const struct type *rule_username(struct infer *in, struct node *n)
{
	(void)n;
	return type_plain(in->arena, TYPE_USERNAME);
}

/* A pointer to it. */
static const struct type *kernel_struct(struct infer *in, const char *name)
{
	struct err e = { 0 };
	struct btf *b = in->world->ops->btf(in->world, &e);
	u32 id = b ? btf_find(b, BTF_KIND_STRUCT, name) : 0;

	return type_ptr(in->arena,
	                id ? btf_type(in->script, b, id, SPACE_KERNEL)
	                   : infer_opaque(in, arena_printf(in->arena, "struct %s", name)),
	                SPACE_KERNEL);
}

static const struct type *rule_curtask(struct infer *in, struct node *n)
{
	(void)n;
	return kernel_struct(in, "task_struct");
}

/* struct bpf_iter__NAME, in memory of the kernel. */
static const struct type *iter_context(struct infer *in)
{
	const char *name = in->variant->sites.v[0].event;
	struct err e = { 0 };
	struct btf *b = in->world->ops->btf(in->world, &e);
	u32 id = b ? btf_find(b, BTF_KIND_STRUCT, arena_printf(in->arena, "bpf_iter__%s", name))
	           : 0;

	if (!id)
		return type_ptr(in->arena, &type_none, SPACE_KERNEL);
	return type_ptr(in->arena, btf_type(in->script, b, id, SPACE_KERNEL), SPACE_KERNEL);
}

static const struct type *rule_ctx(struct infer *in, struct node *n)
{
	if (in->variant->kind == ATTACH_ITER)
		return iter_context(in);
	if (attach_kind_has(in->variant->kind, KIND_PACKET))
		return kernel_struct(in, "sk_buff");
	if (attach_kind_args(in->variant->kind) == KIND_ARGS_RECORD)
		return wrong_probe(in, n, "use args.field");
	return type_ptr(in->arena, &type_none, SPACE_KERNEL);
}

static bool has_types(struct infer *in)
{
	struct err ignored = { 0 };

	return in->world->ops->btf(in->world, &ignored) != NULL;
}

static const struct type *rule_args(struct infer *in, struct node *n)
{
	const struct variant *v = in->variant;
	struct type *t;

	if (v->standin || v->as_kprobe)
		return wrong_probe(in, n, "use arg0, arg1, ...");
	switch (attach_kind_args(v->kind)) {
	case KIND_ARGS_RECORD:
		break;
	case KIND_ARGS_RAW:
	case KIND_ARGS_TRACED:
		if (v->proto)
			break;
		if (!has_types(in))
			return wrong_probe(in, n,
			                   "this kernel has no type information (BTF): use "
			                   "arg0, arg1, ...");
		return wrong_probe(in, n,
		                   "the kernel has no types for this one: use arg0, arg1, ...");
	case KIND_ARGS_ENTRY:
		if (infer_is_user(in) && v->uargs)
			break;
		if (infer_is_user(in))
			return infer_uargs_missing(in, n->loc);
		return wrong_probe(in, n, "use arg0, arg1, ...");
	case KIND_ARGS_NOTE:
		return wrong_probe(in, n, "use arg0, arg1, ...");
	default:
		return wrong_probe(in, n, "tracepoints, fentry and uprobes have it");
	}
	t = arena_new(in->arena, struct type);
	t->kind = TYPE_ARGS;
	return t;
}

/* "provider:name" of "path:provider:name" */
static const char *usdt_short_name(const struct variant *v)
{
	const char *name = v->sites.n ? v->sites.v[0].name : "", *colon = strrchr(name, ':');

	while (colon && colon > name && colon[-1] != ':')
		colon--;
	return colon ? colon : name;
}

/* True when variant i is the first of its probe's name that lacks argument `arg`. */
static bool first_short(const struct probe *p, u32 i, u32 arg)
{
	const char *name = usdt_short_name(p->variants.v[i]);

	if (attach_kind_args(p->variants.v[i]->kind) != KIND_ARGS_NOTE ||
	    p->variants.v[i]->n_usdt > arg)
		return false;
	for (u32 k = 0; k < i; k++)
		if (p->variants.v[k]->n_usdt <= arg &&
		    strcmp(usdt_short_name(p->variants.v[k]), name) == 0)
			return false;
	return true;
}

/* In a list where only some probes have argument `arg`: which ones have not. */
static void hint_short(struct infer *in, u32 arg)
{
	const struct probe *p = in->probe;
	u32 lacking = 0, enough = 0;
	struct buf b = { 0 };

	for (u32 i = 0; i < p->variants.n; i++) {
		enough += p->variants.v[i]->n_usdt > arg;
		if (!first_short(p, i, arg) || lacking++ >= SHORT_LISTED)
			continue;
		buf_printf(&b, "%s%s", b.n ? ", " : "", usdt_short_name(p->variants.v[i]));
	}
	if (enough)
		infer_hint(in, "put those with fewer arguments in a block of their own: %s%s",
		           buf_text(&b), lacking > SHORT_LISTED ? ", ..." : "");
	buf_free(&b);
}

/* USDT: each argument has its own size and sign, taken from the note. */
static const struct type *usdt_arg(struct infer *in, struct node *n)
{
	const struct variant *v = in->variant;

	if (n->builtin.n < v->n_usdt)
		return type_int(v->usdt[n->builtin.n].size, v->usdt[n->builtin.n].is_signed);
	infer_error(in, n->loc, "%s has %u argument%s: there is no %.*s",
	            v->sites.n ? v->sites.v[0].name : "the probe", v->n_usdt,
	            v->n_usdt == 1 ? "" : "s", STR_ARG(n->builtin.name));
	hint_short(in, n->builtin.n);
	return NULL;
}

static const struct type *arg_below(struct infer *in, struct node *n, u32 limit, const char *why)
{
	if (n->builtin.n < limit)
		return &type_raw;
	return infer_error(in, n->loc, "there is no %.*s: %s", STR_ARG(n->builtin.name), why);
}

static const struct type *raw_arg(struct infer *in, struct node *n)
{
	s32 count = infer_proto_args(in);

	return arg_below(in, n, count < 0 ? ARGS_RAW : (u32)count,
	                 arena_printf(in->arena, "the event has %d arguments",
	                              count < 0 ? (s32)ARGS_RAW : count));
}

/* argN of a function that a tracepoint stands in for. */
static const struct type *standin_arg(struct infer *in, struct node *n)
{
	const struct standin *s = in->variant->standin;

	if (n->builtin.n < STANDIN_ARGS && s->args[n->builtin.n])
		return &type_raw;
	return infer_error(in, n->loc,
	                   "there is no %.*s: the BTF tracepoint %s, which stands in for %s, does "
	                   "not have it",
	                   STR_ARG(n->builtin.name), s->event, s->function);
}

/* A kretprobe that became an fexit: it has what a kretprobe has. */
static bool returns_as_kprobe(const struct infer *in)
{
	return in->variant->as_kprobe && attach_kind_has(in->variant->kind, KIND_RETURN);
}

static const struct type *rule_arg(struct infer *in, struct node *n)
{
	if (in->variant->standin && !in->variant->standin->on_return)
		return standin_arg(in, n);
	if (in->variant->standin || returns_as_kprobe(in))
		return wrong_probe(in, n,
		                   "save it in a map at the function's entry; here is retval");
	switch (attach_kind_args(in->variant->kind)) {
	case KIND_ARGS_ENTRY:
		return arg_below(in, n, arch.c.n_ints,
		                 arena_printf(in->arena,
		                              "%s arguments are passed in registers, arg0 to arg%u",
		                              arch.c.n_ints_word, arch.c.n_ints - 1));
	case KIND_ARGS_NOTE:
		return usdt_arg(in, n);
	case KIND_ARGS_RAW:
	case KIND_ARGS_TRACED:
		return raw_arg(in, n);
	case KIND_ARGS_RESULT:
		return wrong_probe(in, n,
		                   "save it in a map at the function's entry; here is retval");
	case KIND_ARGS_RECORD:
		return wrong_probe(in, n, "use args.field");
	default:
		return wrong_probe(in, n, "function probes and usdt have arguments");
	}
}

static const struct type *rule_retval(struct infer *in, struct node *n)
{
	if (in->variant->standin && in->variant->standin->on_return)
		return &type_raw;
	if (returns_as_kprobe(in))
		return &type_raw;
	if (!attach_kind_has(in->variant->kind, KIND_RETURN))
		return wrong_probe(in, n, "uretprobe, kretprobe and fexit have it");
	if (attach_kind_args(in->variant->kind) == KIND_ARGS_TRACED)
		return infer_retval(in, n);
	return infer_is_user(in) && n->builtin.n ? infer_result(in, n) : &type_raw;
}

static const struct type *rule_func(struct infer *in, struct node *n)
{
	if (in->variant->standin)
		return type_plain(in->arena, TYPE_KSYM);
	if (attach_kind_has(in->variant->kind, KIND_KERNEL))
		return type_plain(in->arena, TYPE_KSYM);
	if (infer_is_user(in))
		return type_func(in->arena);
	return wrong_probe(in, n, "function probes have it");
}

static const struct type *rule_probe(struct infer *in, struct node *n)
{
	const struct variant *v = in->variant;

	if (in->script->probe_is_text)
		return infer_set_string(in, n, v->sites.n ? v->sites.v[0].name : "");
	return type_plain(in->arena, TYPE_PROBE);
}

static const struct type *rule_probetype(struct infer *in, struct node *n)
{
	return infer_set_string(in, n, attach_kind_name(in->variant->kind));
}

static const struct type *rule_ustack(struct infer *in, struct node *n)
{
	(void)n;
	return type_stack(in->arena, TYPE_USTACK, in->config->stack_mode, STACK_FRAMES);
}

static const struct type *rule_stack(struct infer *in, struct node *n)
{
	(void)n;
	return type_stack(in->arena, TYPE_STACK, in->config->stack_mode, STACK_FRAMES);
}

static const struct type *rule_kstack(struct infer *in, struct node *n)
{
	(void)n;
	return type_stack(in->arena, TYPE_KSTACK, in->config->stack_mode, STACK_FRAMES);
}

/* What a related task says: n becomes curtask->TASK->NAME. */
static const struct type *of_task(struct infer *in, struct node *n, struct str task,
                                  struct str name)
{
	struct node *other = ast_node(in->arena, NODE_FIELD, n->loc);

	if (!infer_btf(in, n->loc))
		return NULL;
	other->field.e = ast_node(in->arena, NODE_BUILTIN, n->loc);
	ast_set_builtin(other->field.e, STR("curtask"));
	other->field.name = task;
	n->kind = NODE_FIELD;
	n->field.e = other;
	n->field.name = name;
	return infer_field(in, n);
}

static const struct type *rule_ppid(struct infer *in, struct node *n)
{
	return of_task(in, n, STR("real_parent"), STR("tgid"));
}

static const struct type *rule_pcomm(struct infer *in, struct node *n)
{
	return of_task(in, n, STR("real_parent"), STR("comm"));
}

static const struct type *rule_leader_tid(struct infer *in, struct node *n)
{
	return of_task(in, n, STR("group_leader"), STR("pid"));
}

static const struct type *rule_leader_comm(struct infer *in, struct node *n)
{
	return of_task(in, n, STR("group_leader"), STR("comm"));
}

/* From the registers that the event interrupted; without them it is the kernel that runs, but for
 * what this program itself runs. */
static const struct type *rule_usermode(struct infer *in, struct node *n)
{
	if (attach_kind_has(in->variant->kind, KIND_REGS))
		return &type_u8;
	return infer_set_int(n, attach_kind_has(in->variant->kind, KIND_OWN), &type_u8);
}

static const struct type *rule_has_cpid(struct infer *in, struct node *n)
{
	return infer_set_int(n, in->script->request.command != NULL, &type_bool);
}

/* With -p or -c: decides what of a script is compiled. */
static const struct type *rule_has_target(struct infer *in, struct node *n)
{
	return infer_set_answer(n, in->script->request.pid || in->script->request.command);
}

/* The process that is looked at, of -p or -c. The command's number is not known yet. */
static const struct type *rule_target(struct infer *in, struct node *n)
{
	if (in->script->request.command)
		return &type_u32;
	return infer_set_int(n, (u64)in->script->request.pid, &type_u32);
}

#define FIXED(type)                                                                                \
	{                                                                                          \
		&(type), NULL                                                                      \
	}
#define RULE(f)                                                                                    \
	{                                                                                          \
		NULL, f                                                                            \
	}

static const struct {
	const struct type *fixed;
	infer_rule *rule;
} builtins[] = {
#define V(id, name, type, ...) [BUILTIN_##id] = type,
	VARIABLES(V)
#undef V
};

/* What only memtap has gives way to what a script calls by its name. */
static bool gives_way(struct infer *in, const struct node *n)
{
	enum builtin_id id = n->builtin.b->id;
	struct str name = n->builtin.name;
	struct number value;

	if (id != BUILTIN_TARGET && id != BUILTIN_HAS_TARGET && id != BUILTIN_STACK)
		return false;
	return infer_cpp_string(in, name) || infer_cdef_const(in, name, &value) ||
	       infer_cmacro_find(in, name, true);
}

const struct type *infer_builtin(struct infer *in, struct node *n)
{
	enum builtin_id id;

	if (!n->builtin.b)
		return infer_error(in, n->loc, "Unknown builtin: '%.*s'", STR_ARG(n->builtin.name));
	if (gives_way(in, n)) {
		struct str name = n->builtin.name;

		n->kind = NODE_IDENT;
		n->string = name;
		return infer_ident(in, n);
	}
	id = n->builtin.b->id;
	return builtins[id].fixed ? builtins[id].fixed : builtins[id].rule(in, n);
}

/* ---- identifiers ---------------------------------------------------------------------------- */

static const struct type *unknown_ident(struct infer *in, struct node *n, const char *name)
{
	struct near near;
	u32 stack_arg;

	near_init(&near, name);
	builtin_offer(&near);
	constants_offer(&in->constants, &near);
	if (func_find(n->string)) {
		infer_error_now(in, n->loc, "'%s' is a function: it needs parentheses", name);
		infer_hint(in, "write %s(...)", name);
	} else {
		infer_error_now(in, n->loc, "Unknown identifier: '%s'", name);
		if (sscanf(name, "sarg%3u", &stack_arg) == 1)
			infer_hint(in, "arguments on the stack are *(reg(\"sp\") + %u) and so on",
			           8 + 8 * stack_arg);
		else if (near_best(&near) || has_types(in))
			infer_hint_near(in, &near);
		else
			infer_hint(in, "if it is an enumerator of the kernel's: this kernel has no "
			               "type information (BTF)");
	}
	return infer_set_int(n, 0, &type_s64);
}

const struct type *infer_ident(struct infer *in, struct node *n)
{
	const char *name = infer_text(in, n->string), *text = infer_cpp_string(in, n->string);
	const struct type *t;
	struct number number;
	struct dwarf_file *d;
	s64 value;
	u32 die;

	if (text)
		return infer_set_string(in, n, text);
	if (infer_cmacro_take(in, n))
		return infer_cmacro_value(in, n);
	if (infer_constant(in, n->string, &number))
		return infer_set_number(n, &number);
	d = infer_dwarf(in);
	if (!d || !dwarf_type_constant(d, n->string, &value, &die))
		return unknown_ident(in, n, name);
	t = debug_type(in->script, d, die);
	return infer_set_int(n, (u64)value, t->kind == TYPE_INT ? t : &type_s64);
}

/* ---- positional parameters ------------------------------------------------------------------ */

const char *infer_param_text(struct infer *in, struct node *n)
{
	if (n->param >= 1 && n->param <= in->script->request.n_params)
		return in->script->request.params[n->param - 1];
	/* After a script with options parameters are optional too, and where it asks how many. */
	if (!in->script->options.n && !in->script->counts_params)
		diag_warn(in->diags, n->loc,
		          "positional parameter $%u is not given: 0 or \"\" is used", n->param);
	return NULL;
}

const struct type *infer_param(struct infer *in, struct node *n)
{
	const char *text = infer_param_text(in, n);
	bool minus;
	u64 value;
	char *end;

	if (!text)
		return infer_set_int(n, 0, &type_s64);
	minus = text[0] == '-';
	errno = 0;
	value = strtoull(text + minus, &end, 0);
	if (!isdigit((unsigned char)text[minus]) || *end || errno)
		return infer_set_string(in, n, text);
	if (minus)
		return infer_set_int(n, 0 - value, &type_s64);
	return infer_set_int(n, value, value > INT64_MAX ? &type_u64 : &type_s64);
}
