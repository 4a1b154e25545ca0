/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The code that samples a process's heap (sampler.c), put in and taken out.
 */
#ifndef INJECT_HEAP_H
#define INJECT_HEAP_H

#include "inject/graft.h"
#include "inject/sampler.h"

#define HEAP_FUNCTIONS  48u
#define HEAP_EVERY      ((u64)512 << 10)
#define HEAP_MOST       100u
#define HEAP_EVERY_MOST ((u64)1 << 32)

struct heap_function {
	const char *name;
	enum sampler_kind kind;
	bool must; /* without it nothing is right */
};

/* A process's allocator. */
struct heap_allocator {
	struct arena arena;
	struct elf *f; /* NULL: it has none, and maps memory by itself */
	u64 bias;
	const char *path;   /* in the process */
	struct elf *kernel; /* the file with mmap, where that is another one */
	u64 kernel_bias;
	/* What is redirected: function i and its hook. */
	struct heap_function functions[HEAP_FUNCTIONS];
	struct hook hooks[HEAP_FUNCTIONS];
	bool skips[HEAP_FUNCTIONS]; /* NULL, or small alignments: it passes them on to malloc */
	u32 n;
	struct sampler_inside inside[SAMPLER_INSIDE]; /* virtual addresses of the file */
	u32 n_inside;
	struct sampler_inside around[SAMPLER_AROUND]; /* in the process */
	u32 n_around;
	u64 nothrow[2];   /* entries, 0: there is none */
	const char *left; /* a function that is not counted, and why; NULL: none */
};

/* Finds the file that the process's malloc is in, and how its functions and mmap can be redirected.
 * False and *e where there is neither, or where one that matters can not be.
 * heap_allocator_close() either way. */
bool heap_allocator_find(struct heap_allocator *a, const struct insn_decoder *d, pid_t pid,
                         struct err *e);
void heap_allocator_close(struct heap_allocator *a);
/* Whether code of the process has probes otel_memory:alloc by itself. */
bool heap_is_producer(pid_t pid);

struct heap_result {
	u64 stopped_ns; /* the process stood still */
	u32 stops;
	u64 dev, inode; /* heap_in(): the file of the code, inode 0 when it is not known */
	u64 full;       /* heap_out(): samples for which there was no room */
};

/* Puts the code in: from then on it fires otel_memory:alloc and :free in the process, about once in
 * `every` bytes, and at most `most` times in a second on each CPU, 0: as often as that is. In at
 * most `ms` milliseconds, or false and *e. *left: a sentence on what is not counted, or "". */
bool heap_in(pid_t pid, u64 every, u32 most, u32 ms, struct heap_result *r, char left[256],
             struct err *e);
/* Whether the process has such code; *owner: who put it in, 0 when that process is gone. */
bool heap_is_in(pid_t pid, pid_t *owner);
/* Takes it out. True, too, when there is none. */
bool heap_out(pid_t pid, u32 ms, struct heap_result *r, struct err *e);

/* The numbers that the code is given, for a mean of so many bytes. */
void sampler_fill(struct sampler_params *p, u64 every);

#endif
