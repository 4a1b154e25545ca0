/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an allocator takes from memory for a request of so many bytes: its rounding and its
 * bookkeeping for each block. Pure; fragmentation and what an allocator keeps for later are not in
 * it. 64-bit machines.
 */
#ifndef AGG_ALLOC_H
#define AGG_ALLOC_H

#include "base/base.h"

enum alloc {
	ALLOC_NONE, /* the bytes themselves */
	/* chunks of 16 bytes with a header of 8; from 128 KiB on a mapping of its own */
	ALLOC_GLIBC,
	ALLOC_JEMALLOC, /* size classes, four for each power of two */
	ALLOCS,
};

/* Bytes taken for a block of n bytes; what n near 2^64 takes is 2^64 - 1. */
u64 alloc_bytes(enum alloc a, u64 n);
const char *alloc_name(enum alloc a);
/* ALLOCS when there is none called so. */
enum alloc alloc_find(const char *name);

#endif
