/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as .eh_frame and as .debug_frame. */
#include <stdlib.h>

#include "elf/ehframe.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(const struct ehframe_section *s)
{
	struct ehframe_rows rows;

	ehframe_read(s, 0x1000, &rows);
	for (u32 i = 1; i < rows.n; i++)
		if (rows.v[i - 1].pc >= rows.v[i].pc || rows.v[i - 1].rule == rows.v[i].rule)
			abort();
	if (rows.n && unwind_kind(rows.v[rows.n - 1].rule) != UNWIND_GAP)
		abort();
	for (u32 i = 0; i < rows.n; i++)
		if (unwind_kind(rows.v[i].rule) > UNWIND_DEREF_FP)
			abort();
	ehframe_free(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	check(&(struct ehframe_section){ .p = p, .n = n, .vaddr = 0x4000 });
	check(&(struct ehframe_section){ .p = p, .n = n, .debug = true });
	return 0;
}
