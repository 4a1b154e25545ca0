/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The files that a process has code of, looked through for functions that give memory.
 */
#ifndef INJECT_HEAP_FILES_H
#define INJECT_HEAP_FILES_H

#include "inject/heap.h"
#include "read/procmaps.h"

#define HEAP_MAPPINGS 4u /* functions that heap_mappings_add() adds, at most */

/* The file is fn's to close or keep. False: no more of them. */
typedef bool heap_file_fn(void *ctx, struct elf *f, const struct procmap *m);

/* Every file, in the order of addresses. False and *e when the mappings can not be read. */
bool heap_each_file(struct arena *a, pid_t pid, heap_file_fn *fn, void *ctx, struct err *e);
bool heap_is_libc(struct elf *f);
/* Adds mmap and its relatives after the allocator's functions, as far as what they map for others
 * can be told from what they map for these. */
void heap_mappings_add(struct heap_allocator *a, pid_t pid);

#endif
