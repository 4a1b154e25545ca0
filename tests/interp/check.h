/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A structural look at a finished program before the kernel sees it.
 */
#ifndef INTERP_CHECK_H
#define INTERP_CHECK_H

#include "base/err.h"
#include "bpf/uapi.h"

/*
 * True when the program is well formed: known instructions with their unused fields zero, jumps
 * that land on instructions, no way past the last one, all reachable, r10 never written, direct
 * stack accesses aligned and within 512 bytes, map references below n_maps, and no register
 * read that some way leads to without its being written. On false *at is the index of the
 * instruction and *e a sentence that shows it.
 */
bool check_insns(const struct bpf_insn *insns, u32 n, u32 n_maps, u32 *at, struct err *e);
/* True for helpers whose result is void: r0 is not to be read after them. */
bool check_gives_nothing(u32 helper);

#endif
