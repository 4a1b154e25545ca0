/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Set-up takes the most: tracefs, limits, uprobes of older kernels, files to be written, which are
 * all open by then. What is left over is what reading takes.
 */
#include "run/rights.h"

#include "run/view.h"

/* A command of system() has the rights of who ran memtap. */
static bool runs_commands(const struct unit *u)
{
	for (u32 i = 0; i < u->records.n; i++)
		if (u->records.v[i].action == ACTION_SYSTEM)
			return true;
	return false;
}

/* In processes and files that come later. */
static bool attaches_later(const struct unit *u)
{
	return u->late.n || unit_map(u, UMAP_FAMILY) >= 0;
}

u64 rights_kept(const struct unit *u, const struct session_options *o, bool has_child)
{
	u64 kept = RIGHTS_READ;

	if (runs_commands(u))
		return CAPS_ALL;
	if (has_child) /* which may have become another user's */
		kept |= CAPS(CAP_KILL);
	/* Before Linux 6.6. */
	if (attaches_later(u) && !(o->features && o->features->uprobe_multi))
		kept |= CAPS_ADMIN;
	/* What was put into a process goes again; its filters of calls are read before. */
	if (o->graft.inode)
		kept |= CAPS_ADMIN;
	return o->view ? kept | o->view->rights : kept;
}
