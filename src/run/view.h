/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Code of ours behind a script: it takes the script's records as they come and its maps at the
 * end, and prints what it makes of them. The script decides what is measured, the view what is
 * shown.
 */
#ifndef RUN_VIEW_H
#define RUN_VIEW_H

#include "base/buf.h"
#include "kern/live.h"

/* What a view is given. `out` is the session's output: what is added to it gets printed. */
struct view_of {
	const struct unit *unit;
	struct live *live;
	struct buf *out;
};

struct view {
	/* A record, `r` saying what is where in `bytes`. True: it is taken, and not printed.
	 * NULL: none is. */
	bool (*record)(void *ctx, const struct view_of *v, const struct urecord *r,
	               const u8 *bytes);
	/* All is detached and END has run: in place of printing the maps. NULL: they are printed. */
	bool (*end)(void *ctx, const struct view_of *v, struct err *e);
	void *ctx;
};

/* The map called so in the script ("@sizes"), -1 when it has none. */
s32 view_map(const struct view_of *v, const char *name);
/* Argument i of a record, a number. */
u64 view_number(const struct urecord *r, const u8 *bytes, u32 i);

#endif
