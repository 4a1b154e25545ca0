/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Searches through many bytes at once, as the machine's vector instructions can. n blocks of 64
 * bytes at p: bit i of masks[k] answers for byte 64 * k + i. False where the processor has no fast
 * way: then the caller goes through them one by one.
 */
#ifndef ARCH_BYTES_H
#define ARCH_BYTES_H

#include "base/base.h"

/* Which are 0. */
bool bytes_zero(const char *p, u32 n, u64 *masks);

/*
 * Which are 0 and come after letters that one of eight groups has there. sets[j][0][c % 16] and
 * sets[j][1][c / 16] have a bit for each group in which a letter like c is the last but j; both
 * have to have it. The three bytes before p are looked at, too. Letters beyond ASCII are in none.
 */
bool bytes_zero_after(const char *p, u32 n, const u8 sets[3][2][16], u64 *masks);

/* Where three bytes begin that have c's bits in common and no other: three of c, or bytes that only
 * together are so. Two bytes after the blocks are looked at, too. */
bool bytes_three(const char *p, u32 n, char c, u64 *masks);

/* Which are `first`, with `last` `distance` bytes after it; so many bytes after the blocks are
 * looked at, too. */
bool bytes_pair(const char *p, u32 n, char first, char last, u32 distance, u64 *masks);

#endif
