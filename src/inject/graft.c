/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order is what makes it safe: first everything is made here, then it is looked where threads
 * stand on the bytes that change, and only then the process is touched, whose room refuses or takes
 * all of it.
 *
 * Nobody has to be waited for but in the head. An instruction that was moved is the same one at
 * both places, and from a function's code that comes before them, which has changed no argument and
 * nothing on the stack, its entry is as good. Where a slot came from is written at its end, for who
 * did not make it. Stale frames of signals lie on stacks for good: to change them changes nothing.
 */
#include "inject/graft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/move.h"
#include "base/clock.h"
#include "inject/there.h"
#include "read/procmaps.h"
#include "read/procstat.h"

#define GRAFT_MOST  ((u64)1 << 30) /* bytes of code, or of data */
#define MOMENTS     12u
#define MOMENT_MS   1u /* the first, then twice as long each time */
#define MOMENT_MOST 64u
#define LOOK_NS     100000 /* between two looks whether it may end */

/* The last bytes of a slot. */
struct note {
	u64 entry; /* in the process */
	u32 moved; /* bytes of the slot before the moved instructions */
	struct hook_steps steps;
};

/* Bytes from the start of the code to a function's. */
static u64 slot(const struct graft *g, u32 i)
{
	return ROUND_UP(g->head_size, 64) + (u64)i * GRAFT_SLOT;
}

void graft_init(struct graft *g)
{
	g->room.code_size = ROUND_UP(slot(g, g->n), (u64)arch_page());
	g->room.data_size = g->data_size;
	g->code = calloc(1, g->room.code_size);
	g->pages = calloc(ROOM_PAGES, arch_page());
	if (!g->code || !g->pages)
		base_no_memory();
	g->room.code = g->code;
	if (g->head)
		memcpy(g->code, g->head, g->head_size);
}

void graft_free(struct graft *g)
{
	free(g->code);
	free(g->pages);
	g->code = g->pages = NULL;
}

u64 graft_data(const struct graft *g)
{
	return g->room.at + room_size(&g->room) - g->data_size;
}

/* ---- in ------------------------------------------------------------------------------------- */

/* Sorted by address. */
static bool add_page(struct graft *g, u64 at, struct err *e)
{
	struct room *r = &g->room;
	u32 i = 0;

	while (i < r->n_pages && r->pages[i].at < at)
		i++;
	if (i < r->n_pages && r->pages[i].at == at)
		return true;
	if (r->n_pages == ROOM_PAGES)
		return err_set(e, "the functions lie in more than %u pages", ROOM_PAGES);
	memmove(&r->pages[i + 1], &r->pages[i], (r->n_pages++ - i) * sizeof(r->pages[0]));
	r->pages[i].at = at;
	return true;
}

static u64 entry_of(const struct hook *h)
{
	return h->bias + h->entry;
}

static u64 page_of(u64 at)
{
	return at & ~((u64)arch_page() - 1);
}

/* A function whose jump lies in that page, all or in part. */
static const struct hook *hook_in(const struct graft *g, u64 page)
{
	u32 i = 0;

	while (page_of(entry_of(&g->hooks[i])) != page &&
	       page_of(entry_of(&g->hooks[i]) + MOVE_JUMP - 1) != page)
		i++;
	return &g->hooks[i];
}

static bool read_page(struct graft *g, u32 i, struct hold *h, struct err *e)
{
	struct room_page *p = &g->room.pages[i];
	const struct hook *hook = hook_in(g, p->at);
	u8 *bytes = g->pages + (u64)i * arch_page();
	struct iovec here = { bytes, arch_page() };
	struct iovec there = { (void *)(uintptr_t)p->at, arch_page() };
	const char *why;

	p->bytes = bytes;
	if (process_vm_readv(h->pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len)
		return err_sys(e, errno, "process %d: code at %#llx", h->pid,
		               (unsigned long long)p->at);
	return hook_page_is_intact(hook, p->at, bytes, &why) ||
	       err_set(e, "process %d, %s: %s", h->pid, elf_path(hook->f), why);
}

static bool add_pages(struct graft *g, struct hold *h, struct err *e)
{
	bool ok = true;

	g->room.n_pages = 0;
	for (u32 i = 0; ok && i < g->n; i++) {
		u64 at = entry_of(&g->hooks[i]);

		ok = add_page(g, page_of(at), e) && add_page(g, page_of(at + MOVE_JUMP - 1), e);
	}
	for (u32 i = 0; ok && i < g->room.n_pages; i++)
		ok = read_page(g, i, h, e);
	return ok;
}

static bool make_slot(struct graft *g, u32 i, struct err *e)
{
	const struct hook *h = &g->hooks[i];
	u8 *out = g->code + slot(g, i);
	u64 at = g->room.at + slot(g, i);
	const char *why = "there is no room for its code";
	u32 entry = 0, n = g->emit(g->ctx, i, at, graft_data(g), out,
	                           GRAFT_SLOT - HOOK_MOVED - sizeof(struct note), &entry);
	struct note note = { entry_of(h), n, { 0 } };

	if (n && hook_move(g->d, h, at + n, out + n, &note.steps, &why)) {
		memcpy(out + GRAFT_SLOT - sizeof(note), &note, sizeof(note));
		why = "it is too far away";
		for (u32 k = 0; k < g->room.n_pages; k++)
			if (!hook_jump(h, at + entry, g->room.pages[k].at,
			               g->pages + (u64)k * arch_page()))
				n = 0;
		if (n)
			return true;
	}
	return err_set(e, "%s: the function at %#llx: %s", elf_path(h->f),
	               (unsigned long long)h->entry, why);
}

static struct note note_of(const struct graft *g, u32 i)
{
	struct note n;

	memcpy(&n, g->code + slot(g, i) + GRAFT_SLOT - sizeof(n), sizeof(n));
	n.steps.n = MIN(n.steps.n, HOOK_STEPS);
	return n;
}

/* Where in the slots who stands on an instruction that moves goes on; 0: there is no such place. */
static u64 moved_in(const struct graft *g, u64 ip)
{
	for (u32 i = 0; i < g->n; i++) {
		struct note n = note_of(g, i);

		for (u32 k = 0; k < n.steps.n; k++)
			if (n.entry + n.steps.from[k] == ip)
				return g->room.at + slot(g, i) + n.moved + n.steps.to[k];
	}
	return 0;
}

static u64 moved_out(const struct graft *g, u64 ip)
{
	u64 at = ip - g->room.at - slot(g, 0);
	struct note n;

	if (ip < g->room.at + slot(g, 0) || at / GRAFT_SLOT >= g->n)
		return 0;
	n = note_of(g, (u32)(at / GRAFT_SLOT));
	at %= GRAFT_SLOT;
	if (at < n.moved)
		return n.entry;
	for (u32 k = 0; k < n.steps.n; k++)
		if (at - n.moved == n.steps.to[k])
			return n.entry + n.steps.from[k];
	return 0;
}

typedef u64 moved_fn(const struct graft *g, u64 ip);

/* Who does not stand at an instruction that is at both places has to be waited for. */
static enum enter_end all_move(const struct graft *g, const struct hold *h, struct there *t,
                               moved_fn *moved, struct err *e)
{
	for (u32 i = 0; i < t->n; i++) {
		t->v[i].ip = moved(g, t->v[i].ip);
		if (t->v[i].ip)
			continue;
		err_set(e, "thread %d of process %d stays in code that changes",
		        h->v[t->v[i].thread].tid, h->pid);
		return ENTER_LATER;
	}
	return ENTER_DONE;
}

/* Who stands on an instruction that moves, the first one aside, which is a jump then. */
static enum enter_end who_is_on(const struct graft *g, struct hold *h, struct there *t,
                                struct err *e)
{
	struct there_code *v = calloc(g->n + 1, sizeof(*v));
	bool ok;

	if (!v)
		base_no_memory();
	for (u32 i = 0; i < g->n; i++) {
		v[i].start = entry_of(&g->hooks[i]) + 1;
		v[i].end = entry_of(&g->hooks[i]) + g->hooks[i].length;
	}
	ok = there_find(h, v, g->n, t, e);
	free(v);
	return ok ? all_move(g, h, t, moved_in, e) : ENTER_REFUSED;
}

static void place_head(struct graft *g)
{
	struct graft_mark m = {
		.magic = GRAFT_MAGIC,
		.at = g->room.at,
		.code_size = g->room.code_size,
		.data_size = g->room.data_size,
		.n_pages = g->room.n_pages,
		.head_size = g->head_size,
		.n = g->n,
		.inside = g->inside,
		.owner = (u64)getppid(), /* this is a process of its own (enter.c) */
	};

	if (!g->head)
		return;
	m.started = procstat_started((u32)m.owner);
	for (u32 i = 0; i < g->room.n_pages; i++)
		m.pages[i] = g->room.pages[i].at;
	memcpy(g->code + GRAFT_MARK, &m, sizeof(m));
	g->place(g->ctx, g->code, g->room.at, graft_data(g));
}

/* For a place that was found already, or else for one that is found now. */
static bool make_all(struct graft *g, struct hold *h, struct err *e)
{
	bool ok = add_pages(g, h, e);

	g->room.near = g->room.pages[0].at;
	ok = ok && (g->room.at || room_find(&g->room, h, e));
	if (ok)
		place_head(g);
	for (u32 i = 0; ok && i < g->n; i++)
		ok = make_slot(g, i, e);
	return ok;
}

void graft_rehearse(struct graft *g, pid_t pid, bool in)
{
	struct hold h = { .pid = pid };
	struct err e;

	if (in) {
		g->room.at = 0;
		if (!make_all(g, &h, &e))
			g->room.at = 0;
	}
	room_look(&g->room, &h, &e);
	arena_free(&h.arena);
}

enum enter_end graft_in(struct graft *g, struct hold *h, struct err *e)
{
	struct there t = { 0 };
	enum enter_end end = make_all(g, h, e) ? who_is_on(g, h, &t, e) : ENTER_REFUSED;

	if (end == ENTER_DONE && !(room_enter(&g->room, h, e) && there_set(h, &t, e)))
		end = e->code == EEXIST ? ENTER_LATER : ENTER_REFUSED;
	there_free(&t);
	return end;
}

/* ---- out ------------------------------------------------------------------------------------ */

/* The process can write what it likes: only what is whole is taken for one. */
static bool is_mark(const struct graft_mark *m, const struct procmap *p)
{
	u64 page = arch_page();
	bool ok = m->magic == GRAFT_MAGIC && m->at == p->start && m->code_size % page == 0 &&
	          m->code_size && m->data_size % page == 0 && m->n_pages <= ROOM_PAGES &&
	          m->code_size < GRAFT_MOST && m->data_size < GRAFT_MOST &&
	          m->n < GRAFT_MOST / GRAFT_SLOT && m->head_size < m->code_size &&
	          ROUND_UP(m->head_size, 64) + m->n * GRAFT_SLOT <= m->code_size &&
	          m->inside < m->data_size;

	for (u64 i = 0; ok && i < m->n_pages; i++)
		ok = m->pages[i] % page == 0;
	return ok;
}

bool graft_find(struct graft *g, struct graft_mark *m, pid_t pid)
{
	struct arena a = { 0 };
	struct procmaps maps;
	struct err e;
	bool found = false;

	*g = (struct graft){ 0 };
	if (!procmaps_read(&a, pid, &maps, &e))
		maps.n = 0;
	for (u32 i = 0; i < maps.n && !found; i++) {
		const struct procmap *p = &maps.v[i];
		struct iovec here = { m, sizeof(*m) };
		struct iovec there = { (void *)(uintptr_t)(p->start + GRAFT_MARK), sizeof(*m) };

		found = p->exec && !p->offset && strcmp(p->path, ROOM_FILE) == 0 &&
		        process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof(*m) &&
		        is_mark(m, p);
	}
	arena_free(&a);
	if (!found)
		return false;
	g->data_size = m->data_size;
	g->head_size = m->head_size;
	g->n = (u32)m->n;
	g->inside = m->inside;
	g->room = (struct room){ .at = m->at,
		                 .code_size = m->code_size,
		                 .data_size = m->data_size,
		                 .n_pages = (u32)m->n_pages };
	for (u64 i = 0; i < m->n_pages; i++)
		g->room.pages[i].at = m->pages[i];
	return true;
}

/* How many are in the head or come back there. */
static s64 count_inside(const struct graft *g, pid_t pid)
{
	s64 n = 0;
	struct iovec here = { &n, sizeof(n) };
	struct iovec there = { (void *)(uintptr_t)(graft_data(g) + g->inside), sizeof(n) };

	if (!g->inside || process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(n))
		return 0;
	return n;
}

bool graft_is_busy(const struct graft *g, pid_t pid)
{
	return count_inside(g, pid) > 0;
}

/* The slots' notes are in what the process has. */
static bool read_code(struct graft *g, pid_t pid)
{
	struct iovec here, there = { (void *)(uintptr_t)g->room.at, g->room.code_size };

	g->code = malloc(g->room.code_size);
	if (!g->code)
		base_no_memory();
	here = (struct iovec){ g->code, g->room.code_size };
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)g->room.code_size;
}

static enum enter_end nobody_is_in(const struct graft *g, struct hold *h, struct there *t,
                                   struct err *e)
{
	const struct there_code code = { g->room.at, g->room.at + room_size(&g->room) };

	if (count_inside(g, h->pid) > 0) {
		err_set(e, "process %d: a call that is sampled does not come back", h->pid);
		return ENTER_LATER;
	}
	if (!there_find(h, &code, 1, t, e))
		return ENTER_REFUSED;
	return all_move(g, h, t, moved_out, e);
}

/*
 * Ends once nobody is inside, where somebody was. Else it has to be long: threads that are woken
 * together wait for one another's turns on the processor, and one that is stopped again before its
 * own has come stands where it stood.
 */
static void moment(const struct graft *g, struct hold *h, u32 ms)
{
	u64 until = clock_ns(CLOCK_MONOTONIC) + (u64)ms * 1000000;
	bool busy = graft_is_busy(g, h->pid);

	hold_run_on(h);
	do {
		hold_keep_running(h);
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	} while (clock_ns(CLOCK_MONOTONIC) < until && graft_is_busy(g, h->pid) == busy);
}

static enum enter_end leave(const struct graft *g, struct hold *h, struct there *t, struct err *e)
{
	enum enter_end end = nobody_is_in(g, h, t, e);

	/* Threads that a signal has stopped come to nothing by themselves, however long they are
	 * waited for; they, and whoever they wait for, are let run for a moment. */
	for (u32 i = 0; i < MOMENTS && end == ENTER_LATER && hold_is_paused(h); i++) {
		there_free(t);
		moment(g, h, MIN(MOMENT_MS << i, MOMENT_MOST));
		end = hold_stand_again(h, e) ? nobody_is_in(g, h, t, e) : ENTER_REFUSED;
	}
	return end == ENTER_DONE && !(room_leave(&g->room, h, e) && there_set(h, t, e))
	               ? ENTER_REFUSED
	               : end;
}

enum enter_end graft_out(const struct graft *g, struct hold *h, struct err *e)
{
	struct graft found = *g;
	struct there t = { 0 };
	enum enter_end end = ENTER_REFUSED;

	if (read_code(&found, h->pid))
		end = leave(&found, h, &t, e);
	else
		err_sys(e, errno, "process %d: the code in it can not be read", h->pid);
	there_free(&t);
	free(found.code);
	return end;
}
