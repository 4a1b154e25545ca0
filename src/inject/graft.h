/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of files that a process has mapped, hooked together: what runs at their entries,
 * in a room of the process, put in and taken out while it stands still (enter.h).
 */
#ifndef INJECT_GRAFT_H
#define INJECT_GRAFT_H

#include "inject/enter.h"
#include "inject/hook.h"
#include "inject/room.h"

#define GRAFT_SLOT 512u /* bytes of code for each function */

/* What is in a process that has one, at GRAFT_MARK bytes from the start of its code: with it,
 * anybody can take it out. */
#define GRAFT_MARK  0x200u
#define GRAFT_MAGIC 0x327061746d656d7fULL /* "\x7fmemtap2" */

struct graft_mark {
	u64 magic, at, code_size, data_size;
	u64 owner, started; /* the process that put it in, and its start (/proc/PID/stat) */
	u64 head_size, n, inside;
	u64 n_pages, pages[ROOM_PAGES];
};

/*
 * Writes what is to happen when function i is called, for address `at`, with the data at `data`;
 * control comes *entry bytes (0 before) after that, and reaches its end with all registers and the
 * stack as they were, but for flags and what no argument is passed in. Bytes written, at most
 * `room`; 0 when they do not fit. It calls nothing, and a thread that is in it may be taken back to
 * the function's entry.
 */
typedef u32 graft_emit(void *ctx, u32 i, u64 at, u64 data, u8 *out, u32 room, u32 *entry);
/* Finishes the head, which is for address `at`. */
typedef void graft_place(void *ctx, u8 *head, u64 at, u64 data);

struct graft {
	/* In. */
	const struct insn_decoder *d;
	struct hook *hooks; /* looked at (hook_look()), all with a length */
	u32 n;
	graft_emit *emit;
	/* What is put in in front of the functions' code: a file of ELF, whose bytes from
	 * GRAFT_MARK on are free. NULL: nothing, and no mark. */
	const u8 *head;
	u64 head_size;
	graft_place *place;
	void *ctx;     /* of emit and place */
	u64 data_size; /* whole pages */
	/* How many bytes from the start of the data it is counted how many threads are in the head
	 * or come back there. 0: calls nothing, and none stays in there. */
	u64 inside;
	/* Out, from graft_in(): for graft_out() and for who reads the data. */
	struct room room;
	u8 *code, *pages;
};

/* Memory for the code; graft_free() gives it back. */
void graft_init(struct graft *g);
void graft_free(struct graft *g);
/* Where the data are in the process. */
u64 graft_data(const struct graft *g);
/* Whether the process has one that has a mark, which is all that graft_out() needs of it. */
bool graft_find(struct graft *g, struct graft_mark *m, pid_t pid);
/* What graft_in(), or graft_out(), does before it changes anything, in a process that runs: then
 * that takes less time. */
void graft_rehearse(struct graft *g, pid_t pid, bool in);
/* Whether a thread is in the head or comes back there, seen while they run. */
bool graft_is_busy(const struct graft *g, pid_t pid);
/* Both are for what enter_process() calls. Nothing is changed unless they end with ENTER_DONE;
 * ENTER_LATER when a thread is where it must not be. Who stands on what changes goes on at the
 * other place. */
enum enter_end graft_in(struct graft *g, struct hold *h, struct err *e);
enum enter_end graft_out(const struct graft *g, struct hold *h, struct err *e);

#endif
