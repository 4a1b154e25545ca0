/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The few instructions at a function of an allocator that run at each of its calls: bytes are
 * counted down on a counter of this CPU, or it is looked whether a block may be one that was
 * sampled. What is to happen then is elsewhere.
 */
#ifndef ARCH_STUB_H
#define ARCH_STUB_H

#include "base/base.h"

/* What is skipped: neither counted nor looked at. */
enum stub_skip {
	STUB_SKIPS_NONE,
	STUB_SKIPS_NULL,  /* first argument 0 */
	STUB_SKIPS_SMALL, /* first argument at most STUB_SMALL */
};

#define STUB_SMALL 16u

struct stub {
	/* The bytes: argument `size` from 0 on, times argument 1 where `product`; `counts` false:
	 * none. */
	bool counts, product;
	u8 size;
	bool looks; /* whether a byte of the filter at the first argument >> near is not 0 */
	enum stub_skip skip;
	u64 counters, filter; /* addresses in the process */
	u32 shift;            /* 1 << shift bytes from a CPU's counter to the next one's */
	u8 near;              /* log2 of the bytes of addresses that share a byte of the filter */
	u32 cpus, bytes;      /* counters, and bytes of the filter: powers of 2 */
	/* Where the kernel keeps the number of a thread's CPU, from the thread pointer on, when
	 * `has_cpu`. */
	bool has_cpu;
	s32 cpu;
	u64 slow; /* goes there in place of on: sampler.c says with what */
};

/* Writes it for address `at`, to be entered *entry bytes later; control reaches its end with all
 * arguments and the stack as they were. Bytes written; 0 when there is no room, or `slow` is too
 * far. */
u32 stub_emit(const struct stub *s, u64 at, u8 *out, u32 room, u32 *entry);

#endif
