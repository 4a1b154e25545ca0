/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who has which part of the chunks: extents in units of 32 bytes (a span, or four rows).
 */
#ifndef RUN_UNWIND_MEMORY_H
#define RUN_UNWIND_MEMORY_H

#include "base/unwind.h"

#define UNWIND_UNIT        32u
#define UNWIND_CHUNK_UNITS (UNWIND_CHUNK / UNWIND_UNIT)

struct unwind_extent {
	u16 shelf, chunk;
	u16 first, n; /* units */
};

struct unwind_memory {
	struct unwind_extent *free;
	u32 n, cap;
	u64 free_units, all_units;
};

/* Adds chunks [0, n) of a shelf as free. */
void unwind_memory_add(struct unwind_memory *m, u32 shelf, u32 n);
/* `units` in one piece; false when there is no such piece. */
bool unwind_memory_whole(struct unwind_memory *m, u32 units, struct unwind_extent *out);
/* At most `units`, at least one: the first free extent or a part of it. */
bool unwind_memory_some(struct unwind_memory *m, u32 units, struct unwind_extent *out);
void unwind_memory_give(struct unwind_memory *m, struct unwind_extent e);
void unwind_memory_free(struct unwind_memory *m);

#endif
