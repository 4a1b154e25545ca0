/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Code of ours that shows what a script measures: it takes the script's records as they come and
 * its maps at the end, and prints what it makes of them. The script decides what is measured, the
 * view what is shown.
 */
#ifndef RUN_VIEW_H
#define RUN_VIEW_H

#include "agg/table.h"
#include "base/buf.h"
#include "kern/live.h"

struct events;

/* What a view is given. `out` is the session's output: what is added to it gets printed. */
struct view_of {
	const struct unit *unit;
	struct live *live;
	struct buf *out;
	struct events *events;
};

struct view {
	/* BEGIN has run, and what it sent was handed on; probes are not attached yet. False and *e
	 * ends the session. May be NULL. */
	bool (*start)(void *ctx, const struct view_of *v, struct err *e);
	/* A record, `r` saying what is where in `bytes`, which may end with its last string or
	 * buffer. True: it is taken, and not printed. NULL: none is. */
	bool (*record)(void *ctx, const struct view_of *v, const struct urecord *r,
	               const u8 *bytes);
	/* All is detached and END has run: in place of printing the maps. NULL: they are
	 * printed. */
	bool (*end)(void *ctx, const struct view_of *v, struct err *e);
	/* Called when CLOCK_MONOTONIC, in nanoseconds, has come to what `when` said last. Both
	 * NULL: never. */
	u64 (*when)(void *ctx);
	void (*tick)(void *ctx, const struct view_of *v);
	/* Called when there is something to be read from `fd`, -1 none; NULL: never. */
	void (*input)(void *ctx, const struct view_of *v);
	/* A line of JSON of what is shown, for a report, after the end. May be NULL. */
	void (*report)(void *ctx, const struct view_of *v, struct buf *lines);
	int fd;
	u64 rights; /* CAPS() it needs once probes are attached, besides the session's own */
	void *ctx;
};

/* The map called so in the script ("@sizes"), -1 when it has none. */
s32 view_map(const struct view_of *v, const char *name);
/* The rows of a map of the script; none when it has no such map. */
bool view_map_read(const struct view_of *v, const char *name, struct arena *a, struct table *t,
                   struct err *e);
/* Argument i of a record, a number. */
u64 view_number(const struct urecord *r, const u8 *bytes, u32 i);
/* The argument of that name in a record whose arguments have names; NULL when it has none. */
const struct field *view_field(const struct urecord *r, const char *name);
/* Ends the session with that code, as exit() in the script does. */
void view_exit(const struct view_of *v, int code);
/* Sets an element of a script's map; key NULL: of a map without keys. Both are in the map's own
 * form. False when there is no such map, or no room in it. */
bool view_map_set(const struct view_of *v, const char *name, const void *key, const void *value);
/* False when it was not there. */
bool view_map_delete(const struct view_of *v, const char *name, const void *key);
/* Events so far that found no room in the ring, or no memory, or no time at the end. */
u64 view_lost(const struct view_of *v);
/* Around what may wait for others, as a server's answer: system calls in between are interrupted
 * soon after the user wants an end (EINTR). */
void view_wait(const struct view_of *v);
void view_waited(const struct view_of *v);
/* No stack is named for some time: what is kept for it goes. */
void view_rest(const struct view_of *v);
/* Says something to the user, after the output so far. */
void view_say(const struct view_of *v, const char *text);

#endif
