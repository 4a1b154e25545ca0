/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kprobe and kretprobe on a kernel without them: by fentry and fexit, which are hit at the same
 * place with the same arguments; else by the BTF tracepoint that sits there (lang/probe/standin.c),
 * about which the user is warned; else not at all, with the reason.
 *
 * Of several probes to choose from (||) only fentry counts as the function's own: what the script
 * names next is nearer to its author's mind than our table.
 */
#include "lang/probe/targets.h"

#include <ctype.h>
#include <string.h>

#include "lang/probe/standin.h"

static const char no_kprobes[] =
	"this kernel has no kprobes: it was built without them or refuses them";

/* The kernel has the event, with the arguments that the row was written for. */
static bool is_there(struct btf *b, const struct standin *s, u32 *id, u32 *proto)
{
	struct btf_info info;
	bool variadic;
	u32 n;

	if (!s->event || !targets_event_find(b, s->event, id, proto))
		return false;
	/* The first parameter of a prototype is the tracepoint's own. */
	return !s->n_params || (btf_proto(b, *proto, &info, &n, &variadic) && n == s->n_params + 1);
}

static void add(struct targets *t, const struct standin *s, u32 id, u32 proto)
{
	struct usite site = { .event = s->event, .btf_id = id };
	struct variant *v = targets_alone(t);

	v->kind = ATTACH_TPBTF;
	v->proto = proto;
	v->proto_skip = true;
	v->standin = s;
	targets_add(t, v, site, s->function);
	diag_warn(t->diags, t->attach->loc,
	          "this kernel has no kprobes: the BTF tracepoint %s stands in for %s%s%s%s",
	          s->event, s->function, s->remark ? " (" : "", s->remark ? s->remark : "",
	          s->remark ? ")" : "");
}

static bool by_tracepoint(struct targets *t, const char *name)
{
	bool on_return = attach_kind_has(t->provider->kind, KIND_RETURN);
	const struct standin *s = NULL;
	struct err ignored;
	struct btf *b = t->world->ops->btf(t->world, &ignored);
	u32 id, proto;

	while (b && (s = standin_find(name, on_return, s)))
		if (is_there(b, s, &id, &proto))
			add(t, s, id, proto);
	return t->n_added > 0;
}

static bool stop(void *ctx, const char *group, const char *name)
{
	(void)group;
	(void)name;
	*(bool *)ctx = true;
	return false;
}

const char *targets_instead(struct targets *t)
{
	bool typed = !targets_lacks(t, ATTACH_TPBTF), any = false;
	struct err ignored;

	t->world->ops->tracepoints(t->world, STR("*"), STR("*"), stop, &any, &ignored);
	if (any && typed)
		return "use a tracepoint or btftracepoint (memtap -l 'tracepoint:*')";
	if (any)
		return "use a tracepoint (memtap -l 'tracepoint:*')";
	if (typed)
		return "use a btftracepoint (memtap -l 'btftracepoint:*')";
	return "nor are there tracepoints; programs can be probed, and software events counted";
}

/* The remark begins with a probe: is it there? */
static bool names_probe(struct targets *t, const char *remark)
{
	const char *probe = arena_strndup(t->arena, remark, strcspn(remark, " ")), *problem;

	return targets_has(t->script, t->config, t->world, probe, &problem);
}

/* What comes near to a function that has no equal, or what to do in general. */
static const char *hint(struct targets *t, const char *name)
{
	const struct standin *s = NULL;

	while ((s = standin_find(name, false, s)))
		if (!s->event && names_probe(t, s->remark))
			return s->remark;
	return targets_instead(t);
}

void targets_standin(struct targets *t)
{
	const char *name = t->parts[t->n_parts - 1];
	bool whole = t->n_parts == 1 && !strchr(name, '+') && !isdigit((unsigned char)name[0]);

	if (whole && !targets_lacks(t, ATTACH_FENTRY)) {
		targets_by_fentry(t);
		return;
	}
	if (!whole || t->is_trial || !by_tracepoint(t, name))
		targets_unsupported(t, hint(t, name), no_kprobes);
}
