/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of the kernel: kprobe, kretprobe, fentry, fexit.
 *
 * The one idea: not every kernel lets its functions be probed, so the first question goes to the
 * features of this one, and a no says what to use instead.
 */
#include "lang/probe/targets.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/hmap.h"
#include "lang/probe/ksymbol.h"
#include "btf/btf.h"

/* ---- kprobe, kretprobe ---------------------------------------------------------------------- */

/* Linux 6.3: a link for many finds functions of modules by their names. Making the table of all
 * symbols for us takes the kernel longer than looking through it. */
#define NAMES_OF_MODULES 0x060300u

struct found {
	struct targets *t;
	const char *module; /* wanted, may be a pattern; NULL any */
	u64 offset;
	/* The same name can be listed more than once, for static functions of several files; the
	 * kernel places a probe by name, so twice the same name would be twice the same place. */
	struct hmap seen;
	/* Name to address, when a pattern may stand for many and the kernel does not find all
	 * names. */
	struct hmap addresses;
	u32 listed;  /* of one name: functions that have it, of any module ... */
	u32 here;    /* ... and of the wanted one */
	u32 doubles; /* of a pattern: functions whose name another one has */
	struct near near;
	/* Missing in the wanted module: those that have the function, and their one. */
	u32 n_homes;
	const char *home;
};

/* A name that stands for several functions has no address here: the kernel chooses one. */
static bool note_address(void *ctx, const char *name, const char *module, u64 addr)
{
	struct found *f = ctx;
	u64 *at;

	(void)module;
	if (hmap_find(&f->addresses, name, strlen(name)))
		addr = 0;
	at = arena_new(f->t->arena, u64);
	*at = addr;
	hmap_put(&f->addresses, name, strlen(name), at);
	return true;
}

static const char *module_of(const char *module)
{
	return module && *module ? module : "vmlinux";
}

/* module: NULL when the script names none. */
static const char *function_rest(struct found *f, const char *module, const char *name)
{
	struct arena *a = f->t->arena;
	const char *head = module ? arena_printf(a, "%s:%s", module, name) : name;

	if (!f->offset)
		return head;
	return arena_printf(a, "%s+%llu", head, (unsigned long long)f->offset);
}

static bool is_wanted(const struct found *f, const char *module)
{
	return !f->module || glob_match(str_of(f->module), str_of(module_of(module)));
}

static bool function_count(void *ctx, const char *name, const char *module)
{
	struct found *f = ctx;

	(void)name;
	f->listed++;
	f->here += is_wanted(f, module);
	return true;
}

static bool function_add(void *ctx, const char *name, const char *module)
{
	struct found *f = ctx;
	struct targets *t = f->t;
	struct usite site = { .offset = f->offset };
	u32 known = f->seen.n;
	void **at;

	if (!is_wanted(f, module))
		return true;
	hmap_put(&f->seen, name, strlen(name), NULL);
	if (f->seen.n == known) {
		f->doubles++;
		return true;
	}
	site.event = arena_strdup(t->arena, name);
	at = hmap_find(&f->addresses, name, strlen(name));
	site.address = at ? *(const u64 *)*at : 0;
	targets_add(t, targets_shared(t), site,
	            function_rest(f, f->module ? module_of(module) : NULL, site.event));
	return true;
}

static bool function_offer(void *ctx, const char *name, const char *module)
{
	struct found *f = ctx;

	if (!f->module || strcmp(name, f->near.want) != 0)
		near_offer(&f->near, name);
	else
		f->home = f->n_homes++ ? NULL : arena_strdup(f->t->arena, module_of(module));
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
	    (f->n_homes ? f->home : near_best(&f->near)))
		best = arena_printf(t->arena, "'%s'", f->n_homes ? f->home : f->near.best);
	targets_missing(t, f->n_homes ? 0 : part, best, "No matches for %s %s%s%s.",
	                t->provider->full, f->module ? f->module : "", f->module ? ":" : "", name);
}

/* Where a function begins, and what comes after it. */
struct extent {
	const char *name;
	u64 start, next;
	u32 same; /* functions of that name */
};

static bool note_extent(void *ctx, const char *name, const char *module, u64 addr)
{
	struct extent *e = ctx;

	(void)module;
	e->same += strcmp(name, e->name) == 0;
	if (addr > e->start && (!e->next || addr < e->next))
		e->next = addr;
	return true;
}

/* The kernel takes any offset at which an instruction begins, in whatever function that is. */
static bool is_inside(struct found *f, u32 part, const char *name)
{
	struct world *w = f->t->world;
	struct extent e = { .name = name, .start = w->ops->kaddr(w, name) };

	if (!e.start)
		return true;
	w->ops->symbols(w, STR("*"), note_extent, &e);
	if (e.same != 1 || !e.next || f->offset < e.next - e.start)
		return true;
	diag_error(f->t->diags, targets_loc(f->t, part),
	           "offset %" PRIu64 " is outside of '%s', which has at most %" PRIu64 " bytes",
	           f->offset, name, e.next - e.start);
	return false;
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
	if (!t->script->request.unsafe) {
		diag_error(t->diags, targets_loc(t, part), "a kprobe on an address needs --unsafe");
		return;
	}
	targets_add(t, targets_shared(t), site, t->parts[part]);
}

static void ambiguous(struct found *f, u32 part, const char *name, const struct ksymbols *s)
{
	struct targets *t = f->t;
	const char *which = ksymbols_choices(t->world, t->arena, s, name, t->provider->full);

	targets_absent(t, part,
	               arena_printf(t->arena, "choose one (an address needs --unsafe): %s", which),
	               "'%s' is ambiguous: the kernel has %u functions of this name", name, s->n);
}

/* One name, which several functions may have. Reading the table of symbols takes long: that is done
 * when the list of functions has more than one, and when the script names the module. The kernel
 * takes a name alone, so one of several is placed by its address. */
static void function_named(struct found *f, u32 part, const char *name)
{
	struct usite site = { .offset = f->offset, .event = name };
	struct ksymbols all = { 0 }, s = { 0 };
	struct targets *t = f->t;

	if (f->listed > 1 || f->module) {
		ksymbols_find(t->world, name, NULL, true, &all);
		ksymbols_find(t->world, name, f->module, true, &s);
	}
	if (s.n > 1) {
		ambiguous(f, part, name, &s);
		return;
	}
	if (!f->here && !s.n) {
		function_missing(f, part, name);
		return;
	}
	site.address = all.n > 1 && s.n ? s.v[0].addr : 0;
	targets_add(t, targets_shared(t), site, function_rest(f, f->module, name));
}

/* A pattern: the kernel probes one function of each name. */
static void warn_doubles(struct found *f, u32 part)
{
	if (!f->doubles)
		return;
	diag_warn(f->t->diags, targets_loc(f->t, part),
	          "%u more function%s of names that others have %s not probed", f->doubles,
	          f->doubles == 1 ? "" : "s", f->doubles == 1 ? "is" : "are");
}

void targets_kprobe(struct targets *t)
{
	u32 part = t->n_parts - 1;
	struct found f = { .t = t, .module = part ? t->parts[0] : NULL };
	struct err e = { 0 };
	const char *name;
	bool many;

	if (targets_lacks(t, t->provider->kind)) {
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
	if (f.offset && attach_kind_has(t->provider->kind, KIND_RETURN)) {
		diag_error(t->diags, targets_loc(t, part), "a kretprobe takes no offset");
		return;
	}
	if (f.offset && !is_inside(&f, part, name))
		return;
	many = glob_is(str_of(name)) || (f.module && glob_is(str_of(f.module)));
	if (many && !f.offset && t->world->kernel_version < NAMES_OF_MODULES)
		t->world->ops->symbols(t->world, str_of(name), note_address, &f);
	if (!t->world->ops->functions(t->world, str_of(name), many ? function_add : function_count,
	                              &f, &e))
		targets_failed(t, part, &e);
	else if (!many)
		function_named(&f, part, name);
	else if (!t->n_added)
		function_missing(&f, part, name);
	warn_doubles(&f, part);
	hmap_free(&f.seen);
	hmap_free(&f.addresses);
}

/* ---- fentry, fexit -------------------------------------------------------------------------- */

bool targets_has_types(struct targets *t)
{
	if (!(targets_lacks(t, t->provider->kind) & FEATURE_BTF))
		return true;
	targets_unsupported(t,
	                    "kernels built with CONFIG_DEBUG_INFO_BTF=y have it; tracepoints and "
	                    "kprobes do not need it",
	                    "fentry and fexit need the kernel's type information (BTF): "
	                    "/sys/kernel/btf/vmlinux is missing");
	return false;
}

static bool fentry_works(struct targets *t)
{
	const char *hint;

	if (!targets_has_types(t))
		return false;
	if (!targets_lacks(t, t->provider->kind))
		return true;
	hint = targets_lacks(t, ATTACH_KPROBE) ? targets_instead(t) : "use kprobe/kretprobe";
	targets_unsupported(t, hint,
	                    "this kernel has no fentry/fexit: its functions can not be traced by "
	                    "BPF");
	return false;
}

struct typed {
	struct targets *t;
	struct btf *btf;
	const char *name;
	const char *modules; /* the script's glob for them, or NULL */
	const char *module;  /* the one looked at, NULL the kernel itself */
	bool as_kprobe;      /* a kprobe of the script, on a kernel without them */
	struct near near;
};

/* What takes the place of a kprobe or a kretprobe. */
static enum attach_kind by_fentry(enum attach_kind kind)
{
	return attach_kind_has(kind, KIND_RETURN) ? ATTACH_FEXIT : ATTACH_FENTRY;
}

static bool typed_add(void *ctx, u32 id, const char *name)
{
	struct typed *f = ctx;
	struct targets *t = f->t;
	struct usite site = { .event = arena_strdup(t->arena, name), .btf_id = id };
	struct variant *v = NULL;
	struct btf_info info;

	if ((f->module && id < btf_first(f->btf)) || !btf_info(f->btf, id, &info))
		return true;
	site.module = f->module;
	if (targets_room(t)) {
		v = targets_alone(t);
		v->proto = info.type;
		v->proto_btf = f->module ? f->btf : NULL;
		v->as_kprobe = f->as_kprobe;
		if (f->as_kprobe)
			v->kind = by_fentry(v->kind);
	}
	/* bpftrace's scripts and their readers have the module in it, whoever wrote it. */
	targets_add(t, v, site,
	            f->as_kprobe && !f->module
	                    ? site.event
	                    : arena_printf(t->arena, "%s:%s", module_of(f->module), name));
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
	targets_missing(t, part, best, "No matches for %s %s%s%s.", t->provider->full,
	                part ? t->parts[0] : "", part ? ":" : "", name);
}

static void typed_in(struct typed *f, struct btf *b, const char *module)
{
	struct btf_query q = { f->name, BTF_KIND_FUNC, 0 };

	f->btf = b;
	f->module = module;
	if (glob_is(str_of(f->name)))
		btf_each(b, BTF_KIND_FUNC, f->name, typed_add, f);
	else if (btf_find_many(b, &q, 1, module ? BTF_FIND_OWN : 0))
		typed_add(f, q.id, f->name);
}

static bool typed_in_module(void *ctx, const char *name)
{
	struct typed *f = ctx;
	struct world *w = f->t->world;
	struct err ignored = { 0 };
	struct btf *b;

	if (f->modules && !glob_match(str_of(f->modules), str_of(name)))
		return true;
	b = w->ops->module(w, name, &ignored);
	if (b)
		typed_in(f, b, arena_strdup(f->t->arena, name));
	return glob_is(str_of(f->name)) || !f->t->n_added;
}

/* The kernel's own function, else those of modules. */
static void typed_find(struct typed *f, u32 part)
{
	struct targets *t = f->t;
	struct err e = { 0 };
	struct btf *b = t->world->ops->btf(t->world, &e);

	f->name = t->parts[part];
	if (!b) {
		targets_failed(t, part, &e);
		return;
	}
	if (!f->modules || glob_match(str_of(f->modules), STR("vmlinux")))
		typed_in(f, b, NULL);
	if (!t->n_added || f->modules)
		t->world->ops->modules(t->world, typed_in_module, f);
	f->btf = b;
	if (!t->n_added)
		typed_missing(f, part, f->name);
}

/* Those of the one module that the script names. */
static void typed_named(struct typed *f, const char *module, u32 part)
{
	struct targets *t = f->t;
	struct err e = { 0 };
	struct btf *b = t->world->ops->module(t->world, module, &e);

	f->name = t->parts[part];
	if (!b) {
		targets_failed(t, 0, &e);
		return;
	}
	typed_in(f, b, module);
	if (!t->n_added)
		typed_missing(f, part, f->name);
}

void targets_by_fentry(struct targets *t)
{
	struct typed f = { .t = t, .as_kprobe = true };
	const char *note = arena_printf(t->arena, "%s:%s: this kernel has no kprobes: %s taken",
	                                t->provider->full, t->parts[0],
	                                attach_kind_name(by_fentry(t->provider->kind)));

	typed_find(&f, 0);
	if (t->n_added)
		vec_add(t->arena, &t->script->notes, note);
}

void targets_fentry(struct targets *t)
{
	u32 part = t->n_parts - 1;
	const char *module = part ? t->parts[0] : NULL;
	struct typed f = { .t = t };

	if (module && strcmp(module, "bpf") == 0) {
		targets_bpf(t);
		return;
	}
	if (part == 2) {
		diag_error(t->diags, targets_loc(t, 0), "%s of three parts is %s:bpf:ID:NAME",
		           t->provider->full, t->provider->full);
		return;
	}
	if (!fentry_works(t))
		return;
	if (module && glob_is(str_of(module)))
		f.modules = module;
	if (!module || f.modules || strcmp(module, "vmlinux") == 0)
		typed_find(&f, part);
	else
		typed_named(&f, module, part);
}
