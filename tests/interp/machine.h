/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the interpreter's files share. Programs see made-up addresses: each object has its own
 * range with nothing around it, so an access past its end never falls into another object.
 */
#ifndef INTERP_MACHINE_H
#define INTERP_MACHINE_H

#include "base/arena.h"
#include "base/buf.h"
#include "bpf/uapi.h"
#include "interp/interp.h"

#define STACK_BYTES  512u
#define STACKS_BYTES (8 * STACK_BYTES) /* the program's and those of callbacks, below each other */
#define STACK_BASE   0xffffc90000000000ull
#define CTX_BASE     0xffffc91000000000ull
#define MAP_BASE     0xffff888000000000ull /* handle of map m: MAP_BASE + m; not readable */
#define ONE_BASE     0xffff888100000000ull /* handle of the one generation there is of map m */
#define RING_BASE    0xffffd00000000000ull
#define RING_STEP    (1ull << 24)
#define VALUE_BASE   0xffffe80000000000ull /* values of map m from VALUE_BASE + m * VALUE_STEP */
#define VALUE_STEP   (1ull << 36)
#define VALUE_GAP    4096u
#define KEY_BASE     0xffffd80000000000ull /* keys of map m from KEY_BASE + m * KEY_STEP */
#define KEY_STEP     (1ull << 32)
#define FUNC_BASE    0xffffffff80000000ull /* the callback at instruction i: FUNC_BASE + i */
#define USER_LIMIT   (1ull << 47)

struct map_state {
	const struct umap *def;
	u8 *keys, *values; /* max_entries slots; values are `stride` apart in both worlds */
	bool *used;
	u32 n;
	u64 stride;
};

/* Memory that exists outside of the program. */
struct outside {
	u64 addr;
	const u8 *bytes;
	u32 n;
};

struct ring_slot {
	u8 *bytes;
	u32 size;
	enum { SLOT_RESERVED, SLOT_SUBMITTED, SLOT_DISCARDED } state;
};

struct interp {
	struct arena arena;
	const struct unit *u;
	struct interp_env env;
	struct map_state *maps;
	VEC(struct outside) outside;
	VEC(struct ring_slot) ring; /* since the last drain */
	u64 ring_used;
	struct buf trace; /* what trace_printk wrote, since the last drain */

	/* the run */
	const struct uprog *prog;
	u64 regs[11];
	u16 written; /* bit r: register r holds a value */
	u8 stack[STACKS_BYTES];
	bool stack_written[STACKS_BYTES];
	const u8 *ctx;
	u32 ctx_size;
	u32 pc;
	u64 steps;
	bool failed;
	struct err *e;
};

/* Records the first failure of the run; returns NULL for `return fail(...)`. */
void *machine_fail(struct interp *in, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Runs the callback with r1-r4 as given; r0 is its result and r6-r10 are as before. */
u64 machine_callback(struct interp *in, u64 func, const u64 *args);

/* ---- machine_memory.c ---- */
/* The bytes at an address of the program's own objects; fails the run when they are not all
 * there or, on the stack, not written yet. */
const u8 *memory_read(struct interp *in, u64 addr, u64 n);
/* The same for writing; stack bytes count as written. */
u8 *memory_write(struct interp *in, u64 addr, u64 n);
/* Any memory, for probe_read: NULL when it can not be read. Does not fail the run. */
const u8 *memory_peek(struct interp *in, u64 addr, u64 n);
/* Loads and stores of instructions: also checks the alignment on the stack. */
bool memory_load(struct interp *in, u64 addr, u32 size, u64 *value);
bool memory_store(struct interp *in, u64 addr, u32 size, u64 value);

/* ---- machine_map.c ---- */
void map_state_init(struct interp *in, u32 map);
/* The map that a handle names; fails the run when it is none. */
struct map_state *map_of(struct interp *in, u64 handle);
/* True of the handle of a map of two generations, which is a map of maps. Nobody turns them over
 * here: one is enough. */
bool map_is_pair(const struct interp *in, u64 handle);
/* Slot of the key, -1 when absent. */
s64 map_slot(const struct map_state *m, const u8 *key);
u64 map_value_addr(const struct interp *in, const struct map_state *m, u32 slot);
u8 *map_value_at(const struct map_state *m, u32 slot);
/* 0 or a negative errno, as the kernel's helpers return. */
s64 map_update(struct map_state *m, const u8 *key, const u8 *value, u64 flags);
s64 map_delete(struct map_state *m, const u8 *key);
void map_clear(struct map_state *m, bool keep_keys);

/* ---- machine_helper.c ---- */
/* Calls helper `id` with r1-r5; sets r0. */
void helper_call(struct interp *in, u32 id);

#endif
