/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * arm64's instructions. All have four bytes, and which of their bits say what is the same for whole
 * groups of them (Arm Architecture Reference Manual, C4.1), so no library is needed to decode them.
 */
#include "arch/aarch64_code.h"

#if defined(__aarch64__)

#include <stdlib.h>

struct insn_decoder {
	char unused;
};

struct insn_decoder *insn_decoder_open(struct err *e)
{
	struct insn_decoder *d = calloc(1, sizeof(*d));

	(void)e;
	if (!d)
		base_no_memory();
	return d;
}

void insn_decoder_close(struct insn_decoder *d)
{
	free(d);
}

/* ---- where control goes --------------------------------------------------------------------- */

static enum insn_flow flow_of(u32 w)
{
	if (code_is(w, CODE_BL))
		return INSN_CALL;
	if (code_is(w, CODE_B))
		return INSN_JUMP;
	if (code_is(w, CODE_BCOND) || code_is(w, CODE_CBZ) || code_is(w, CODE_TBZ))
		return INSN_BRANCH;
	if (code_is(w, CODE_BR))
		return INSN_INDIRECT;
	/* What is left of branches, exceptions and system instructions, but for hints and flags. */
	if ((w & 0x1c000000) == 0x14000000 && !code_is(w, CODE_HINT))
		return INSN_OTHER;
	return INSN_NEXT;
}

/* Bits 28 to 25: 0000 and 0001, 0011 are not given to any instruction but udf and SME's. */
bool insn_read(const struct insn_decoder *d, const u8 *p, size_t n, u64 vaddr, struct insn *out)
{
	u32 w;

	(void)d;
	if (n < CODE_BYTES)
		return false;
	w = code_word(p);
	if (w >> 16 == 0)
		return false;
	out->length = CODE_BYTES;
	out->flow = flow_of(w);
	out->target = vaddr + (u64)code_distance(w);
	return true;
}

/* ---- what it does --------------------------------------------------------------------------- */

#define FIRST_SCRATCH 9u /* x9 to x17: nothing is passed in them */
#define LAST_SCRATCH  17u
#define ZERO          31u

/* Writes Rd and the flags, nothing else; *sp: 31 is the stack pointer there. */
static bool is_calculation(u32 w, bool *sp)
{
	bool sets_flags = w >> 29 & 1;

	*sp = false;
	switch (w >> 23 & 0x3f) {
	case 0x22: /* add and sub of a constant */
	case 0x23: /* ... with tags: refused below */
		*sp = !sets_flags;
		return (w >> 23 & 0x3f) == 0x22;
	case 0x24: /* and, orr, eor of one; ands is cut out of 31 by its own rule */
		*sp = (w >> 29 & 3) != 3;
		return true;
	case 0x25: /* movn, movz, movk */
	case 0x26: /* bit fields */
	case 0x27: /* extr */
		return true;
	default:
		break;
	}
	if ((w & 0x0e000000) != 0x0a000000) /* data processing of registers */
		return false;
	*sp = (w & 0x1f200000) == 0x0b200000 && !sets_flags; /* add and sub, extended */
	return true;
}

bool insn_is_harmless(const struct insn_decoder *d, const u8 *p, size_t n)
{
	u32 w, rd;
	bool sp;

	(void)d;
	if (n < CODE_BYTES)
		return false;
	w = code_word(p);
	if (w == CODE_NOP || (w & ~0xc0u) == CODE_BTI)
		return true;
	if (!is_calculation(w, &sp))
		return false;
	rd = w & 31;
	/* Conditional compares write nothing but flags; their low bits are these. */
	if ((w & 0x1fe00000) == 0x1a400000)
		return true;
	return rd == ZERO ? !sp : rd >= FIRST_SCRATCH && rd <= LAST_SCRATCH;
}

#endif
