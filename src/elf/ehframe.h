/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Call frame information (.eh_frame, .debug_frame) to unwind rows. What the sections
 * hold is a program for each function; run, it gives a rule for each of its addresses.
 */
#ifndef ELF_EHFRAME_H
#define ELF_EHFRAME_H

#include "base/err.h"
#include "base/unwind.h"

struct ehframe_section {
	const u8 *p;
	size_t n;
	u64 vaddr;                         /* where the section is in the file's own addresses */
	bool debug;                        /* .debug_frame */
	bool (*given_up)(const void *ctx); /* true: the rest is left out; NULL: never */
	const void *ctx;
};

struct ehframe_rows {
	struct unwind_row *v; /* ascending addresses; neighbours differ in their rule */
	u32 n;
	u32 n_functions;
	u32 n_rich;    /* rows whose rule does not fit */
	u32 n_damaged; /* functions left out because their description can not be read */
};

/*
 * Reads a whole section. Addresses are kept as distances from `base`; functions that are not in
 * [base, base + 4 GiB) are left out. Damaged parts are left out and counted. The last row
 * is a gap that starts after the last function; no rows at all for an empty section.
 */
void ehframe_read(const struct ehframe_section *s, u64 base, struct ehframe_rows *out);
void ehframe_free(struct ehframe_rows *rows);

#endif
