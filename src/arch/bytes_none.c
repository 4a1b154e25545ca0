/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A machine without searches of its own: callers go through the bytes one by one. So the reader of
 * BTF, which is a library of its own, builds and is right anywhere. */
#include "arch/bytes.h"

#if !defined(__x86_64__) && !defined(__aarch64__)

bool bytes_zero(const char *p, u32 n, u64 *masks)
{
	(void)p;
	(void)n;
	(void)masks;
	return false;
}

bool bytes_zero_after(const char *p, u32 n, const u8 sets[3][2][16], u64 *masks)
{
	(void)p;
	(void)n;
	(void)sets;
	(void)masks;
	return false;
}

bool bytes_three(const char *p, u32 n, char c, u64 *masks)
{
	(void)p;
	(void)n;
	(void)c;
	(void)masks;
	return false;
}

bool bytes_pair(const char *p, u32 n, char first, char last, u32 distance, u64 *masks)
{
	(void)p;
	(void)n;
	(void)first;
	(void)last;
	(void)distance;
	(void)masks;
	return false;
}

#endif
