/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of a control group: a link to its directory. A socket belongs to the group of the process
 * that made it, at that time; programs of groups above run as well, and all have to let it pass.
 */
#include "kern/kern.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/file.h"

static bool cgroup_error(const struct usite *s, int code, struct err *e)
{
	char what[512];

	switch (code) {
	case EPERM:
	case EACCES:
		if (caps_missing(CAPS_PACKETS)) {
			snprintf(what, sizeof(what), "packets of %s", s->path);
			return caps_refused(e, code, CAPS_PACKETS, what);
		}
		err_set(e, "the kernel does not let this user look at the packets of %s", s->path);
		return err_hint(e, "or a program there, or above it, takes no other beside it");
	case EINVAL:
		return err_set(e, "this kernel has no programs for packets of control groups");
	default:
		return err_sys(e, code, "packets of %s", s->path);
	}
}

static bool cgroup_site(struct attach *a, u32 site, struct err *e)
{
	const struct usite *s = &a->prog->sites[site];
	int dir = file_open_dir(s->path), link;

	if (dir < 0)
		return err_sys(e, errno, "can not open %s", s->path);
	link = sys_link_to(kern_prog_fd(a->l, a->prog_index, site), dir,
	                   kern_prog_attach_type(a->l, a->prog));
	close(dir);
	if (link < 0)
		return cgroup_error(s, -link, e);
	attach_keep(a, link, -1);
	return true;
}

/* Of the programs of packets, all have one site. */
bool live_add_group(struct live *l, const char *path, struct err *e)
{
	for (u32 i = 0; i < l->unit->progs.n; i++) {
		struct uprog copy = l->unit->progs.v[i];
		struct usite site = { .path = path };
		struct attach a = { .l = l, .prog = &copy, .prog_index = i };

		if (!attach_kind_has(copy.kind, KIND_PACKET) || !copy.n_sites)
			continue;
		copy.sites = &site;
		copy.n_sites = 1;
		if (!cgroup_site(&a, 0, e))
			return false;
	}
	return true;
}

bool attach_cgroup(struct attach *a, struct err *e)
{
	a->done.how = "control group link";
	return attach_each(a, cgroup_site, e);
}
