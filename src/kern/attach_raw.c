/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernel probes that need no perf event and no tracefs: raw tracepoints and the trampolines of
 * fentry and fexit, which are bound to their function when the program is loaded, so that each
 * site has a program of its own. A BTF tracepoint differs from a raw one in what the compiler
 * knows of its arguments, not in how it is attached.
 */
#include "kern/kern.h"

#include <errno.h>

static bool raw_error(const struct usite *s, int code, struct err *e)
{
	switch (code) {
	case EPERM:
	case EACCES:
		return sys_refused(e, code, "the kernel does not let this user trace it");
	case ENOENT:
		return err_set(e, "this kernel has no tracepoint %s", s->event);
	case EBUSY:
		return err_set(e, "%s can not be traced, or is traced in another way already",
		               s->event);
	case ENOTSUP:
	case 524: /* ENOTSUPP */
		err_set(e, "this kernel can not trace %s with a trampoline", s->event);
		return err_hint(e,
		                "use a tracepoint near it, or a kprobe where the kernel has them");
	default:
		return err_sys(e, code, "%s", s->event);
	}
}

static bool keep_or_fail(struct attach *a, u32 site, int link, struct err *e)
{
	if (link < 0)
		return raw_error(&a->prog->sites[site], -link, e);
	attach_keep(a, link, -1);
	return true;
}

/* Kernels before 6.10 have no cookie here; there the compiler does not depend on one. */
static bool raw_site(struct attach *a, u32 site, struct err *e)
{
	const struct usite *s = &a->prog->sites[site];
	u64 cookie = a->l->features.rawtp_cookie ? s->cookie : 0;
	int prog = kern_prog_fd(a->l, a->prog_index, site);

	return keep_or_fail(a, site, sys_raw_tracepoint(prog, s->event, cookie), e);
}

static bool trampoline_site(struct attach *a, u32 site, struct err *e)
{
	int prog = kern_prog_fd(a->l, a->prog_index, site);

	if (prog < 0)
		return err_set(e, "%s", a->l->progs[a->prog_index].refused);
	return keep_or_fail(a, site, sys_raw_tracepoint(prog, NULL, 0), e);
}

bool attach_raw(struct attach *a, struct err *e)
{
	a->done.how = "raw tracepoint link";
	return attach_each(a, raw_site, e);
}

bool attach_trampoline(struct attach *a, struct err *e)
{
	a->done.how = arena_printf(&a->l->arena, "%s link", attach_kind_name(a->prog->kind));
	return attach_each(a, trampoline_site, e);
}
