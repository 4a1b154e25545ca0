/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A walk over a copied stack by unwind rows: the same steps as the program makes (gen_unwind.c).
 */
#ifndef SYM_UNWIND_WALK_H
#define SYM_UNWIND_WALK_H

#include "base/unwind.h"

struct unwind_stack {
	u64 pc, sp, fp;  /* of the innermost frame */
	u64 link;        /* its return address, where the machine has it in a register, else 0 */
	const u8 *bytes; /* a copy of the memory from `start` on */
	u64 start;
	size_t n;
	/* The rule for an address of code; false when it is in no table. */
	bool (*rule)(void *ctx, u64 pc, u32 *rule);
	void *ctx;
};

/* At most `max` addresses to ips, innermost first; returns how many. *whole: up to the outermost
 * frame. What lies outside of the copy ends it. */
u32 unwind_walk(const struct unwind_stack *s, u64 *ips, u32 max, bool *whole);

#endif
