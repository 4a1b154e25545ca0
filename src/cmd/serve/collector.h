/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A script or tool that runs all the time, in a memtap of its own (view/metrics_feed.h), so that
 * one that fails leaves the others alone. One that ended is started again, after a time that
 * doubles up to five minutes.
 */
#ifndef CMD_SERVE_COLLECTOR_H
#define CMD_SERVE_COLLECTOR_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "out/metrics.h"

/* What a file was when it was looked at: another one has another stamp. */
struct stamp {
	u64 device, inode, changed; /* ns of CLOCK_REALTIME */
};

struct collector {
	const char *name; /* the label: "faults", "reads" of /etc/memtap/reads.bt */
	char **words;     /* "faults" "-p" "3", and a NULL */
	u32 n_words;
	u32 max_series;       /* of each map */
	u32 restart;          /* seconds until it is started again, the first time */
	u32 idle;             /* seconds after which a series of it ends; 0 never */
	struct stamp version; /* of its file; zeros of a tool */
	/* What follows is how it fares. */
	bool paused; /* there is nothing to collect: it is not begun */
	pid_t pid;   /* 0: it does not run */
	int fd;      /* what it is asked over, -1 none */
	u64 starts;
	u64 next_start;    /* ms of CLOCK_MONOTONIC */
	u32 pause;         /* seconds before the last start, 0 the first one */
	u64 began;         /* ms */
	bool asked;        /* the answer has not come as a whole */
	bool late;         /* ... to the last page, for which it came too late */
	bool apart;        /* ... and is for collector_apart() */
	struct buf kept;   /* what came for that, with its head */
	struct buf answer; /* what came of it */
	u64 stackless;     /* the start in which it turned out to have no stacks */
	bool answered;     /* the page is in answer, after its head */
};

/* `text` is a tool or a file, with its options, the file's path beginning in `folder` unless with a
 * slash ("" or ending in one). False and *e: there is no such thing. */
bool collector_init(struct collector *c, struct arena *a, const char *folder, const char *text,
                    struct err *e);
/* Would both do the same, under one name? */
bool collector_same(const struct collector *a, const struct collector *b);
/* `to`, which has not begun, goes on as `from`, which then does not run. */
void collector_take(struct collector *to, struct collector *from);
/* Starts it when it is time. */
void collector_start(struct collector *c);
/* Milliseconds until it is, -1 when it runs. */
int collector_wait(const struct collector *c);
/* To be called when a child may have ended. */
void collector_reap(struct collector *c);
/* Asks all for their pages of a form, or what else enum feed_ask has, and waits for them, for at
 * most `ms`. */
void collectors_ask(struct collector *const *all, u32 n, u32 what, u32 ms);
/* The same of one, about a map with stacks: FEED_PROFILE and FEED_MARK. */
struct feed_about;
void collector_ask_about(struct collector *c, u32 what, const struct feed_about *about, u32 ms);
/* What the last collectors_ask() brought; empty when it came too late or it does not run. */
struct str collector_page(const struct collector *c);
/* Asks it without waiting, unless an earlier answer has not come or not been taken: what comes is
 * kept, whatever else it is asked meanwhile. */
void collector_ask_apart(struct collector *c, u32 what);
/* Is such an answer still to come? */
bool collector_owes(struct collector *c);
/* The one that has come, and is to be forgotten by collector_had(). */
struct str collector_apart(const struct collector *c);
void collector_had(struct collector *c);
/* Ends them. */
void collectors_stop(struct collector *const *all, u32 n);

#endif
