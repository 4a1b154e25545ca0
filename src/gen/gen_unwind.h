/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the walk over a user stack knows between its steps: gen_unwind.c begins and ends it,
 * gen_unwind_step.c is the step, gen_unwind_map.c finds mappings. Only for these.
 */
#ifndef GEN_UNWIND_H
#define GEN_UNWIND_H

#include "base/unwind.h"
#include "gen/emit.h"

#define UNWIND_NODE 256 /* bytes of a node of the tree of mappings */

/* The state, from the start of the program's piece of scratch memory on. */
enum {
	ST_PC,
	ST_SP = 8,
	ST_FP = 16,
	ST_BACK = 24, /* 1: pc is a return address, the call is before it */
	ST_LIMIT = 32,
	ST_FLAGS = 40,
	ST_SPAN = 48, /* the span of the last frame: start, size and bias, rows */
	ST_SIZE = ST_SPAN + 8,
	ST_BIAS = ST_SPAN + 12,
	ST_ROWS = ST_SPAN + 16,
	ST_FILE = ST_SPAN + 24,
	ST_DELTA = ST_SPAN + 28,
	ST_SPANS = 80,     /* the process's list, 0: it has none */
	ST_PAIR = 88,      /* two words just read */
	ST_RETURNS = 104,  /* the replaced return address that is next, 0: not looked for yet */
	ST_INSTANCE = 112, /* ... as read */
	ST_RUN_END = ST_INSTANCE + UNWIND_INSTANCE_MAX, /* of the search: see search() */
	ST_KEYS = ST_RUN_END + 8,                       /* of a chunk: the shelf's, its own */
	/* The mapping of an address, see gen_unwind_map.c. */
	ST_MM = ST_KEYS + 8,                             /* the address space */
	ST_ADDRESS = ST_MM + 8,                          /* what is looked for */
	ST_ENTRY = ST_ADDRESS + 8,                       /* of the tree */
	ST_LAST = ST_ENTRY + 8,                          /* bounds a node has */
	ST_BASE = ST_LAST + 8,                           /* address - offset in the file */
	ST_LIST = ST_BASE + 8,                           /* the file's spans */
	ST_MEET = ST_LIST + 8,                           /* struct unit_meet */
	ST_ID = ST_MEET + (s32)sizeof(struct unit_meet), /* struct unwind_key */
	ST_NODE = ST_ID + (s32)sizeof(struct unwind_key),
	ST_FRAMES = ST_NODE + UNWIND_NODE,
	ST_LINK = ST_FRAMES +
	          (s32)sizeof(struct ustack_value), /* a register, the innermost frame's */
	ST_END = ST_LINK + 8,
};

enum {
	FLAG_WHOLE = 1,
	FLAG_FP = 2,       /* a frame was found by the frame pointer */
	FLAG_UNKNOWN = 4,  /* an address was in no span, or in a file that is not known */
	FLAG_RAW = 8,      /* all frames are to be addresses */
	FLAG_ADDRESS = 16, /* a frame is an address */
	FLAG_FOUND = 32,   /* a span was found by the kernel's tree of mappings */
	FLAG_KERNEL = 64,  /* the kernel has walked, not we */
	FLAG_BOUND = 128,  /* the stack pointer is not below ST_SP, but where is not known */
};

#define MOST_RETURNS    64 /* the kernel replaces no more: MAX_URETPROBE_DEPTH */
#define RETURNS_NO_MORE 1  /* in ST_RETURNS, where else an address is */

/* A step's registers and where it can end. */
#define ST          R8 /* with the state's address */
#define CTX_OF_STEP R9 /* with what the kernel gave the callback, to give to another */
struct step {
	struct gen *g;
	struct code *c;
	u32 have_span, have_base, have_cfa, have_pair, saved, special, no_table, no_rule, by_fp,
		enough, whole, cut, again, unknown;
};

/* r0 = address of the chunk that the reference in r1 names; leaves to `fail`. */
void gen_unwind_chunk(struct step *s, u32 fail);
/*
 * r2 = address of the last entry of a sorted run whose key is not above r7. The reference is in
 * r1, its chunk at r6; `size` bytes an entry, the key at its start in `width` bytes.
 */
void gen_unwind_search(struct step *s, u32 entries, u32 size, u32 width);
/* flag is set; uses r1. */
void gen_unwind_flag(struct step *s, s32 flag);

/* ---- gen_unwind_map.c ---- */
/* The span of the address in r7 into the state; jumps to have_span or unknown. */
void gen_unwind_mapping(struct step *s);
/* The callback that goes down a node of the tree, after the program. */
void gen_unwind_map_step(struct gen *g);

#endif
