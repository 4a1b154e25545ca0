/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Attaching: a table from attach kind to the function that does it, and what all of them
 * share: keeping descriptors, and what happens when a site is refused. A new kind is a row in
 * unit/kinds.h, which names its function, and that function in a file of its kind.
 */
#include "kern/kern.h"

#include <linux/version.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static attach_fn *const attach_fns[] = {
#define K(id, name, section, place, program, type, attacher, ...) [ATTACH_##id] = (attacher),
	PROBE_KINDS(K)
#undef K
};

/* Refused sites of one program that are reported one by one; of the others the number. */
#define WARNED_MAX 5u

void attach_keep(struct attach *a, int link, int event)
{
	struct handle h = { .link = link, .event = event, .pid = a->follows };

	vec_add(&a->l->arena, &a->l->handles, h);
	a->done.links++;
}

bool attach_failed(struct attach *a, u32 site, struct err *e)
{
	char text[sizeof(e->text) + sizeof(e->hint) + 8];
	const struct usite *s = &a->prog->sites[site];

	err_wrap(e, "can not attach %s", s->name);
	if (!a->l->unit->lenient_probes && !s->optional)
		return err_at(e, s->loc.off, s->loc.len);
	if (a->n_failed++ >= WARNED_MAX || a->l->unit->silent_probes) {
		*e = (struct err){ 0 };
		return true;
	}
	snprintf(text, sizeof(text), "%s%s%s", e->text, e->hint[0] ? "; " : "", e->hint);
	a->warn(a->ctx, s->loc, text);
	*e = (struct err){ 0 };
	return true;
}

static bool is_stopped(const struct live *l)
{
	return l->stopped && l->stopped(l->stopped_ctx);
}

/* A probe of a program may have several places: those of one attach point and name. */
static void attach_done(struct attach *a, u32 site)
{
	const struct usite *s = &a->prog->sites[site];
	const char *probe;

	a->done.sites++;
	if (!attach_kind_has(a->prog->kind, KIND_USER) || a->follows)
		return;
	probe = arena_printf(&a->l->arena, "%u:%s", s->loc.off, s->name);
	if (hmap_find(&a->l->probes, probe, strlen(probe)))
		a->l->n_more_places++;
	hmap_put(&a->l->probes, probe, strlen(probe), a->l);
}

bool attach_each(struct attach *a, attach_site_fn *fn, struct err *e)
{
	/* Thousands, one by one, take minutes: Ctrl-C is not left waiting for them. */
	for (u32 i = 0; i < a->prog->n_sites && !is_stopped(a->l); i++) {
		if (fn(a, i, e))
			attach_done(a, i);
		else if (!attach_failed(a, i, e))
			return false;
	}
	return true;
}

bool attach_halving(struct attach *a, const u32 *sites, u32 n, attach_many_fn *fn, struct err *e)
{
	if (is_stopped(a->l))
		return true;
	if (fn(a, sites, n, e)) {
		for (u32 i = 0; i < n; i++)
			attach_done(a, sites[i]);
		return true;
	}
	if (n == 1)
		return attach_failed(a, sites[0], e);
	*e = (struct err){ 0 };
	return attach_halving(a, sites, n / 2, fn, e) &&
	       attach_halving(a, sites + n / 2, n - n / 2, fn, e);
}

static void count_failed(struct attach *a)
{
	char text[64];

	if (a->n_failed <= WARNED_MAX || a->l->unit->silent_probes)
		return;
	snprintf(text, sizeof(text), "%u more like it could not be attached",
	         a->n_failed - WARNED_MAX);
	a->warn(a->ctx, a->prog->sites[0].loc, text);
}

/* Every program of the script was let pass as refused: there is nothing to wait for. */
static bool nothing_attached(struct live *l, u32 refused, struct err *e)
{
	const struct uprog *first = &l->unit->progs.v[0];

	for (u32 i = 0; i < l->unit->progs.n; i++)
		if (!attach_kind_has(l->unit->progs.v[i].kind, KIND_AROUND))
			first = &l->unit->progs.v[i];
	err_set(e, "none of %u probes could be attached", refused);
	return err_at(e, first->loc.off, first->loc.len);
}

/* Since 6.14 the returns of functions that share a link, too. */
static bool is_last_first(const struct live *l, u32 prog)
{
	const struct uprog *p = &l->unit->progs.v[prog];

	return attach_kind_has(p->kind, KIND_LAST_FIRST) ||
	       (kern_prog_kprobe_multi(l, p) && features_sure(KERNEL_VERSION(6, 14, 0)));
}

/* The programs in the order in which to attach them, so that those on one place run in that of the
 * script: of what the kernel runs last first the last one comes first. */
static const u32 *order_of_attaching(struct live *l)
{
	u32 n = l->unit->progs.n, last = n, *order = arena_array(&l->arena, u32, n + 1);

	for (u32 i = 0; i < n; i++) {
		order[i] = i;
		if (!is_last_first(l, i))
			continue;
		do
			last--;
		while (!is_last_first(l, last));
		order[i] = last;
	}
	return order;
}

bool live_attach(struct live *l, u32 *attached, live_warn_fn *warn, void *ctx, struct err *e)
{
	const u32 *order = order_of_attaching(l);
	u32 refused = 0;

	*attached = l->n_more_places = 0;
	hmap_free(&l->probes);
	for (u32 k = 0; k < l->unit->progs.n && !is_stopped(l); k++) {
		u32 i = order[k];
		const struct uprog *p = &l->unit->progs.v[i];
		struct attach a = { .l = l, .prog = p, .prog_index = i, .warn = warn, .ctx = ctx };

		if (!attach_fns[p->kind])
			continue;
		if (!attach_fns[p->kind](&a, e)) {
			live_detach(l);
			return false;
		}
		count_failed(&a);
		refused += a.n_failed;
		l->progs[i].attached = a.done;
		*attached += a.done.sites;
	}
	*attached -= l->n_more_places;
	return *attached || !refused || nothing_attached(l, refused, e);
}

struct live_attached live_attached_by(const struct live *l, u32 prog)
{
	return l->progs[prog].attached;
}
