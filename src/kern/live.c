/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The life of a unit in the kernel: load, run BEGIN and END, free; the ring and the data
 * words. Maps come first, then programs (which name maps by descriptor), then links; everything
 * is a descriptor in struct live, so freeing is closing, and a process that dies leaves nothing.
 * Does not know what programs do.
 */
#include "kern/kern.h"

#include <assert.h>
#include <errno.h>
#include <linux/version.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

/* Asks the kernel only what this unit's programs depend on. */
static void ask_features(struct live *l)
{
	u32 wanted = 0;

	wanted |= l->unit->progs.n ? (u32)(FEATURE_COOKIE | FEATURE_INHERIT_THREAD) : 0;
	for (u32 i = 0; i < l->unit->progs.n; i++) {
		const struct uprog *p = &l->unit->progs.v[i];
		u32 uses = attach_kind_uses(p->kind);

		if (p->n_sites < 2)
			uses &= ~(u32)(FEATURE_KPROBE_MULTI | FEATURE_RAWTP_COOKIE);
		if (!l->unit->session_kfunc)
			uses &= ~(u32)FEATURE_KPROBE_SESSION;
		wanted |= uses;
	}
	features_probe(&l->features, wanted);
}

static struct live *live_new(const struct unit *u, const struct live_options *o)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		base_no_memory();
	l->unit = u;
	l->data_map = unit_map(u, UMAP_DATA);
	l->ring_map = unit_map(u, UMAP_RING);
	l->unwind_chunks = MAX(o->unwind_chunks, 1u);
	l->map_memory_asked = o->map_memory || u->map_memory_set;
	l->map_memory = o->map_memory ? o->map_memory : (u64)u->map_memory << 20;
	l->maps = arena_array(&l->arena, int, u->maps.n);
	l->pairs = arena_array(&l->arena, struct pair, u->maps.n);
	l->gate = (struct pair){ .fds = { -1, -1 } };
	for (u32 i = 0; i < u->maps.n; i++) {
		l->maps[i] = -1;
		l->pairs[i] = l->gate;
	}
	l->stopped = o->stopped;
	l->stopped_ctx = o->ctx;
	l->progs = arena_array(&l->arena, struct loaded, u->progs.n);
	if (o->features)
		l->features = *o->features;
	ask_features(l);
	return l;
}

static bool load_all(struct live *l, const struct live_options *o, struct err *e)
{
	for (u32 i = 0; i < l->unit->maps.n; i++)
		if (!kern_map_create(l, i, e))
			return false;
	kern_session_pair(l);
	for (u32 i = 0; i < l->unit->progs.n; i++)
		if (!kern_prog_load(l, i, o, e))
			return false;
	return kern_map_data_open(l, e) && kern_turn_open(l, e) && kern_ring_open(l, e) &&
	       kern_lanes_open(l, e);
}

/* Sites that may have a program and a link of their own. */
static u32 count_sites(const struct unit *u)
{
	u32 n = 0;

	for (u32 i = 0; i < u->progs.n; i++)
		n += u->progs.v[i].n_sites;
	return n;
}

/* A site's descriptors on each CPU can be more than the usual soft limit of 1024, and those of
 * thousands more than the hard one, which root may raise. */
static void raise_open_files(const struct unit *u)
{
	rlim_t want = 256 + 4 * (rlim_t)count_sites(u);
	struct rlimit r, more = { want, want };

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= want)
		return;
	if (r.rlim_max < want && setrlimit(RLIMIT_NOFILE, &more) == 0)
		return;
	if (r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

struct live *live_load(const struct unit *u, const struct live_options *o, struct err *e)
{
	struct live *l;

	raise_open_files(u);
	features_raise_memory();
	l = live_new(u, o);
	if (!load_all(l, o, e)) {
		live_free(l);
		l = NULL;
	}
	return l;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void live_free(struct live *l)
{
	if (!l)
		return;
	live_detach(l);
	kern_ring_close(l);
	kern_lanes_close(l);
	kern_unwind_close(l);
	kern_turn_close(l);
	if (l->data)
		munmap(l->data, l->data_size);
	for (u32 i = 0; i < l->unit->progs.n; i++)
		for (u32 j = 0; j < l->progs[i].n; j++)
			close_fd(l->progs[i].fds[j]);
	for (u32 i = 0; i < l->unit->maps.n; i++)
		close_fd(l->maps[i]);
	hmap_free(&l->probes);
	arena_free(&l->arena);
	free(l);
}

bool live_run(struct live *l, enum attach_kind kind, struct err *e)
{
	for (u32 i = 0; i < l->unit->progs.n; i++) {
		const struct uprog *p = &l->unit->progs.v[i];
		u32 ignored;

		if (p->kind == kind && !kern_run(l, i, &ignored, e))
			return false;
	}
	return true;
}

bool live_test(struct live *l, u32 prog, u32 *result, u64 *ns, struct err *e)
{
	/* The kernel measures runs of network programs only. */
	u64 start = clock_ns(CLOCK_MONOTONIC);
	bool ok = kern_run(l, prog, result, e);

	*ns = clock_ns(CLOCK_MONOTONIC) - start;
	return ok;
}

int live_ring_fd(const struct live *l)
{
	return l->ring_map < 0 ? -1 : l->maps[l->ring_map];
}

void live_detach(struct live *l)
{
	detach_all(l);
}

u32 live_insns(const struct live *l, u32 prog)
{
	struct bpf_prog_info info = { 0 };

	if (sys_info(kern_prog_fd(l, prog, 0), &info, sizeof(info)) < 0)
		return 0;
	return info.verified_insns;
}

u64 live_missed(const struct live *l, u32 prog)
{
	struct bpf_prog_info info = { 0 };

	if (sys_info(kern_prog_fd(l, prog, 0), &info, sizeof(info)) < 0)
		return 0;
	return info.recursion_misses;
}

bool live_interruptible(void)
{
	return features_sure(KERNEL_VERSION(7, 0, 0));
}
