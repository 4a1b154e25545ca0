/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source lines and inlined functions of addresses, from DWARF.
 */
#ifndef SYM_LINES_H
#define SYM_LINES_H

#include "base/base.h"

struct lines;

/* One level of an address. Strings live until the next lines_find(). */
struct line_frame {
	const char *function; /* inlined here; NULL for the last: the function with a symbol */
	const char *file;     /* "" when not known */
	s32 line;
};

/* NULL when the file has no DWARF or the machine no libdw. */
struct lines *lines_open(const char *path);
/* NULL is fine. */
void lines_close(struct lines *l);
/* The frames of a virtual address, the innermost inlined function first, the function that all is
 * inlined into last. 0 when nothing is known. At most `max`, the outermost are kept. */
u32 lines_find(struct lines *l, u64 vaddr, bool demangled, struct line_frame *out, u32 max);

#endif
