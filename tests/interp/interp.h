/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A BPF machine for tests: runs the programs of a unit over maps kept in ordinary memory, so
 * that what a script computes can be compared without a kernel. It is stricter than a CPU:
 * every access is bounds-checked against the object it points into, and stack bytes and
 * registers must be written before they are read, as the kernel's verifier demands.
 *
 * One CPU, no interrupts. Helpers that tell about the machine answer from struct interp_env.
 */
#ifndef INTERP_INTERP_H
#define INTERP_INTERP_H

#include "base/err.h"
#include "unit/unit.h"

/* What the helpers tell about the machine; the test may change it between runs. */
struct interp_env {
	u64 boot_ns; /* ktime_get_boot_ns; each call adds `tick_ns` */
	u64 tick_ns;
	u64 pid_tgid; /* tgid << 32 | tid */
	u64 uid_gid;  /* gid << 32 | uid */
	char comm[16];
	u64 cgroup;
	u64 task; /* address of the current task_struct */
	u32 cpu, node;
	u64 random; /* the next values follow from it */
	u64 jiffies;
	u64 cookie; /* get_attach_cookie */
	u64 func_ip;
	const u64 *args; /* get_func_arg */
	u32 n_args;
	u64 ret;                                /* get_func_ret */
	const u64 *user_frames, *kernel_frames; /* get_stack; NULL: it fails */
	u32 n_user_frames, n_kernel_frames;
	u32 ring_bytes; /* room in the ring; 0: no limit */
	int refuse; /* errno that updates of the script's maps with keys are refused with; 0 none */
	u64 max_steps; /* instructions one run may take */
};

struct interp_record {
	const u8 *bytes; /* as in the ring: struct urecord says what they are */
	u32 size;
};

struct interp;

/* The unit must outlive it. Maps start empty, array elements zero. */
struct interp *interp_new(const struct unit *u);
void interp_free(struct interp *in);
struct interp_env *interp_env(struct interp *in);

/* Makes bytes (copied) readable by the probe_read helpers at that address; user space below
 * 2^47, else kernel. */
void interp_memory(struct interp *in, u64 addr, const void *bytes, u32 n);

/* Runs program `prog` of the unit. False: it did something the kernel would not have let it do;
 * *e says what and at which instruction. */
bool interp_run(struct interp *in, u32 prog, const void *ctx, u32 ctx_size, struct err *e);
/* r0 at exit and instructions taken by the last run. */
u64 interp_result(const struct interp *in);
u64 interp_steps(const struct interp *in);

/* The value under a key, NULL when absent. Valid until the key is deleted. */
void *interp_find(struct interp *in, u32 map, const void *key);
/* All elements, in order of slots; cb returns false to stop. */
void interp_each(struct interp *in, u32 map,
                 bool (*cb)(void *ctx, const void *key, const void *value), void *ctx);
u32 interp_count(const struct interp *in, u32 map);
/* Puts an element in, as user space would. False when there is no room. */
bool interp_put(struct interp *in, u32 map, const void *key, const void *value);
/* Removes all elements, or with keep_keys (and in arrays) makes their values zero. */
void interp_clear(struct interp *in, u32 map, bool keep_keys);
/* One word of the data map. */
u64 interp_data(struct interp *in, u32 word);

/* Records submitted to the ring so far, oldest first; index from 0. */
u32 interp_n_records(const struct interp *in);
struct interp_record interp_record(const struct interp *in, u32 i);
/* The text that programs wrote to the kernel's trace. */
const char *interp_trace(struct interp *in);
/* Takes all records and the text out. */
void interp_drain(struct interp *in);

#endif
