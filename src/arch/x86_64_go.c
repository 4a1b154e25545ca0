/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where a Go function begins once it has its stack.
 *
 * Go's functions look first whether the stack is large enough; if not, or if the goroutine is to be
 * stopped, they call the runtime and jump back to their entry. A probe there counts such a call
 * twice. The one idea: after the look, on the instruction that makes the frame, every call comes by
 * once, with the same stack pointer and arguments. Only r12 and the flags have changed.
 *
 * The compiler writes these few instructions in four ways and no other; the bytes are compared, so
 * that no decoder is needed. Without all of them, or without the jump back, it is no Go function or
 * one that looks at no stack, and the entry is right.
 */
#include "arch/insn.h"

#if defined(__x86_64__)

#include <string.h>

struct bytes {
	const char *p;
	u32 n, skip; /* bytes that are compared, and bytes after them that are not */
};

#define BYTES(text, skip)                                                                          \
	{                                                                                          \
		(text), sizeof(text) - 1, (skip)                                                   \
	}

/* What the limit, r14 + 16, is compared with: rsp, or r12, the end of a large frame. */
static const struct bytes looks[][4] = {
	{ BYTES("\x49\x3b\x66\x10", 0) },
	{ BYTES("\x4c\x8d\x64\x24", 1), BYTES("\x4d\x3b\x66\x10", 0) },
	{ BYTES("\x4c\x8d\xa4\x24", 4), BYTES("\x4d\x3b\x66\x10", 0) },
	{ BYTES("\x49\x89\xe4\x49\x81\xec", 4), BYTES("\x72", 1), BYTES("\x4d\x3b\x66\x10", 0) },
	{ BYTES("\x49\x89\xe4\x49\x81\xec", 4), BYTES("\x0f\x82", 4),
	  BYTES("\x4d\x3b\x66\x10", 0) },
};
static const struct bytes branches[][4] = { { BYTES("\x76", 1) }, { BYTES("\x0f\x86", 4) } };
static const struct bytes frames[][4] = { { BYTES("\x55", 0) },
	                                  { BYTES("\x48\x83\xec", 1) },
	                                  { BYTES("\x48\x83\xc4\x80", 0) }, /* 128 */
	                                  { BYTES("\x48\x81\xec", 4) } };

/* Bytes that the instructions of one row take; 0 when none is there. */
static u32 match(const struct bytes rows[][4], u32 n_rows, const u8 *p, size_t n)
{
	for (u32 r = 0; r < n_rows; r++) {
		u32 at = 0, k = 0;

		while (k < 4 && rows[r][k].n && rows[r][k].n + rows[r][k].skip <= n - at &&
		       memcmp(p + at, rows[r][k].p, rows[r][k].n) == 0) {
			at += rows[r][k].n + rows[r][k].skip;
			k++;
		}
		if (k == 4 || !rows[r][k].n)
			return at;
	}
	return 0;
}

/* Where the jump of `length` bytes that ends at `end` leads. */
static s64 target(const u8 *p, u32 end, u32 length)
{
	s32 far;

	memcpy(&far, p + end - 4, sizeof(far));
	return (s64)end + (length < 5 ? (s8)p[end - 1] : far);
}

/* Is there a jump to the entry in [from, n)? */
static bool jumps_back(const u8 *p, s64 from, size_t n)
{
	for (size_t at = (size_t)from; at + 2 <= n; at++) {
		if (p[at] == 0xeb && target(p, (u32)at + 2, 2) == 0)
			return true;
		if (p[at] == 0xe9 && at + 5 <= n && target(p, (u32)at + 5, 5) == 0)
			return true;
	}
	return false;
}

u32 insn_go_start(const u8 *p, size_t n)
{
	u32 look = match(looks, ARRAY_SIZE(looks), p, n), branch, end;
	s64 more;

	branch = look ? match(branches, ARRAY_SIZE(branches), p + look, n - look) : 0;
	end = look + branch;
	if (!branch || !match(frames, ARRAY_SIZE(frames), p + end, n - end))
		return 0;
	more = target(p, end, branch);
	return more > end && (u64)more < n && jumps_back(p, more, n) ? end : 0;
}

#endif
