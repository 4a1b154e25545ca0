/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What memtap and the code that it puts into processes (sampler.c) have in common: the
 * numbers that the code is given, and the data that it keeps there.
 */
#ifndef INJECT_SAMPLER_H
#define INJECT_SAMPLER_H

#include "base/base.h"

#define SAMPLER_CPUS      512u         /* counters; with more CPUs some share one */
#define SAMPLER_CPU_SHIFT 6u           /* each in a cache line of its own */
#define SAMPLER_FILTER    (1u << 18)   /* bytes, one for each 1 << near bytes of addresses */
#define SAMPLER_TABLE     (1u << 16)   /* sampled blocks that live, at most */
#define SAMPLER_MAPPINGS  (1u << 12)   /* sampled mappings, and what is left of them */
#define SAMPLER_ANYWHERE  63u          /* a log2 of bytes by which all addresses are one */
#define SAMPLER_INSIDE    48u          /* pieces of an allocator that call one another */
#define SAMPLER_AROUND    4u           /* pieces of code that make mappings for others */
#define SAMPLER_STEPS     256u         /* of the two curves below */
#define SAMPLER_SAVED     64u          /* samples that may come at once */
#define SAMPLER_SPARES    12u          /* doublings of the gaps, at most */
#define SAMPLER_VAIN      3u           /* of these so many by leaving out what came */
#define SAMPLER_SIZE      56u          /* bits of a block's size */
#define SAMPLER_NEVER     (1ULL << 62) /* bytes until a sample where none is wanted */

/* How a function is told the size, and what becomes of it. */
enum sampler_kind {
	SAMPLER_SIZE_1,  /* malloc(size) */
	SAMPLER_SIZE_2,  /* memalign(alignment, size) */
	SAMPLER_SIZE_3,  /* posix_memalign(&result, alignment, size) */
	SAMPLER_PRODUCT, /* calloc(n, size) */
	SAMPLER_REALLOC, /* realloc(block, size) */
	SAMPLER_FREE,    /* free(block) */
	/* operator new, which throws: with a frame below it that no unwinder knows the program
	 * would end, so another function that does not throw is called in its place. */
	SAMPLER_NEW,
	SAMPLER_NEW_ALIGNED,
	/* Memory from the kernel, where no allocator asks for it. */
	SAMPLER_MAP,   /* mmap(at, size, protection, flags, ...) */
	SAMPLER_REMAP, /* mremap(block, old size, size, ...) */
	SAMPLER_UNMAP, /* munmap(block, size) */
	N_SAMPLER_KINDS,
};

/* Which argument is the size, from 0; of SAMPLER_PRODUCT the first of two. */
static inline u32 sampler_size_argument(enum sampler_kind kind)
{
	switch (kind) {
	case SAMPLER_SIZE_2:
	case SAMPLER_REALLOC:
	case SAMPLER_MAP:
		return 1;
	case SAMPLER_SIZE_3:
	case SAMPLER_REMAP:
		return 2;
	default:
		return 0;
	}
}

/* Addresses [start, end): a call from there is part of another one. */
struct sampler_inside {
	u64 start, end;
};

/* Read only in the process. */
struct sampler_params {
	u64 data;       /* where struct sampler_data is */
	u64 every;      /* bytes, the mean of the gaps */
	u64 nothrow[2]; /* what is called for SAMPLER_NEW, SAMPLER_NEW_ALIGNED */
	u64 page;       /* bytes of one */
	u64 near;       /* log2 of the bytes of addresses that share a byte of the filter */
	u64 apart;      /* cycles between two samples of a CPU, on average at least; 0: none */
	struct sampler_inside inside[SAMPLER_INSIDE];
	/* Whose mappings are counted as what is allocated in them, or are of the C library. */
	struct sampler_inside around[SAMPLER_AROUND];
	/* log2(1 + i / SAMPLER_STEPS), 24 bits of fraction. */
	u32 log2[SAMPLER_STEPS + 1];
	/* x / (1 - exp(-x)) of x = i / 16, 24 bits of fraction: what x means stand for. */
	u32 weight[SAMPLER_STEPS + 1];
};

struct sampler_cpu {
	u64 left; /* bytes until the next sample */
	u64 random;
	u64 last, saved; /* cycles: when the last one came, and how many may be used */
	u64 longer;      /* how often this gap's mean is `every` doubled */
	u64 unused[3];
};

struct sampler_entry {
	u64 block, size; /* above SAMPLER_SIZE how often its gap's mean was doubled */
};

/* All or a piece of what was sampled. */
struct sampler_mapping {
	u64 block, size;
	u64 each; /* bytes that one of them stands for, 16 bits of fraction */
};

/* Zeros in a child of the process: the code does nothing then. */
struct sampler_data {
	u64 on;
	u64 full;   /* samples for which there was no room */
	u64 inside; /* threads between a thunk's first instruction and its last */
	u64 mapped; /* of `mappings` so many were ever used, from the first on */
	u64 unused[4];
	struct sampler_cpu cpus[SAMPLER_CPUS];
	u8 filter[SAMPLER_FILTER]; /* how many sampled blocks begin there; the first: once more, for
	                            * all mappings together */
	struct sampler_entry table[SAMPLER_TABLE];
	struct sampler_mapping mappings[SAMPLER_MAPPINGS];
};

/* sampler.c, linked, packed by scripts/pack: a gzip stream, its bytes, and those of the ELF file, 0
 * on a machine that it is not for. */
extern const unsigned char packed_sampler[];
extern const unsigned packed_sampler_size, packed_sampler_text;

#endif
