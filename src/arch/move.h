/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instructions that are to do at another place what they do at theirs, and jumps there.
 */
#ifndef ARCH_MOVE_H
#define ARCH_MOVE_H

#include "arch/insn.h"

#define MOVE_JUMP    5u  /* bytes of a jump, on the machine with the longest; it reaches 2 GiB */
#define MOVE_LONGEST 16u /* bytes that one instruction becomes */

/* Writes a jump that runs at `from` and leads to `to`. False when that is too far, or this machine
 * has none. */
bool move_jump(u64 from, u64 to, u8 out[MOVE_JUMP]);

struct move {
	u8 taken;  /* bytes of the instruction at its place */
	u8 length; /* and at the other one */
	bool ends; /* what comes after it does not follow */
};

/*
 * The instruction that is at p and runs at `from`, for `to`. Its new form was decoded again and
 * does the same. NULL, or why it can not be moved.
 */
const char *move_insn(const struct insn_decoder *d, const u8 *p, size_t n, u64 from, u64 to,
                      u8 out[MOVE_LONGEST], struct move *m);

#endif
