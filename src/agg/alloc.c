/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rounding of allocators; see alloc.h.
 *
 * glibc (malloc/malloc.c, "chunk"): a block is what was asked for and 8 bytes of header, in
 * multiples of 16, at least 32. From 128 KiB on - the threshold before any mapping was freed -
 * it is a mapping of its own, with another 8 bytes, in pages, unless the heap's end has room for
 * it.
 *
 * jemalloc (its manual, "size classes"): 8, then multiples of 16 up to 128, then four classes for
 * each power of two. No header. Blocks above 14 KiB are whole pages, which the classes are
 * already from 16 KiB on.
 */
#include "agg/alloc.h"

#include <string.h>

#include "arch/arch.h"

#define GLIBC_MMAP (128u << 10)
#define HUGE_BLOCK (1ull << 62)

static u64 glibc_bytes(u64 n)
{
	u64 chunk = MAX(ROUND_UP(n + 8, 16ull), 32);

	return chunk < GLIBC_MMAP ? chunk : ROUND_UP(chunk + 8, (u64)arch_page());
}

static u64 jemalloc_bytes(u64 n)
{
	u32 top;

	if (n <= 8)
		return 8;
	if (n <= 128)
		return ROUND_UP(n, 16ull);
	top = 63 - (u32)__builtin_clzll(n - 1);
	return ROUND_UP(n, 1ull << (top - 2));
}

static u64 itself(u64 n)
{
	return n;
}

static const struct {
	const char *name;
	u64 (*bytes)(u64 n);
} rows[ALLOCS] = {
	[ALLOC_NONE] = { "none", itself },
	[ALLOC_GLIBC] = { "glibc", glibc_bytes },
	[ALLOC_JEMALLOC] = { "jemalloc", jemalloc_bytes },
};

u64 alloc_bytes(enum alloc a, u64 n)
{
	return n > HUGE_BLOCK ? UINT64_MAX : rows[a].bytes(n);
}

const char *alloc_name(enum alloc a)
{
	return rows[a].name;
}

enum alloc alloc_find(const char *name)
{
	u32 a = 0;

	while (a < ALLOCS && strcmp(rows[a].name, name))
		a++;
	return a;
}
