/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of the kernel: kprobe, kretprobe, fentry, fexit.
 *
 * The one idea: not every kernel lets its functions be probed, so the first question goes to the
 * features of this one, and a no says what to use instead.
 */
#include "lang/targets.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hmap.h"
#include "read/btf.h"

/* ---- kprobe, kretprobe ------------------------------------------------------------------------ */

struct found {
	struct targets *t;
	const char *module; /* wanted, NULL any */
	u64 offset;
	/* The same name can be listed more than once, for static functions of several files; the
	 * kernel places a probe by name, so twice the same name would be twice the same place. */
	struct hmap seen;
	struct near near;
};

static const char *function_rest(struct found *f, const char *name)
{
	struct arena *a = f->t->arena;
	const char *head = f->module ? arena_printf(a, "%s:%s", f->module, name)
	                             : arena_strdup(a, name);

	if (!f->offset)
		return head;
	return arena_printf(a, "%s+%llu", head, (unsigned long long)f->offset);
}

static bool function_add(void *ctx, const char *name, const char *module)
{
	struct found *f = ctx;
	struct targets *t = f->t;
	struct usite site = { .offset = f->offset };

	if (f->module && strcmp(f->module, *module ? module : "vmlinux") != 0)
		return true;
	if (hmap_find(&f->seen, name, strlen(name)))
		return true;
	site.event = arena_strdup(t->arena, name);
	hmap_put(&f->seen, site.event, strlen(name), (void *)(uintptr_t)site.event);
	targets_add(t, targets_shared(t), site, function_rest(f, name));
	return true;
}

static bool function_offer(void *ctx, const char *name, const char *module)
{
	struct found *f = ctx;

	(void)module;
	near_offer(&f->near, name);
	return true;
}

static void function_missing(struct found *f, u32 part, const char *name)
{
	struct targets *t = f->t;
	const char *best = NULL;
	struct err e = { 0 };

	near_init(&f->near, name);
	if (!glob_is(str_of(name)) &&
	    t->world->ops->functions(t->world, STR("*"), function_offer, f, &e) &&
	    near_best(&f->near))
		best = arena_printf(t->arena, "'%s'", f->near.best);
	targets_missing(t, part, best, "No matches for %s %s.", t->provider->full, name);
}

/* kprobe:0xffff...: any address, so only with --unsafe. */
static void kprobe_address(struct targets *t, u32 part)
{
	struct usite site = { 0 };
	char *end;

	errno = 0;
	site.offset = strtoull(t->parts[part], &end, 0);
	if (*end || errno) {
		diag_error(t->diags, targets_loc(t, part), "'%s' is not an address",
		           t->parts[part]);
		return;
	}
	if (!t->world->unsafe) {
		diag_error(t->diags, targets_loc(t, part), "a kprobe on an address needs --unsafe");
		return;
	}
	targets_add(t, targets_shared(t), site, t->parts[part]);
}

void targets_kprobe(struct targets *t)
{
	u32 part = t->n_parts - 1;
	struct found f = { .t = t, .module = part ? t->parts[0] : NULL };
	struct err e = { 0 };
	const char *name;

	if (!t->world->ops->features(t->world, FEATURE_KPROBE)->kprobe) {
		targets_standin(t);
		return;
	}
	if (isdigit((unsigned char)t->parts[part][0])) {
		kprobe_address(t, part);
		return;
	}
	if (!targets_offset(t, t->parts[part], &name, &f.offset)) {
		diag_error(t->diags, targets_loc(t, part), "'%s': no number after '+'",
		           t->parts[part]);
		return;
	}
	if (f.offset && t->provider->kind == ATTACH_KRETPROBE) {
		diag_error(t->diags, targets_loc(t, part), "a kretprobe takes no offset");
		return;
	}
	if (!t->world->ops->functions(t->world, str_of(name), function_add, &f, &e))
		targets_failed(t, part, &e);
	else if (!t->n_added)
		function_missing(&f, part, name);
	hmap_free(&f.seen);
}

/* ---- fentry, fexit ------------------------------------------------------------------------------ */

static bool fentry_works(struct targets *t)
{
	const struct features *f;

	if (t->world->ops->features(t->world, FEATURE_FENTRY)->fentry)
		return true;
	f = t->world->ops->features(t->world, FEATURE_KPROBE | FEATURE_BTF);
	targets_unsupported(
		t,
		f->kprobe ? "use kprobe/kretprobe"
			  : arena_printf(t->arena, "use a tracepoint%s (memtap -l 'tracepoint:*')",
	                                 f->btf ? " or btftracepoint" : ""),
		"this kernel has no fentry/fexit: its functions can not be traced by BPF");
	return false;
}

struct typed {
	struct targets *t;
	struct btf *btf;
	bool as_kprobe; /* a kprobe of the script, on a kernel without them */
	struct near near;
};

static bool typed_add(void *ctx, u32 id, const char *name)
{
	struct typed *f = ctx;
	struct targets *t = f->t;
	struct usite site = { .event = arena_strdup(t->arena, name), .btf_id = id };
	struct variant *v = NULL;
	struct btf_info info;

	if (!btf_info(f->btf, id, &info))
		return true;
	if (targets_room(t)) {
		v = targets_alone(t);
		v->proto = info.type;
		v->as_kprobe = f->as_kprobe;
		if (f->as_kprobe)
			v->kind = v->kind == ATTACH_KPROBE ? ATTACH_FENTRY : ATTACH_FEXIT;
	}
	targets_add(t, v, site, site.event);
	return true;
}

static bool typed_offer(void *ctx, u32 id, const char *name)
{
	struct typed *f = ctx;

	(void)id;
	near_offer(&f->near, name);
	return true;
}

static void typed_missing(struct typed *f, u32 part, const char *name)
{
	struct targets *t = f->t;
	const char *best = NULL;

	near_init(&f->near, name);
	if (!glob_is(str_of(name))) {
		btf_each(f->btf, BTF_KIND_FUNC, "*", typed_offer, f);
		if (near_best(&f->near))
			best = arena_printf(t->arena, "'%s'", f->near.best);
	}
	targets_missing(t, part, best, "No matches for %s %s.", t->provider->full, name);
}

static void typed_find(struct typed *f, u32 part)
{
	struct targets *t = f->t;
	const char *name = t->parts[part];
	struct err e = { 0 };
	u32 id;

	f->btf = t->world->ops->btf(t->world, &e);
	if (!f->btf) {
		targets_failed(t, part, &e);
		return;
	}
	if (glob_is(str_of(name))) {
		btf_each(f->btf, BTF_KIND_FUNC, name, typed_add, f);
	} else {
		id = btf_find(f->btf, BTF_KIND_FUNC, name);
		if (id)
			typed_add(f, id, name);
	}
	if (!t->n_added)
		typed_missing(f, part, name);
}

void targets_by_fentry(struct targets *t)
{
	struct typed f = { .t = t, .as_kprobe = true };
	const char *note = arena_printf(t->arena, "%s:%s: this kernel has no kprobes: %s taken",
	                                t->provider->full, t->parts[0],
	                                t->provider->kind == ATTACH_KPROBE ? "fentry" : "fexit");

	typed_find(&f, 0);
	if (t->n_added)
		vec_add(t->arena, &t->script->notes, note);
}

void targets_fentry(struct targets *t)
{
	u32 part = t->n_parts - 1;
	struct typed f = { .t = t };

	if (!fentry_works(t))
		return;
	if (part && strcmp(t->parts[0], "vmlinux") != 0) {
		diag_error(t->diags, targets_loc(t, 0),
		           "functions of modules have no types here: '%s'", t->parts[0]);
		diag_hint(t->diags, "use %s:%s:%s",
		          t->provider->kind == ATTACH_FEXIT ? "kretprobe" : "kprobe", t->parts[0],
		          t->parts[part]);
		return;
	}
	typed_find(&f, part);
}
