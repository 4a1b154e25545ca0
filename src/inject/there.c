/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All words of a thread's stack are looked at, from the stack pointer up to the end of the mapping.
 * A handler may run on a stack of its own: where the frame of a signal lies among them, the stack
 * that the signal came on is looked at as well.
 */
#include "inject/there.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "read/procmaps.h"

#define DEEPEST ((u64)8 << 20) /* bytes of a stack, as much as most may have */
#define STACKS  8u             /* of a thread: nested handlers, each on another one */

struct look {
	const struct hold *h;
	const struct procmaps *maps;
	const struct there_code *v;
	u32 n;
	u64 *words; /* DEEPEST bytes */
	/* Stacks of this thread that were or are to be looked at, each by where it is entered. */
	u64 stacks[STACKS];
	u32 n_stacks;
};

static bool is_in(const struct look *l, u64 address)
{
	for (u32 i = 0; i < l->n; i++)
		if (address - l->v[i].start < l->v[i].end - l->v[i].start)
			return true;
	return false;
}

/* False when there are too many. */
static bool add_stack(struct look *l, u64 sp)
{
	const struct procmap *m = procmaps_find(l->maps, sp);

	if (!m)
		return true; /* no frame of a signal then */
	for (u32 i = 0; i < l->n_stacks; i++)
		if (procmaps_find(l->maps, l->stacks[i]) == m && l->stacks[i] <= sp)
			return true;
	if (l->n_stacks == STACKS)
		return false;
	l->stacks[l->n_stacks++] = sp;
	return true;
}

/* -1: can not be read; 1: an address is there. */
static int look_at(struct look *l, u64 sp)
{
	const struct procmap *m = procmaps_find(l->maps, sp);
	u64 ip, other, start = ROUND_UP(sp, 8);
	struct iovec here = { l->words, m ? MIN(m->end - start, DEEPEST) : 0 };
	struct iovec there = { (void *)(uintptr_t)start, here.iov_len };
	size_t n = here.iov_len / 8;

	if (!m || process_vm_readv(l->h->pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (is_in(l, l->words[i]))
			return 1;
		if (thread_was_signaled(l->words + i, n - i, &ip, &other) && !add_stack(l, other))
			return -1;
	}
	return 0;
}

static int look_at_thread(struct look *l, const struct hold_thread *t)
{
	int found = is_in(l, thread_ip(&t->regs));

	l->n_stacks = 0;
	if (!add_stack(l, thread_sp(&t->regs)) || !l->n_stacks)
		return -1;
	for (u32 i = 0; !found && i < l->n_stacks; i++)
		found = look_at(l, l->stacks[i]);
	return found;
}

pid_t there_who(struct hold *h, const struct there_code *v, u32 n, struct err *e)
{
	struct look l = {
		.h = h, .maps = hold_maps(h, e), .v = v, .n = n, .words = malloc(DEEPEST)
	};
	pid_t who = l.maps ? 0 : -1;

	if (!l.words)
		base_no_memory();
	for (u32 i = 0; !who && i < h->n; i++) {
		int found = look_at_thread(&l, &h->v[i]);

		who = found > 0 ? h->v[i].tid : found;
		if (found < 0)
			err_set(e, "the stack of thread %d of process %d can not be read",
			        h->v[i].tid, h->pid);
	}
	free(l.words);
	return who;
}
