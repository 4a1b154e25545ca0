/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread's stack is looked through for frames of signals, from the stack pointer up to the end of
 * the mapping. A handler may run on a stack of its own: where the frame of a signal lies among its
 * words, it says how far that goes, and the stack that the signal came on is looked at as well.
 */
#include "inject/there.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "read/procmaps.h"

#define DEEPEST ((u64)8 << 20)  /* bytes of a stack, as much as most may have */
#define PART    ((u64)64 << 10) /* bytes that are read in one go */
#define STACKS  8u              /* of a thread: nested handlers, each on another one */

struct look {
	const struct hold *h;
	const struct procmaps *maps;
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

/* False when there are too many. */
static bool add_stack(struct look *l, u64 sp)
{
	const struct procmap *m = procmaps_find(l->maps, sp);

	if (!m)
		return true; /* no frame of a signal then */
	for (u32 i = 0; i < l->n_stacks; i++)
		if (sp >= l->stacks[i].start && sp < l->stacks[i].end)
			return true;
	if (l->n_stacks == STACKS)
		return false;
	sp = ROUND_UP(sp, 8);
	l->stacks[l->n_stacks++] = (struct there_code){ sp, MIN(m->end, sp + DEEPEST) };
	return true;
}

/* The first of n words, which is at `at`. False when there are too many stacks. */
static bool look_at_word(struct look *l, struct there_code *stack, const u64 *words, size_t n,
                         u64 at)
{
	struct thread_signaled s;

	if (!thread_was_signaled(words, n, &s))
		return true;
	if (is_in(l, s.ip))
		add(l, at + s.ip_offset, s.ip);
	if (at - s.stack < s.stack_size)
		stack->end = MIN(stack->end, s.stack + s.stack_size);
	return add_stack(l, s.sp);
}

/* In pieces that overlap by the longest frame. */
static bool look_at(struct look *l, struct there_code *stack)
{
	u64 at = stack->start;
	bool whole = false;

	while (!whole && at < stack->end) {
		struct iovec here = { l->words, MIN(stack->end - at, PART) };
		struct iovec there = { (void *)(uintptr_t)at, here.iov_len };
		size_t n = here.iov_len / 8, looked;

		if (process_vm_readv(l->h->pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len)
			return false;
		whole = at + here.iov_len >= stack->end;
		looked = whole ? n : n - THREAD_SIGNALED;
		for (size_t i = 0; i < looked; i++)
			if (!look_at_word(l, stack, l->words + i, n - i, at + 8 * i))
				return false;
		at += 8 * looked;
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
	struct look l = {
		.h = h, .maps = hold_maps(h, e), .v = v, .n = n, .found = t, .words = malloc(PART)
	};
	bool ok = l.maps;

	*t = (struct there){ 0 };
	if (!l.words)
		base_no_memory();
	for (u32 i = 0; ok && i < h->n; i++) {
		l.thread = i;
		ok = look_at_thread(&l, &h->v[i]) ||
		     err_set(e, "the stack of thread %d of process %d can not be read", h->v[i].tid,
		             h->pid);
	}
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
