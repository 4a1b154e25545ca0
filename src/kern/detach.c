/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Detaching everything at once. Two waits inside the kernel are long and, taken one after the
 * other, would add up to seconds:
 *
 * Closing a link takes the program off its probe, then waits until no CPU can still be in it
 * (20 to 60 ms). Since Linux 6.13 waits that begin together end together, so the links are closed
 * by threads; before, those of user probes come one after the other.
 *
 * Closing a perf event then removes the probe itself, 4 ms for a tracepoint and 70 to 110 ms for
 * a user probe; these waits exclude each other, at process exit just as well. By then no
 * program runs any more, so the events are left to a process of its own that does nothing but
 * end: it inherits them, we close ours (which is quick while it holds them), and nobody waits.
 */
#include "kern/kern.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLOSERS      64
#define CLOSER_STACK (64 * 1024)

/* ---- events ---- */

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void close_span(u32 first, u32 last)
{
	if (first <= last)
		syscall(SYS_close_range, first, last, 0);
}

/* Nobody must wait for a pipe or a map that is still open here. Sorts `kept`. */
static void close_others(int *kept, u32 n)
{
	u32 next = 0;

	qsort(kept, n, sizeof(*kept), by_number);
	for (u32 i = 0; i < n; i++) {
		if (kept[i] > 0)
			close_span(next, (u32)kept[i] - 1);
		next = (u32)kept[i] + 1;
	}
	close_span(next, ~0u);
}

/* Holds the events until our end of the pipe is closed, so that ours are closed first. */
static void keep_until_closed(int *kept, u32 n, int pipe_end)
{
	char c;

	setsid();
	close_others(kept, n);
	while (read(pipe_end, &c, 1) > 0)
		;
}

/*
 * Makes the process that ends the events; kept[n] is room for one more descriptor. Returns the
 * descriptor to close when ours are closed, -1 when there is no such process (then closing is
 * slow but right). Its parent ends at once, so init reaps it.
 */
static int hand_over(int *kept, u32 n)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	kept[n] = ends[0];
	child = fork();
	if (child == 0) {
		if (fork() == 0)
			keep_until_closed(kept, n + 1, ends[0]);
		_exit(0);
	}
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return ends[1];
}

/* ---- links ---- */

struct closing {
	const struct handle *handles;
	u32 n, next; /* next: taken by whichever thread is free */
};

static void *close_links(void *arg)
{
	struct closing *c = arg;

	for (;;) {
		u32 i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED);

		if (i >= c->n)
			return NULL;
		if (c->handles[i].link >= 0) /* not yet by unwatch() */
			close(c->handles[i].link);
	}
}

/* This thread closes too, so it is done even when no thread can be made. */
static void close_links_together(const struct handle *handles, u32 n_handles)
{
	struct closing c = { handles, n_handles, 0 };
	pthread_t threads[CLOSERS];
	pthread_attr_t attr;
	u32 n = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, CLOSER_STACK);
	while (n + 1 < c.n && n < CLOSERS && !pthread_create(&threads[n], &attr, close_links, &c))
		n++;
	close_links(&c);
	for (u32 i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&attr);
}

void detach_all(struct live *l)
{
	u32 n = l->handles.n, n_events = 0;
	int *events = arena_array(&l->arena, int, n + 1);
	int holder = -1;

	l->clocks.n = 0;
	if (!n)
		return;
	for (u32 i = 0; i < n; i++)
		if (l->handles.v[i].event >= 0)
			events[n_events++] = l->handles.v[i].event;
	close_links_together(l->handles.v, n);
	if (n_events)
		holder = hand_over(events, n_events);
	for (u32 i = 0; i < n_events; i++)
		close(events[i]);
	if (holder >= 0)
		close(holder);
	l->handles.n = 0;
}

void detach_process(struct live *l, s32 pid)
{
	struct handle *own = arena_array(&l->arena, struct handle, l->handles.n + 1);
	u32 n = 0, kept = 0;

	for (u32 i = 0; i < l->handles.n; i++) {
		if (l->handles.v[i].pid == pid)
			own[n++] = l->handles.v[i];
		else
			l->handles.v[kept++] = l->handles.v[i];
	}
	l->handles.n = kept;
	close_links_together(own, n);
	for (u32 i = 0; i < n; i++)
		if (own[i].event >= 0)
			close(own[i].event);
}
