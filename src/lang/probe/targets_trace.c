/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tracepoints, in their three forms: through tracefs with a format, raw, and typed by BTF.
 *
 * The one idea: a tracepoint that is not there is the usual problem of old scripts (kernels
 * rename events), so a miss always names the nearest events of the same group.
 */
#include "lang/probe/targets.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "lang/type/btf_type.h"

/* ---- tracepoint:group:event ----------------------------------------------------------------- */

struct pair {
	const char *group, *name;
};

struct pairs {
	struct arena *arena;
	VEC(struct pair) list;
};

static bool pairs_add(void *ctx, const char *group, const char *name)
{
	struct pairs *p = ctx;
	struct pair pair = { arena_strdup(p->arena, group), arena_strdup(p->arena, name) };

	vec_add(p->arena, &p->list, pair);
	return true;
}

static bool pairs_find(struct targets *t, const char *group, const char *name, struct pairs *p)
{
	struct err e = { 0 };

	p->arena = t->arena;
	p->list.n = 0;
	if (t->world->ops->tracepoints(t->world, str_of(group), str_of(name), pairs_add, p, &e))
		return true;
	targets_failed(t, 0, &e);
	return false;
}

static void tracepoint_add(struct targets *t, const struct pair *p)
{
	const struct tpformat *format;
	struct usite site = { 0 };
	struct variant *v;
	struct err e = { 0 };

	if (!targets_room(t)) {
		targets_add(t, NULL, site, "");
		return;
	}
	format = t->world->ops->tracepoint(t->world, p->group, p->name, &e);
	if (!format) {
		targets_failed(t, 1, &e);
		return;
	}
	/* Records of different events differ, so `args` needs a program for each. */
	v = t->uses_args ? targets_alone(t) : targets_shared(t);
	v->format = format;
	v->is_syscall_enter = strcmp(p->group, "syscalls") == 0 &&
	                      strncmp(p->name, "sys_enter_", 10) == 0;
	site.event = arena_join(t->arena, p->group, ':', p->name);
	site.tracepoint_id = format->id;
	targets_add(t, v, site, site.event);
}

struct best {
	const char *want;
	u32 shared; /* letters in common at both ends of the nearest so far */
	const char *name;
};

/*
 * Edit distance alone takes writepage -> write_folio for unrelated words; renamed events keep
 * their beginning and often their end. The longest common beginning plus end wins.
 */
static void best_offer(struct best *b, const char *name)
{
	size_t nw = strlen(b->want), nn = strlen(name), n = MIN(nw, nn), head = 0, tail = 0;

	while (head < n && b->want[head] == name[head])
		head++;
	while (tail < n - head && b->want[nw - 1 - tail] == name[nn - 1 - tail])
		tail++;
	if (head + tail > b->shared) {
		b->shared = (u32)(head + tail);
		b->name = name;
	}
}

/* "'vmscan:mm_vmscan_write_folio'" and a runner-up, or NULL. */
static const char *event_nearest(struct targets *t, const char *group, const char *name)
{
	struct best first = { .want = name };
	struct pairs all = { 0 };
	struct near near;

	if (!pairs_find(t, group, "*", &all) || !all.list.n)
		return NULL;
	near_init(&near, name);
	for (u32 i = 0; i < all.list.n; i++) {
		near_offer(&near, all.list.v[i].name);
		best_offer(&first, all.list.v[i].name);
	}
	if (first.shared * 2 < strlen(name))
		first.name = NULL;
	if (!near_best(&near) && !first.name)
		return NULL;
	if (!near_best(&near) || (first.name && strcmp(first.name, near.best) == 0))
		return arena_printf(t->arena, "'%s:%s'", group, first.name);
	if (!first.name)
		return arena_printf(t->arena, "'%s:%s'", group, near.best);
	return arena_printf(t->arena, "'%s:%s' or '%s:%s'", group, near.best, group, first.name);
}

static const char *group_nearest(struct targets *t, const char *group)
{
	struct pairs all = { 0 };
	struct near near;

	if (!pairs_find(t, "*", "*", &all))
		return NULL;
	near_init(&near, group);
	for (u32 i = 0; i < all.list.n; i++)
		near_offer(&near, all.list.v[i].group);
	if (!near_best(&near))
		return NULL;
	return arena_printf(t->arena, "group '%s'", near.best);
}

static void tracepoint_missing(struct targets *t)
{
	const char *group = t->parts[0], *name = t->parts[1], *best = NULL;
	struct pairs any = { 0 };

	if (!pairs_find(t, group, "*", &any))
		return;
	if (!any.list.n) {
		if (!glob_is(str_of(group)))
			best = group_nearest(t, group);
		targets_missing(t, 0, best, "No matches for tracepoint %s:%s.", group, name);
		return;
	}
	if (!glob_is(str_of(group)) && !glob_is(str_of(name)))
		best = event_nearest(t, group, name);
	targets_missing(t, 1, best, "No matches for tracepoint %s:%s.", group, name);
}

void targets_tracepoint(struct targets *t)
{
	struct pairs found = { 0 };

	if (!pairs_find(t, t->parts[0], t->parts[1], &found))
		return;
	for (u32 i = 0; i < found.list.n; i++)
		tracepoint_add(t, &found.list.v[i]);
	if (!found.list.n)
		tracepoint_missing(t);
}

/* ---- rawtracepoint, btftracepoint ----------------------------------------------------------- */

#define TYPEDEF_PREFIX "btf_trace_"

/*
 * The prototype with the event's arguments. The typedef has no names for them; the kernel's own
 * functions that serve the event have, and take the same list.
 */
static u32 event_proto(struct btf *b, u32 id, const char *event)
{
	static const char *const servers[] = { "__traceiter_", "__bpf_trace_", "__probestub_" };
	struct btf_info info;

	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		char name[192];
		u32 func;

		snprintf(name, sizeof(name), "%s%s", servers[i], event);
		func = btf_find(b, BTF_KIND_FUNC, name);
		if (func && btf_info(b, func, &info))
			return info.type;
	}
	id = btf_skip(b, id);
	return btf_info(b, id, &info) && info.kind == BTF_KIND_PTR ? btf_skip(b, info.type) : 0;
}

bool targets_event_find(struct btf *b, const char *event, u32 *id, u32 *proto)
{
	char name[192];

	snprintf(name, sizeof(name), TYPEDEF_PREFIX "%s", event);
	*id = btf_find(b, BTF_KIND_TYPEDEF, name);
	*proto = *id ? event_proto(b, *id, event) : 0;
	return *id != 0;
}

struct raw_add {
	struct targets *t;
	struct btf *btf;
	const char *glob; /* of the events' types */
	struct near near;
};

static void raw_site(struct targets *t, const char *event, u32 id, u32 proto)
{
	struct usite site = { .event = arena_strdup(t->arena, event), .btf_id = id };
	struct variant *v = NULL;

	if (targets_room(t)) {
		v = targets_alone(t);
		v->proto = proto;
		v->proto_skip = proto != 0;
	}
	targets_add(t, v, site, site.event);
}

static bool raw_found(void *ctx, u32 id, const char *name)
{
	struct raw_add *r = ctx;
	const char *event = name + strlen(TYPEDEF_PREFIX);

	raw_site(r->t, event, id, event_proto(r->btf, id, event));
	return true;
}

static bool raw_offer(void *ctx, u32 id, const char *name)
{
	struct raw_add *r = ctx;

	(void)id;
	near_offer(&r->near, name + strlen(TYPEDEF_PREFIX));
	return true;
}

/* An event of a module is not in the kernel's own BTF; a raw tracepoint works without. */
static bool raw_in_tracefs(struct targets *t, const char *event)
{
	struct pairs p = { .arena = t->arena };
	struct err e = { 0 };

	if (attach_kind_needs(t->provider->kind) & FEATURE_BTF)
		return false;
	if (!t->world->ops->tracepoints(t->world, STR("*"), str_of(event), pairs_add, &p, &e))
		return false;
	for (u32 i = 0; i < p.list.n; i++)
		raw_site(t, p.list.v[i].name, 0, 0);
	return p.list.n > 0;
}

static bool raw_own(void *ctx, u32 id, const char *name)
{
	struct raw_add *r = ctx;

	if (id >= btf_first(r->btf))
		raw_site(r->t, name + strlen(TYPEDEF_PREFIX), 0, 0);
	return true;
}

static bool raw_in_module(void *ctx, const char *module)
{
	struct raw_add *r = ctx, own = { .t = r->t };
	struct world *w = r->t->world;
	struct err ignored = { 0 };

	if (!glob_match(str_of(r->t->parts[0]), str_of(module)))
		return true;
	own.btf = w->ops->module(w, module, &ignored);
	if (own.btf)
		btf_each(own.btf, BTF_KIND_TYPEDEF, r->glob, raw_own, &own);
	return true;
}

/* Those of the modules that the script names; the typed form knows the kernel's own alone. */
static void raw_of_modules(struct raw_add *r, const char *event)
{
	struct targets *t = r->t;
	const char *best = NULL;

	if (!(attach_kind_needs(t->provider->kind) & FEATURE_BTF))
		t->world->ops->modules(t->world, raw_in_module, r);
	if (t->n_added)
		return;
	if (btf_find(r->btf, BTF_KIND_TYPEDEF, r->glob))
		best = "'vmlinux'";
	targets_missing(t, 0, best, "No matches for %s %s:%s.", t->provider->full, t->parts[0],
	                event);
}

static void raw_missing(struct raw_add *r, u32 part, const char *event)
{
	struct targets *t = r->t;
	const char *best = NULL;

	near_init(&r->near, event);
	btf_each(r->btf, BTF_KIND_TYPEDEF, TYPEDEF_PREFIX "*", raw_offer, r);
	if (near_best(&r->near))
		best = arena_printf(t->arena, "'%s'", r->near.best);
	targets_missing(t, part, best, "No matches for %s %s.", t->provider->full, event);
}

void targets_rawtp(struct targets *t)
{
	u32 part = t->n_parts - 1;
	const char *event = t->parts[part];
	struct raw_add r = { .t = t, .glob = arena_printf(t->arena, TYPEDEF_PREFIX "%s", event) };
	struct err e = { 0 };
	u32 id;

	r.btf = t->world->ops->btf(t->world, &e);
	if (!r.btf) {
		if (!(attach_kind_needs(t->provider->kind) & FEATURE_BTF) &&
		    !glob_is(str_of(event)))
			raw_site(t, event, 0, 0);
		else
			targets_failed(t, part, &e);
		return;
	}
	if (part && !glob_match(str_of(t->parts[0]), STR("vmlinux"))) {
		raw_of_modules(&r, event);
		return;
	}
	if (glob_is(str_of(event))) {
		btf_each(r.btf, BTF_KIND_TYPEDEF, r.glob, raw_found, &r);
	} else {
		id = btf_find(r.btf, BTF_KIND_TYPEDEF, r.glob);
		if (id)
			raw_found(&r, id, r.glob);
	}
	if (!t->n_added && !raw_in_tracefs(t, event))
		raw_missing(&r, part, event);
}
