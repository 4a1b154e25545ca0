/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Room for code and data in another process, which stands still meanwhile: a file in memory that
 * is mapped there, and memory that a child of the process finds empty.
 *
 *      at                     at + code                 at + code + pages             at + size
 *      | code (memfd)         | the process's own pages, |  data (zeros; again zeros   |
 *      |                      | while copies stand for   |  in a child)                |
 *      |                      | them (stand-ins)         |                             |
 */
#ifndef INJECT_ROOM_H
#define INJECT_ROOM_H

#include "inject/hold.h"
#include "read/procmaps.h"

#define ROOM_PAGES 24u /* of the process's own that are replaced, at most */
#define ROOM_FILE  PROCMAPS_COPIES

/* A page of the process's code and what stands in its place. */
struct room_page {
	u64 at;
	const u8 *bytes;
};

struct room {
	/* In. */
	u64 near;                 /* all of it within 2 GiB of this, with an eighth to spare */
	const u8 *code;           /* code_size bytes, whole pages */
	u64 code_size, data_size; /* whole pages */
	struct room_page pages[ROOM_PAGES]; /* those that follow one another in this order */
	u32 n_pages;
	/* Out. */
	u64 at;
	/* Seen by room_look(): the instruction for calls, 0: not looked for, and how many mappings
	 * there are. */
	u64 call_at;
	u32 n_maps;
};

/* Bytes of the whole. */
u64 room_size(const struct room *r);
/* Finds a place and sets r->at: what the code is made for. False and *e when there is none. */
bool room_find(struct room *r, struct hold *h, struct err *e);
/* What the two below would look for while the process stands still, of one that runs. */
bool room_look(struct room *r, struct hold *h, struct err *e);
/* Puts all of it in. False and *e: then nothing is left of it in the process; EEXIST when there is
 * something else by now. */
bool room_enter(struct room *r, struct hold *h, struct err *e);
/* Takes it out. Nothing may be in use (room_in_use()). False and *e when the process refuses. */
bool room_leave(const struct room *r, struct hold *h, struct err *e);
#endif
