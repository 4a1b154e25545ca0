/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Looking a rule up as programs in the kernel do. */
#ifndef TESTS_EHFRAME_RULE_H
#define TESTS_EHFRAME_RULE_H

#include "base/sorted.h"
#include "base/unwind.h"
#include "elf/ehframe.h"

/* The rule for a distance from base; UNWIND_GAP before the first row. */
static u32 ehframe_rule(const struct ehframe_rows *rows, u32 pc)
{
	u32 n = SORTED_NOT_ABOVE(rows->v, rows->n, pc, pc);

	return n ? rows->v[n - 1].rule : UNWIND_GAP;
}

#endif
