/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the walk over a user stack knows between its steps: gen_unwind.c begins and ends it,
 * gen_unwind_step.c is the step. Only for these two.
 */
#ifndef GEN_UNWIND_H
#define GEN_UNWIND_H

#include "base/unwind.h"
#include "gen/emit.h"

/* The state, from the start of the program's piece of scratch memory on. */
enum {
	ST_PC,
	ST_SP = 8,
	ST_BP = 16,
	ST_BACK = 24, /* 1: pc is a return address, the call is before it */
	ST_LIMIT = 32,
	ST_FLAGS = 40,
	ST_SPAN = 48, /* the span of the last frame: start, size and bias, rows */
	ST_SIZE = ST_SPAN + 8,
	ST_BIAS = ST_SPAN + 12,
	ST_ROWS = ST_SPAN + 16,
	ST_SPANS = 72,     /* the process's list */
	ST_PAIR = 80,      /* two words just read */
	ST_RETURNS = 96,   /* the replaced return address that is next, 0: not looked for yet */
	ST_INSTANCE = 104, /* ... as read */
	ST_RUN_END = ST_INSTANCE + UNWIND_INSTANCE_MAX, /* of the search: see search() */
	ST_KEYS = ST_RUN_END + 8,                       /* of a chunk: the shelf's, its own */
	ST_FRAMES = ST_KEYS + 8,
	ST_END = ST_FRAMES + sizeof(struct ustack_value),
};

enum {
	FLAG_WHOLE = 1,
	FLAG_FP = 2,      /* a frame was found by the frame pointer */
	FLAG_UNKNOWN = 4, /* an address was in no span */
};

#define MOST_RETURNS    64 /* the kernel replaces no more: MAX_URETPROBE_DEPTH */
#define RETURNS_NO_MORE 1  /* in ST_RETURNS, where else an address is */

/* Where a member of a type of the kernel lies; false: it is not known. */
bool gen_unwind_member(const struct gen *g, const char *type, const char *name, s32 *off);

#endif
