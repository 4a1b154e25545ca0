/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Iterators, and what is memtap's own: its signal and its clock. An iterator's link is a recipe:
 * each sys_iter_create() of it makes a file, and reading the file runs the program for every
 * object. Pinned, the link itself is a file below /sys/fs/bpf that anybody with the right may read,
 * and outlives us.
 */
#include "kern/kern.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* A short read returns as soon as the program has put this much into the file: one byte for an
 * object that sent records (gen/gen_iter.c). */
#define READ_BYTES 8u

static bool of_tasks(const struct usite *s)
{
	return strncmp(s->event, "task", 4) == 0;
}

static bool iter_error(const struct usite *s, int code, struct err *e)
{
	switch (code) {
	case EPERM:
	case EACCES:
		return sys_refused(e, code, "the kernel does not let this user iterate");
	case EBADF:
		err_set(e, "the elements of a map are not iterated this way");
		return err_hint(e, "for ($kv : @map) { ... } goes through a map");
	case EINVAL:
		if (s->pid > 0 && of_tasks(s))
			return err_set(e, "this kernel can not restrict it to one process (6.1)");
		/* fallthrough */
	default:
		return err_sys(e, code, "iterator %s", s->event);
	}
}

static bool pin(const struct usite *s, int link, struct err *e)
{
	int r = sys_pin(link, s->path);

	if (r >= 0)
		return true;
	if (r == -EEXIST)
		return err_set(e, "%s exists already", s->path);
	err_sys(e, -r, "can not pin it to %s", s->path);
	return err_hint(e, "the place must be in a BPF file system: mount -t bpf bpf /sys/fs/bpf");
}

static bool iter_site(struct attach *a, u32 site, struct err *e)
{
	const struct usite *s = &a->prog->sites[site];
	int prog = kern_prog_fd(a->l, a->prog_index, site);
	int link = sys_link_iter(prog, of_tasks(s) ? s->pid : 0);

	if (link < 0)
		return iter_error(s, -link, e);
	attach_keep(a, link, -1);
	if (s->path)
		return pin(s, link, e);
	vec_add(&a->l->arena, &a->l->iters, link);
	return true;
}

bool attach_iter(struct attach *a, struct err *e)
{
	a->done.how = "iterator link";
	return attach_each(a, iter_site, e);
}

/* Run by live_run(). */
bool attach_self(struct attach *a, struct err *e)
{
	(void)e;
	a->done.how = "signal";
	a->done.sites = a->done.links = a->prog->n_sites;
	return true;
}

/* Run by live_clock_run(). */
bool attach_clock(struct attach *a, struct err *e)
{
	u64 period = a->prog->sites[0].period;
	struct clock c = { a->prog_index, period, clock_ns(CLOCK_MONOTONIC) + period };

	(void)e;
	vec_add(&a->l->arena, &a->l->clocks, c);
	a->done.how = "clock of memtap";
	a->done.sites = a->done.links = 1;
	return true;
}

/* The kernel gives a long walk without output up with EAGAIN, to be read on. */
static bool read_on(int file, bool (*between)(void *ctx), void *ctx, struct err *e)
{
	char bytes[READ_BYTES];
	ssize_t n;

	do {
		n = read(file, bytes, sizeof(bytes));
		if (!between(ctx))
			return true;
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	return n == 0 || err_sys(e, errno, "can not read the iterator");
}

bool live_iterate(struct live *l, bool (*between)(void *ctx), void *ctx, struct err *e)
{
	for (u32 i = 0; i < l->iters.n; i++) {
		int file = sys_iter_create(l->iters.v[i]);
		bool ok;

		if (file < 0)
			return err_sys(e, -file, "can not open the iterator");
		ok = read_on(file, between, ctx, e);
		close(file);
		if (!ok)
			return false;
	}
	return true;
}
