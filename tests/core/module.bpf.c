/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One struct that only a module has, and one that the kernel has too. */
#include "core.h"

struct split_only {
	u32 x, no_such;
} CORE;

struct twin {
	u32 a;
} CORE;

PROGRAM(module, struct split_only, s)
{
	return OFFSET(s->x) + OFFSET(s->no_such) + OFFSET(((struct twin *)(void *)s)->a);
}
