/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two layouts of one name: one member only in the first, then one on which both disagree. */
#include "core.h"

struct split {
	u32 a, b, kept;
} CORE;

PROGRAM(disagree, struct split, s)
{
	return EXISTS(s->kept) + OFFSET(s->a);
}

struct split___both {
	u32 a, b;
} CORE;

PROGRAM(both, struct split___both, s)
{
	return OFFSET(s->a);
}
