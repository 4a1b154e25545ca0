/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread's stack is looked through for frames of signals, from the stack pointer up to the end of
 * the mapping. A handler may run on a stack of its own: where the frame of a signal lies among its
 * words, it says how far that goes, and the stack that the signal came on is looked at as well.
 */
#include "inject/there.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file.h"
#include "read/procmaps.h"

#define DEEPEST ((u64)8 << 20)  /* bytes of a stack, as much as most may have */
#define PART    ((u64)64 << 10) /* bytes that are read in one go */
#define STACKS  8u              /* of a thread: nested handlers, each on another one */

struct look {
	struct hold *h;
	int fd; /* its maps, -1: not open */
	struct err e;
	const struct there_code *v;
	u32 n;
	struct there *found;
	u32 thread;
	u64 *words; /* PART bytes */
	/* Stacks of this thread that were or are to be looked at, each from where it is entered. */
	struct there_code stacks[STACKS];
	u32 n_stacks;
};

static bool is_in(const struct look *l, u64 address)
{
	for (u32 i = 0; i < l->n; i++)
		if (address - l->v[i].start < l->v[i].end - l->v[i].start)
			return true;
	return false;
}

static void add(struct look *l, u64 at, u64 ip)
{
	struct there *t = l->found;

	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 16;
		t->v = reallocarray(t->v, t->room, sizeof(*t->v));
		if (!t->v)
			base_no_memory();
	}
	t->v[t->n++] = (struct there_ip){ l->thread, at, ip };
}

/* The mapping that it is in; false when it is in none. */
static bool mapping_of(struct look *l, u64 addr, u64 *end)
{
	u64 start;
	int found = l->fd < 0 ? -1 : procmaps_ask(l->fd, addr, &start, end);
	const struct procmaps *maps = found < 0 ? hold_maps(l->h, &l->e) : NULL;
	const struct procmap *m = maps ? procmaps_find(maps, addr) : NULL;

	if (m)
		*end = m->end;
	return found > 0 || m;
}

/* False when there are too many. */
static bool add_stack(struct look *l, u64 sp)
{
	u64 end;

	for (u32 i = 0; i < l->n_stacks; i++)
		if (sp >= l->stacks[i].start && sp < l->stacks[i].end)
			return true;
	if (!mapping_of(l, sp, &end))
		return true; /* no frame of a signal then */
	if (l->n_stacks == STACKS)
		return false;
	sp &= ~(u64)15;
	l->stacks[l->n_stacks++] = (struct there_code){ sp, MIN(end, sp + DEEPEST) };
	return true;
}

/* The n words at `at`. False when there are too many stacks. */
static bool look_at_words(struct look *l, struct there_code *stack, size_t n, u64 at)
{
	struct thread_signaled s;
	size_t i = 0;

	while ((i += thread_find_signaled(l->words + i, n - i, &s)) < n) {
		u64 frame = at + 8 * i;

		if (is_in(l, s.ip))
			add(l, frame + s.ip_offset, s.ip);
		if (frame - s.stack < s.stack_size)
			stack->end = MIN(stack->end, s.stack + s.stack_size);
		if (!add_stack(l, s.sp))
			return false;
		i += 2;
	}
	return true;
}

/* In pieces that overlap by the longest frame. */
static bool look_at(struct look *l, struct there_code *stack)
{
	u64 at = stack->start;

	while (at < stack->end) {
		struct iovec here = { l->words, MIN(stack->end - at, PART) };
		struct iovec there = { (void *)(uintptr_t)at, here.iov_len };

		if (process_vm_readv(l->h->pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len ||
		    !look_at_words(l, stack, here.iov_len / 8, at))
			return false;
		at += here.iov_len < PART ? PART : PART - 8 * THREAD_SIGNALED;
	}
	return true;
}

static bool look_at_thread(struct look *l, const struct hold_thread *t)
{
	bool ok;

	if (is_in(l, thread_ip(&t->regs)))
		add(l, 0, thread_ip(&t->regs));
	l->n_stacks = 0;
	ok = add_stack(l, thread_sp(&t->regs)) && l->n_stacks;
	for (u32 i = 0; ok && i < l->n_stacks; i++)
		ok = look_at(l, &l->stacks[i]);
	return ok;
}

bool there_find(struct hold *h, const struct there_code *v, u32 n, struct there *t, struct err *e)
{
	struct look l = { .h = h, .v = v, .n = n, .found = t, .words = malloc(PART) };
	char path[64];
	bool ok = true;

	*t = (struct there){ 0 };
	if (!l.words)
		base_no_memory();
	snprintf(path, sizeof(path), "/proc/%d/maps", h->pid);
	l.fd = file_open(path, &l.e);
	for (u32 i = 0; ok && i < h->n; i++) {
		l.thread = i;
		ok = look_at_thread(&l, &h->v[i]) ||
		     err_set(e, "the stack of thread %d of process %d can not be read", h->v[i].tid,
		             h->pid);
	}
	if (l.fd >= 0)
		close(l.fd);
	free(l.words);
	return ok;
}

bool there_set(struct hold *h, const struct there *t, struct err *e)
{
	for (u32 i = 0; i < t->n; i++) {
		const struct there_ip *p = &t->v[i];
		struct iovec here = { base_plain(&p->ip), sizeof(p->ip) };
		struct iovec there = { (void *)(uintptr_t)p->at, sizeof(p->ip) };

		if (!p->at)
			hold_go_on_at(h, p->thread, p->ip);
		else if (process_vm_writev(h->pid, &here, 1, &there, 1, 0) !=
		         (ssize_t)sizeof(p->ip))
			return err_sys(e, errno, "process %d: its stack can not be written",
			               h->pid);
	}
	return true;
}

void there_free(struct there *t)
{
	free(t->v);
	*t = (struct there){ 0 };
}
