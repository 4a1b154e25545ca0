/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that a script looks at besides the one of -p or -c. The kernel binds a user probe to one
 * process, so each further one gets links (or perf events) of its own to the same programs; other
 * probes ask the family map. Between a process's start and its links lies about a millisecond, in
 * which its calls are not seen.
 */
#include "kern/kern.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static bool of_user(const struct uprog *p)
{
	return p->kind == ATTACH_UPROBE || p->kind == ATTACH_URETPROBE || p->kind == ATTACH_USDT;
}

/* What another process does not have is no failure of the script. */
static void no_warning(void *ctx, struct loc loc, const char *text)
{
	(void)ctx;
	(void)loc;
	(void)text;
}

static bool attach_to(struct live *l, u32 prog, s32 pid, struct err *e)
{
	const struct uprog *p = &l->unit->progs.v[prog];
	struct usite *sites = arena_array(&l->arena, struct usite, p->n_sites);
	struct uprog copy = *p;
	struct attach a = {
		.l = l, .prog = &copy, .prog_index = prog, .warn = no_warning, .follows = pid
	};

	memcpy(sites, p->sites, p->n_sites * sizeof(*sites));
	for (u32 i = 0; i < p->n_sites; i++)
		sites[i].pid = pid;
	copy.sites = sites;
	return attach_uprobe(&a, e);
}

bool live_follow(struct live *l, s32 pid, struct err *e)
{
	s32 family = unit_map(l->unit, UMAP_FAMILY);
	u64 value = 1;

	if (family < 0)
		return err_set(e, "the script looks at all processes");
	if (live_map_get(l, (u32)family, &pid, &value))
		return true;
	if (!live_map_put(l, (u32)family, &pid, &value, e))
		return false;
	vec_add(&l->arena, &l->followed, pid);
	for (u32 i = 0; i < l->unit->progs.n; i++) {
		const struct uprog *p = &l->unit->progs.v[i];

		if (of_user(p) && p->n_sites && p->sites[0].pid > 0 && p->sites[0].pid != pid &&
		    !attach_to(l, i, pid, e))
			return false;
	}
	return true;
}

void live_unfollow_gone(struct live *l)
{
	s32 family = unit_map(l->unit, UMAP_FAMILY);

	for (u32 i = 0; i < l->followed.n;) {
		s32 pid = l->followed.v[i];

		if (kill(pid, 0) == 0 || errno != ESRCH) {
			i++;
			continue;
		}
		detach_process(l, pid);
		live_map_remove(l, (u32)family, &pid);
		l->followed.v[i] = l->followed.v[--l->followed.n];
	}
}
