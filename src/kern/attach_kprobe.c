/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernel functions by breakpoint: kprobe, kretprobe. Many functions of one program share a
 * kprobe_multi link where the kernel has it (5.18, CONFIG_FPROBE), by their names, or by addresses
 * where the script's targets have them. Otherwise each is a perf event of the "kprobe" source.
 */
#include "kern/kern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/uapi.h"

static bool is_return(const struct uprog *p)
{
	return attach_kind_has(p->kind, KIND_RETURN);
}

static bool kprobe_error(const struct usite *s, int code, struct err *e)
{
	switch (code) {
	case EPERM:
	case EACCES:
		return sys_refused_event(e, code,
		                         "the kernel does not let this user place kernel probes");
	case ENOENT:
	case ESRCH:
		return err_set(e, "this kernel has no function %s", s->event);
	case EADDRNOTAVAIL: /* Linux 6.6 */
		err_set(e, "several functions of the kernel are called %s", s->event);
		return err_hint(e,
		                "kprobe:MODULE:NAME is that of a module, kprobe:ADDRESS any one "
		                "(--unsafe); grep -w %s /proc/kallsyms shows them",
		                s->event);
	case EINVAL:
	case EILSEQ:
		err_set(e, "the kernel does not allow a probe at %s+%llu", s->event,
		        (unsigned long long)s->offset);
		return err_hint(e, "%s",
		                s->offset
		                        ? "an offset is one at which an instruction begins"
		                        : "functions the probes themselves depend on are closed to "
		                          "them; probe a caller");
	default:
		return err_sys(e, code, "%s", s->event);
	}
}

/* All of them have an address, or none has. */
static bool link_many(struct attach *a, const u32 *sites, u32 n, struct err *e)
{
	bool by_address = a->prog->sites[sites[0]].address;
	bool is_session = a->l->progs[a->prog_index].partner >= 0;
	const char **names = calloc(n, sizeof(*names));
	u64 *addresses = calloc(n, sizeof(*addresses));
	u64 *cookies = calloc(n, sizeof(*cookies));
	struct sys_kprobe_multi m = {
		.attach_type = is_session ? MT_BPF_TRACE_KPROBE_SESSION : BPF_TRACE_KPROBE_MULTI,
		.names = by_address ? NULL : names,
		.addresses = by_address ? addresses : NULL,
		.cookies = cookies,
		.n = n,
		.is_return = !is_session && is_return(a->prog),
	};
	int link;

	if (!names || !addresses || !cookies)
		base_no_memory();
	for (u32 i = 0; i < n; i++) {
		names[i] = a->prog->sites[sites[i]].event;
		addresses[i] = a->prog->sites[sites[i]].address;
		cookies[i] = a->prog->sites[sites[i]].cookie;
	}
	link = sys_link_kprobe_multi(kern_prog_fd(a->l, a->prog_index, 0), &m);
	free(names);
	free(addresses);
	free(cookies);
	if (link < 0)
		return kprobe_error(&a->prog->sites[sites[0]], -link, e);
	attach_keep(a, link, -1);
	return true;
}

static bool attach_multi(struct attach *a, struct err *e)
{
	u32 total = a->prog->n_sites, n = 0, named = total;
	u32 *all = calloc(total, sizeof(*all));
	bool ok;

	if (!all)
		base_no_memory();
	/* Those with an address from the front, the others from the back. */
	for (u32 i = 0; i < total; i++)
		all[a->prog->sites[i].address ? n++ : --named] = i;
	ok = (!n || attach_halving(a, all, n, link_many, e)) &&
	     (named == total || attach_halving(a, all + named, total - named, link_many, e));
	free(all);
	return ok;
}

static bool attach_one(struct attach *a, u32 site, struct err *e)
{
	const struct usite *s = &a->prog->sites[site];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (u32)a->l->kprobe_type,
		.config = is_return(a->prog),
		.kprobe_func = s->address ? 0 : (uintptr_t)s->event,
		.probe_offset = s->address + s->offset,
	};
	int event = attach_perf_open(&attr, -1, 0);

	if (event < 0)
		return kprobe_error(s, -event, e);
	return attach_perf_link(a, site, event, true, e);
}

bool attach_kprobe(struct attach *a, struct err *e)
{
	if (kern_session_attached(a->l, a->prog_index, &a->done))
		return true;
	a->done.how = "kprobe_session link";
	if (a->l->progs[a->prog_index].partner >= 0)
		return attach_multi(a, e);
	a->done.how = "kprobe_multi link";
	if (kern_prog_kprobe_multi(a->l, a->prog))
		return attach_multi(a, e);
	a->done.how = "kprobe perf event";
	if (!a->l->kprobe_type)
		a->l->kprobe_type = sys_event_source("kprobe");
	if (!a->l->kprobe_type) {
		err_set(e, "this kernel is built without kernel probes (CONFIG_KPROBES)");
		err_hint(e, "use a tracepoint: memtap -l 'tracepoint:*' lists them");
		return attach_failed(a, 0, e);
	}
	return attach_each(a, attach_one, e);
}
