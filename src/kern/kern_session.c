/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kprobe and kretprobe of the same functions as one program on one link, where the kernel has
 * sessions (6.10): half the links, and a return is only seen when its entry was.
 *
 * The first program of a pair is loaded and attached for both, the second has a copy of its
 * descriptor and nothing to do. What does not fit, or is refused when it is loaded, stays two
 * programs, and so do those of a function that has more of them: they run in the script's order.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hmap.h"
#include "bpf/kprobe_session.h"
#include "bpf/uapi.h"
#include "kern/kern.h"

/* A site has one cookie in a session, but another number in each program. Links of many functions,
 * as a session is, do not let what is returned be changed. */
static bool fits(const struct uprog *p)
{
	if (p->n_funcs || kern_prog_calls(p, BPF_FUNC_override_return) ||
	    (p->n_sites > 1 && kern_prog_calls(p, BPF_FUNC_get_attach_cookie)))
		return false;
	for (u32 i = 0; i < p->n_sites; i++)
		if (p->sites[i].offset || strchr(p->sites[i].event, ':'))
			return false;
	return true;
}

static bool same_sites(const struct uprog *a, const struct uprog *b)
{
	if (a->n_sites != b->n_sites)
		return false;
	for (u32 i = 0; i < a->n_sites; i++)
		if (a->sites[i].address != b->sites[i].address ||
		    strcmp(a->sites[i].event, b->sites[i].event) != 0)
			return false;
	return true;
}

/* The entry or the return of functions whose both may be one program. */
static bool is_half(const struct uprog *p, bool on_return)
{
	return (attach_kind_uses(p->kind) & FEATURE_KPROBE_SESSION) &&
	       attach_kind_has(p->kind, KIND_RETURN) == on_return;
}

/* Another program at a function of programs i and j: of pairs the kernel runs the entries in one
 * order and the returns in the other. */
static bool is_shared(const struct live *l, u32 i, u32 j)
{
	const struct uprog *progs = l->unit->progs.v;
	struct hmap events = { 0 };
	bool found = false;

	for (u32 k = 0; k < progs[i].n_sites; k++)
		hmap_put(&events, progs[i].sites[k].event, strlen(progs[i].sites[k].event),
		         l->maps);
	for (u32 other = 0; other < l->unit->progs.n && !found; other++) {
		const struct uprog *p = &progs[other];

		if (other == i || other == j ||
		    !(attach_kind_uses(p->kind) & FEATURE_KPROBE_SESSION))
			continue;
		for (u32 k = 0; k < p->n_sites && !found; k++)
			found = hmap_find(&events, p->sites[k].event, strlen(p->sites[k].event));
	}
	hmap_free(&events);
	return found;
}

static void find_partner(struct live *l, u32 i)
{
	const struct uprog *progs = l->unit->progs.v;

	for (u32 j = 0; j < l->unit->progs.n; j++) {
		if (!is_half(&progs[j], true) || l->progs[j].partner >= 0 ||
		    !same_sites(&progs[i], &progs[j]) || !fits(&progs[j]))
			continue;
		if (is_shared(l, i, j))
			return;
		l->progs[i].partner = (s32)j;
		l->progs[j].partner = (s32)i;
		return;
	}
}

void kern_session_pair(struct live *l)
{
	for (u32 i = 0; i < l->unit->progs.n; i++)
		l->progs[i].partner = -1;
	if (!l->features.kprobe_session || !l->unit->session_kfunc)
		return;
	for (u32 i = 0; i < l->unit->progs.n; i++)
		if (is_half(&l->unit->progs.v[i], false) && fits(&l->unit->progs.v[i]))
			find_partner(l, i);
}

static int load_pair(struct live *l, const struct uprog *entry, const struct uprog *at_return)
{
	struct sys_prog p = { .type = BPF_PROG_TYPE_KPROBE,
		              .attach_type = MT_BPF_TRACE_KPROBE_SESSION };
	struct bpf_insn *first = kern_prog_insns(l, entry), *second = kern_prog_insns(l, at_return);
	struct bpf_insn *both;
	int fd = -1;

	both = kprobe_session_join(first, entry->n_insns, second, at_return->n_insns,
	                           l->unit->session_kfunc, &p.n);
	p.insns = both;
	if (both)
		fd = sys_prog_load(&p);
	free(first);
	free(second);
	free(both);
	return fd;
}

static void keep(struct live *l, u32 i, int fd)
{
	l->progs[i].fds = arena_array(&l->arena, int, 1);
	l->progs[i].fds[0] = fd;
	l->progs[i].n = 1;
}

bool kern_session_load(struct live *l, u32 i)
{
	s32 j = l->progs[i].partner;
	const struct uprog *p = &l->unit->progs.v[i], *partner;
	int fd;

	if (j < 0 || l->progs[i].n)
		return j >= 0;
	partner = &l->unit->progs.v[j];
	fd = is_half(p, false) ? load_pair(l, p, partner) : load_pair(l, partner, p);
	if (fd < 0) {
		l->progs[i].partner = l->progs[j].partner = -1;
		return false;
	}
	keep(l, i, fd);
	keep(l, (u32)j, dup(fd));
	return true;
}

bool kern_session_attached(const struct live *l, u32 i, struct live_attached *done)
{
	s32 j = l->progs[i].partner;

	if (j < 0 || (u32)j > i)
		return false;
	*done = l->progs[j].attached;
	done->how = "shared kprobe_session link";
	return true;
}
