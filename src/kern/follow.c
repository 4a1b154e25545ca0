/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that a script looks at besides the one of -p or -c. The kernel binds a user probe to
 * one process, so each further one gets links (or perf events) of its own to the same programs;
 * other probes ask the family map, where programs put it at once. Between a process's start and its
 * links lie 1 to 20 ms, in which its calls are not seen: the kernel's own waiting. With
 * follow_at_once no probe is bound and all ask the map.
 */
#include "kern/kern.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What another process does not have is no failure of the script. */
static void no_warning(void *ctx, struct loc loc, const char *text)
{
	(void)ctx;
	(void)loc;
	(void)text;
}

bool live_follow_sites(struct live *l, s32 pid, u32 prog, const struct usite *sites, u32 n,
                       struct err *e)
{
	struct usite *own = calloc(n, sizeof(*own));
	struct uprog copy = l->unit->progs.v[prog];
	s32 bound = l->unit->follow_at_once ? 0 : pid;
	struct attach a = {
		.l = l, .prog = &copy, .prog_index = prog, .warn = no_warning, .follows = bound
	};
	bool ok;

	/* Each site has a program with its own number in it, and others have none. */
	if (l->progs[prog].n > 1 && sites != l->unit->progs.v[prog].sites) {
		free(own);
		return err_set(e, "probes of files that are loaded later need Linux 5.15 to say "
		                  "which they are");
	}
	if (!own)
		base_no_memory();
	memcpy(own, sites, n * sizeof(*own));
	for (u32 i = 0; i < n; i++)
		own[i].pid = bound;
	copy.sites = own;
	copy.n_sites = n;
	ok = attach_uprobe(&a, e);
	free(own);
	return ok;
}

static bool is_followed(const struct live *l, s32 pid)
{
	for (u32 i = 0; i < l->followed.n; i++)
		if (l->followed.v[i] == pid)
			return true;
	return false;
}

bool live_follow(struct live *l, s32 pid, bool *is_new, struct err *e)
{
	s32 family = unit_map(l->unit, UMAP_FAMILY);
	u64 value = 1;

	if (family < 0)
		return err_set(e, "the script looks at all processes");
	/* Not the map: a program has put the process there when it reported it. */
	*is_new = !is_followed(l, pid);
	if (!*is_new)
		return true;
	if (!live_map_put(l, (u32)family, &pid, &value, e))
		return false;
	vec_add(&l->arena, &l->followed, pid);
	for (u32 i = 0; i < l->unit->progs.n; i++) {
		const struct uprog *p = &l->unit->progs.v[i];

		if (attach_kind_is_user(p->kind) && p->n_sites && p->sites[0].pid > 0 &&
		    p->sites[0].pid != pid &&
		    !live_follow_sites(l, pid, i, p->sites, p->n_sites, e))
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
