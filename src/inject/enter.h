/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Going into a process: stopping it, doing something there, letting it go, again and again until
 * it could be done.
 */
#ifndef INJECT_ENTER_H
#define INJECT_ENTER_H

#include "inject/hold.h"

enum enter_end {
	ENTER_DONE,
	ENTER_LATER,   /* nothing was done; a moment later it may be possible */
	ENTER_REFUSED, /* nothing was done, and never will be */
};

/*
 * What is done in a process that stands still. It runs in a process of its own: of what it writes,
 * `ctx`, plain bytes, is all that comes back. *e for all but ENTER_DONE.
 */
typedef enum enter_end enter_fn(struct hold *h, void *ctx, struct err *e);

struct enter {
	pid_t pid;
	enter_fn *fn;
	/* While it still runs, in the same process of ours: what fn finds in memory then costs less
	 * time. NULL: nothing. */
	void (*before)(void *ctx, pid_t pid);
	void *ctx;
	size_t size; /* bytes of *ctx */
	u32 ms;      /* for how long it is tried */
	/* Out: nanoseconds that the process stood still in all, and how often. */
	u64 stopped_ns;
	u32 stops;
};

/* False and *e when it is refused, or could not be done in time. */
bool enter_process(struct enter *n, struct err *e);
/* Whether there is anything against it that can be seen from outside. */
bool enter_allowed(pid_t pid, struct err *e);

#endif
