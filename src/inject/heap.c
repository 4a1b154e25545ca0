/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The pieces put together: the allocator's functions (heap_allocator.c), a stub for each
 * (arch/stub.h), what these go on to (sampler.c) as the head of the graft, and the data.
 */
#include "inject/heap.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>

#include "arch/arch.h"
#include "arch/stub.h"
#include "base/clock.h"
#include "base/unpack.h"
#include "inject/sampler_draw.h"
#include "read/procmaps.h"
#include "read/procstat.h"

/* Calls that are sampled are waited for before the process is stopped. */
#define INSIDE_TRIES 2000u
#define INSIDE_NS    200000

struct heap {
	struct heap_allocator a;
	struct graft g;
	u8 *code; /* the sampler, unpacked */
	struct elf *head;
	u64 params; /* bytes from the head's start */
	u64 slow[N_SAMPLER_KINDS];
	u64 every, apart;
	bool has_cpu;
	s64 cpu;
};

/* ---- in ------------------------------------------------------------------------------------- */

static bool open_head(struct heap *hp, struct err *e)
{
	struct elf_sym s;
	char name[32];

	if (!packed_sampler_text)
		return err_set(e, "memtap can not put code into processes on this machine");
	hp->code = unpack(packed_sampler, packed_sampler_size, packed_sampler_text);
	hp->head = elf_open_memory(hp->code, packed_sampler_text, "the sampler", e);
	if (!hp->head || !elf_find(hp->head, "sampler_params", &s))
		return false;
	hp->params = s.value;
	for (u32 i = 0; i < N_SAMPLER_KINDS; i++) {
		snprintf(name, sizeof(name), "sampler_slow_%u", i);
		if (!elf_find(hp->head, name, &s))
			return err_set(e, "the sampler has no %s", name);
		hp->slow[i] = s.value;
	}
	return true;
}

static void place_head(void *ctx, u8 *head, u64 at, u64 data)
{
	struct heap *hp = ctx;
	const u16 type = ET_DYN; /* it may be anywhere */
	struct sampler_params p = { .data = data, .page = arch_page() };
	u32 n = hp->a.n_inside;

	sampler_fill(&p, hp->every);
	p.apart = hp->apart;
	for (u32 i = 0; i < 2; i++)
		p.nothrow[i] = hp->a.nothrow[i] + hp->a.bias;
	for (u32 i = 0; i < n; i++)
		p.inside[i] = (struct sampler_inside){ hp->a.inside[i].start + hp->a.bias,
			                               hp->a.inside[i].end + hp->a.bias };
	memcpy(p.around, hp->a.around, sizeof(p.around));
	p.inside[n] = (struct sampler_inside){ at, at + hp->g.room.code_size };
	memcpy(head + hp->params, &p, sizeof(p));
	memcpy(head + offsetof(Elf64_Ehdr, e_type), &type, sizeof(type));
}

static u32 emit(void *ctx, u32 i, u64 at, u64 data, u8 *out, u32 room, u32 *entry)
{
	const struct heap *hp = ctx;
	enum sampler_kind kind = hp->a.functions[i].kind;
	bool unmaps = kind == SAMPLER_REMAP || kind == SAMPLER_UNMAP;
	struct stub s = {
		.counts = kind != SAMPLER_FREE && kind != SAMPLER_UNMAP,
		.product = kind == SAMPLER_PRODUCT,
		.size = sampler_size_argument(kind),
		.looks = kind == SAMPLER_FREE || kind == SAMPLER_REALLOC || unmaps,
		.counters = data + offsetof(struct sampler_data, cpus),
		.filter = data + offsetof(struct sampler_data, filter),
		.shift = SAMPLER_CPU_SHIFT,
		.cpus = SAMPLER_CPUS,
		.bytes = SAMPLER_FILTER,
		.near = unmaps ? SAMPLER_ANYWHERE : (u8)sampler_near(hp->every),
		.has_cpu = hp->has_cpu,
		.cpu = (s32)hp->cpu,
		.slow = hp->g.room.at + hp->slow[kind],
	};

	if (hp->a.skips[i])
		s.skip = kind == SAMPLER_REALLOC ? STUB_SKIPS_NULL : STUB_SKIPS_SMALL;
	return stub_emit(&s, at, out, room, entry);
}

static bool write_data(pid_t pid, u64 at, const void *p, size_t n)
{
	struct iovec here = { (void *)(uintptr_t)p, n };
	struct iovec there = { (void *)(uintptr_t)at, n };

	return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

/* All but what is 0. */
static bool fill_data(const struct heap *hp, pid_t pid)
{
	static struct {
		u64 words[8];
		struct sampler_cpu cpus[SAMPLER_CPUS];
	} d;
	const struct sampler_params *p = (const void *)(hp->g.code + hp->params);

	_Static_assert(sizeof(d) == offsetof(struct sampler_data, filter), "its beginning");
	if (getrandom(d.cpus, sizeof(d.cpus), 0) != (ssize_t)sizeof(d.cpus))
		return false;
	for (u32 i = 0; i < SAMPLER_CPUS; i++) {
		d.cpus[i].random |= 1;
		d.cpus[i].longer = 0;
		d.cpus[i].left = sampler_gap(p, &d.cpus[i]);
	}
	d.words[0] = 1; /* on */
	return write_data(pid, graft_data(&hp->g), &d, sizeof(d));
}

static enum enter_end go_in(struct hold *h, void *ctx, struct err *e)
{
	struct heap *hp = ctx;
	enum enter_end end;
	struct err other;

	hp->has_cpu = hold_cpu(h, &hp->cpu) && hp->cpu == (s32)hp->cpu;
	end = graft_in(&hp->g, h, e);
	if (end != ENTER_DONE || fill_data(hp, h->pid))
		return end;
	err_sys(e, errno, "process %d: its memory can not be written", h->pid);
	graft_out(&hp->g, h, &other);
	return ENTER_REFUSED;
}

static void rehearse_in(void *ctx, pid_t pid)
{
	struct heap *hp = ctx;

	hp->has_cpu = true;
	graft_rehearse(&hp->g, pid, true);
}

static void rehearse_out(void *ctx, pid_t pid)
{
	struct heap *hp = ctx;

	graft_rehearse(&hp->g, pid, false);
}

static bool make(struct heap *hp, const struct insn_decoder *d, pid_t pid, struct err *e)
{
	if (!open_head(hp, e) || !heap_allocator_find(&hp->a, d, pid, e))
		return false;
	hp->g = (struct graft){
		.d = d,
		.hooks = hp->a.hooks,
		.n = hp->a.n,
		.emit = emit,
		.head = hp->code,
		.head_size = packed_sampler_text,
		.place = place_head,
		.ctx = hp,
		.data_size = ROUND_UP((u64)sizeof(struct sampler_data), (u64)arch_page()),
		.inside = offsetof(struct sampler_data, inside),
	};
	graft_init(&hp->g);
	return true;
}

static bool enter(struct heap *hp, pid_t pid, enter_fn *fn, u32 ms, struct heap_result *r,
                  struct err *e)
{
	struct enter n = { .pid = pid,
		           .fn = fn,
		           .before = fn == go_in ? rehearse_in : rehearse_out,
		           .ctx = hp,
		           .size = sizeof(*hp),
		           .ms = ms };
	bool ok = enter_process(&n, e);

	r->stopped_ns = n.stopped_ns;
	r->stops = n.stops;
	return ok;
}

static void find_file(u64 at, pid_t pid, struct heap_result *r)
{
	const struct procmap *m;
	struct arena a = { 0 };
	struct procmaps maps;
	struct err e;

	m = procmaps_read(&a, pid, &maps, &e) ? procmaps_find(&maps, at) : NULL;
	if (m) {
		r->dev = makedev(m->dev_major, m->dev_minor);
		r->inode = m->inode;
	}
	arena_free(&a);
}

/* Cycles between two of so many in a second; 0 for none. */
static u64 cycles_apart(u32 most)
{
	u64 ns = clock_ns(CLOCK_MONOTONIC), from = thread_cycles();

	if (!most)
		return 0;
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	return (thread_cycles() - from) * 1000000 / (clock_ns(CLOCK_MONOTONIC) - ns) * 1000 / most;
}

bool heap_in(pid_t pid, u64 every, u32 most, u32 ms, struct heap_result *r, char left[256],
             struct err *e)
{
	struct insn_decoder *d = insn_decoder_open(e);
	struct heap *hp = calloc(1, sizeof(*hp));
	bool ok;

	if (!hp)
		base_no_memory();
	*r = (struct heap_result){ 0 };
	hp->every = every;
	hp->apart = cycles_apart(most);
	ok = d && enter_allowed(pid, e) && make(hp, d, pid, e) && enter(hp, pid, go_in, ms, r, e);
	if (ok)
		find_file(hp->g.room.at, pid, r);
	snprintf(left, 256, "%s", ok && hp->a.left ? hp->a.left : "");
	graft_free(&hp->g);
	heap_allocator_close(&hp->a);
	elf_close(hp->head);
	free(hp->code);
	insn_decoder_close(d);
	free(hp);
	return ok;
}

/* ---- out ------------------------------------------------------------------------------------ */

bool heap_is_in(pid_t pid, pid_t *owner)
{
	struct graft g;
	struct graft_mark m;

	if (!graft_find(&g, &m, pid))
		return false;
	*owner = m.started && procstat_started((u32)m.owner) == m.started ? (pid_t)m.owner : 0;
	return true;
}

static enum enter_end go_out(struct hold *h, void *ctx, struct err *e)
{
	struct heap *hp = ctx;

	return graft_out(&hp->g, h, e);
}

/* Before it is switched off: of a table that is empty all at once nobody knows what is in it. */
static u64 full_so_far(const struct heap *hp, pid_t pid)
{
	u64 full = 0;
	struct iovec here = { &full, sizeof(full) };
	struct iovec there = { (void *)(uintptr_t)(graft_data(&hp->g) +
		                                   offsetof(struct sampler_data, full)),
		               sizeof(full) };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof(full) ? full : 0;
}

/* From now on nobody goes where he would have to be waited for: nothing is sampled, and no block is
 * taken for one that was. */
static void switch_off(const struct heap *hp, pid_t pid)
{
	static u8 filter[SAMPLER_FILTER]; /* constant, it would be 256 KB of the program's file */
	const u64 off = 0;

	write_data(pid, graft_data(&hp->g), &off, sizeof(off));
	write_data(pid, graft_data(&hp->g) + offsetof(struct sampler_data, filter), filter,
	           sizeof(filter));
}

/* While all run: to stop them meanwhile would only make it longer. Where a signal has stopped them
 * it would be in vain; graft_out() lets them run. */
static void wait_inside(const struct graft *g, pid_t pid)
{
	for (u32 i = 0; i < INSIDE_TRIES && graft_is_busy(g, pid) && hold_state(pid, pid) != 'T';
	     i++)
		nanosleep(&(struct timespec){ .tv_nsec = INSIDE_NS }, NULL);
}

bool heap_out(pid_t pid, u32 ms, struct heap_result *r, struct err *e)
{
	struct heap *hp = calloc(1, sizeof(*hp));
	struct graft_mark m;
	bool ok = true;

	if (!hp)
		base_no_memory();
	*r = (struct heap_result){ 0 };
	if (graft_find(&hp->g, &m, pid)) {
		r->full = full_so_far(hp, pid);
		switch_off(hp, pid);
		wait_inside(&hp->g, pid);
		ok = enter(hp, pid, go_out, ms, r, e);
	}
	free(hp);
	return ok;
}
