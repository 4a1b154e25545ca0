/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * User-space probes: uprobe, uretprobe, usdt. With uprobe_multi (Linux 6.6) all sites of a
 * program in one file share a link, which attaches and, what matters more, detaches as one;
 * a multi link is refused as a whole when one address can not be probed, so a refusal is
 * narrowed down by halves. Before 6.6 each site is a perf event of the "uprobe" source
 * (perf_event_open(2), /sys/bus/event_source/devices/uprobe/format).
 */
#include "kern/kern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define REF_CTR_SHIFT 32 /* format/ref_ctr_offset: config:32-63 */

static bool is_return(const struct uprog *p)
{
	return attach_kind_has(p->kind, KIND_RETURN);
}

/* The file that is opened. */
static const char *site_file(const struct usite *s)
{
	return s->zip ? s->zip : s->path;
}

/* A path for the kernel, and what is to be closed after it. */
struct held {
	char path[32];
	int fd; /* -1 nothing */
};

/* What the kernel is to open; NULL and *e. A file in the root of a process is held first, for the
 * kernel would follow links in it out of that root. */
static const char *hold(struct held *h, const struct usite *s, struct err *e)
{
	h->fd = -1;
	if (!file_is_in_root(site_file(s)))
		return site_file(s);
	h->fd = file_hold(site_file(s), e);
	snprintf(h->path, sizeof(h->path), "/proc/self/fd/%d", h->fd);
	return h->fd < 0 ? NULL : h->path;
}

static void let_go(const struct held *h)
{
	if (h->fd >= 0)
		close(h->fd);
}

static bool uprobe_error(const struct usite *s, int code, struct err *e)
{
	switch (code) {
	case EPERM:
	case EACCES:
		return sys_refused(e, code, "the kernel does not let this user place user probes");
	case ENOENT:
		return err_set(e, "there is no file %s", site_file(s));
	case ESRCH:
		return err_set(e, "there is no process %d", s->pid);
	case ENOTSUP:
	case 524: /* ENOTSUPP: the kernel's decoder does not know the instruction */
	case EIO:
		return err_set(e,
		               "the kernel can not put a probe on the instruction at 0x%llx of %s",
		               (unsigned long long)s->offset, site_file(s));
	case EINVAL:
		return err_set(e, "offset 0x%llx of %s is no place for a probe",
		               (unsigned long long)s->offset, site_file(s));
	case EBADF:
		return err_set(e, "%s is not a regular file", site_file(s));
	default:
		return err_sys(e, code, "%s at 0x%llx", site_file(s),
		               (unsigned long long)s->offset);
	}
}

/* ---- one link for many ---- */

static bool link_many(struct attach *a, const u32 *sites, u32 n, struct err *e)
{
	const struct usite *first = &a->prog->sites[sites[0]];
	u64 *words = calloc(n, 3 * sizeof(u64));
	u64 *offsets = words, *ref_ctrs = words + n, *cookies = words + 2 * n;
	struct held held;
	struct sys_uprobe_multi m = { .path = hold(&held, first, e),
		                      .offsets = offsets,
		                      .cookies = cookies,
		                      .n = n,
		                      .is_return = is_return(a->prog),
		                      .pid = first->pid };
	int link = -1;

	if (!words)
		base_no_memory();
	for (u32 i = 0; i < n; i++) {
		const struct usite *s = &a->prog->sites[sites[i]];

		offsets[i] = s->offset;
		ref_ctrs[i] = s->ref_ctr;
		cookies[i] = s->cookie;
		if (s->ref_ctr)
			m.ref_ctrs = ref_ctrs;
	}
	if (m.path)
		link = sys_link_uprobe_multi(kern_prog_fd(a->l, a->prog_index, 0), &m);
	free(words);
	let_go(&held);
	if (link < 0)
		return m.path ? uprobe_error(first, -link, e) : false;
	attach_keep(a, link, -1);
	return true;
}

static bool same_target(const struct usite *a, const struct usite *b)
{
	return a->pid == b->pid && (a->path == b->path || strcmp(a->path, b->path) == 0);
}

/* One call of attach_halving() for each file and process among the sites. */
static bool attach_multi(struct attach *a, struct err *e)
{
	const struct usite *sites = a->prog->sites;
	u32 n = a->prog->n_sites;
	u32 *group = calloc(n, sizeof(*group));
	bool *taken = calloc(n, sizeof(*taken));
	bool ok = true;

	if (!group || !taken)
		base_no_memory();
	for (u32 i = 0; ok && i < n; i++) {
		u32 k = 0;

		if (taken[i])
			continue;
		for (u32 j = i; j < n; j++) {
			if (!taken[j] && same_target(&sites[i], &sites[j])) {
				taken[j] = true;
				group[k++] = j;
			}
		}
		ok = attach_halving(a, group, k, link_many, e);
	}
	free(group);
	free(taken);
	return ok;
}

/* ---- one perf event each ---- */

static bool attach_one(struct attach *a, u32 site, struct err *e)
{
	const struct usite *s = &a->prog->sites[site];
	struct held held;
	const char *path = hold(&held, s, e);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (u32)a->l->uprobe_type,
		.config = s->ref_ctr << REF_CTR_SHIFT | is_return(a->prog),
		.uprobe_path = (uintptr_t)path,
		.probe_offset = s->offset,
	};
	s32 pid = s->pid > 0 ? s->pid : -1;
	/* Without a process one CPU's event stands for all: the probe runs the program
	 * wherever it is hit. */
	int event = path ? attach_perf_open(&attr, pid, pid > 0 ? -1 : 0) : -1;

	let_go(&held);
	if (event < 0)
		return path ? uprobe_error(s, -event, e) : false;
	return attach_perf_link(a, site, event, true, e);
}

bool attach_uprobe(struct attach *a, struct err *e)
{
	a->done.how = "uprobe_multi link";
	if (kern_prog_uprobe_multi(a->l, a->prog))
		return attach_multi(a, e);
	a->done.how = "uprobe perf event";
	if (!a->l->uprobe_type)
		a->l->uprobe_type = sys_event_source("uprobe");
	if (!a->l->uprobe_type) {
		err_set(e, "this kernel has no user probes (CONFIG_UPROBE_EVENTS)");
		return attach_failed(a, 0, e);
	}
	return attach_each(a, attach_one, e);
}
