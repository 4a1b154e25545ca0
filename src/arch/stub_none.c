/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A machine for which nobody has written stubs. */
#include "arch/stub.h"

#if !defined(__x86_64__)

u32 stub_emit(const struct stub *s, u64 at, u8 *out, u32 room, u32 *entry)
{
	(void)s;
	(void)at;
	(void)out;
	(void)room;
	(void)entry;
	return 0;
}

#endif
