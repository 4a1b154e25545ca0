/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arm64's code, for the files aarch64_*.c alone: kinds of instructions by their fixed bits.
 */
#ifndef ARCH_AARCH64_CODE_H
#define ARCH_AARCH64_CODE_H

#include <string.h>

#include "arch/insn.h"

#define CODE_BYTES 4u
#define CODE_NOP   0xd503201fu
#define CODE_BTI   0xd503241fu /* but for its bits 6 and 7 */

/* Fixed bits and their values. */
#define CODE_B       0xfc000000u, 0x14000000u
#define CODE_BL      0xfc000000u, 0x94000000u
#define CODE_BCOND   0xff000000u, 0x54000000u
#define CODE_CBZ     0x7e000000u, 0x34000000u /* cbnz, too */
#define CODE_TBZ     0x7e000000u, 0x36000000u
#define CODE_ADR     0x9f000000u, 0x10000000u
#define CODE_ADRP    0x9f000000u, 0x90000000u
#define CODE_LITERAL 0x3b000000u, 0x18000000u /* ldr, ldrsw, prfm; of SIMD registers, too */
#define CODE_BR      0xfefff000u, 0xd61f0000u /* braa and the like, too */
#define CODE_RET     0xfffff000u, 0xd65f0000u /* retaa, retab, too */
#define CODE_BRK     0xffe0001fu, 0xd4200000u
#define CODE_SVC     0xffe0001fu, 0xd4000001u
#define CODE_HINT    0xfffff01fu, 0xd503201fu
#define CODE_ADD     0xff800000u, 0x91000000u /* of a constant, 64 bits */
#define CODE_SUB     0xff800000u, 0xd1000000u

#define code_is(w, kind) code_matches((w), kind)

static inline bool code_matches(u32 w, u32 mask, u32 value)
{
	return (w & mask) == value;
}

static inline u32 code_word(const u8 *p)
{
	u32 w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* Bits [low, low + n) of an instruction, as a signed number. */
static inline s64 code_signed(u32 w, u32 low, u32 n)
{
	return (s64)((u64)w << (64 - low - n)) >> (64 - n);
}

/* Bytes from a direct jump or call to where it leads, 0 for another instruction. */
static inline s64 code_distance(u32 w)
{
	if (code_is(w, CODE_B) || code_is(w, CODE_BL))
		return code_signed(w, 0, 26) * 4;
	if (code_is(w, CODE_BCOND) || code_is(w, CODE_CBZ))
		return code_signed(w, 5, 19) * 4;
	return code_is(w, CODE_TBZ) ? code_signed(w, 5, 14) * 4 : 0;
}

/* The immediate of adr and adrp. */
static inline s64 code_page(u32 w)
{
	return code_signed(w, 5, 19) * 4 + (w >> 29 & 3);
}

/* That of add and sub. */
static inline s32 code_constant(u32 w)
{
	return (s32)((w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0));
}

#endif
