/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One instruction as text, in the C-like notation that kernel and compiler tools use.
 */
#ifndef BPF_DIS_H
#define BPF_DIS_H

#include "base/buf.h"
#include "bpf/uapi.h"

/*
 * Appends the instruction at insns[0], without a newline; `left` is how many slots remain.
 * Returns the slots it takes: 2 for a 64-bit constant, else 1. Any bytes are printable:
 * what is no instruction comes out as ".insn" and its fields.
 */
u32 dis_insn(struct buf *b, const struct bpf_insn *insns, u32 left);

#endif
