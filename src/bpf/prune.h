/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Removing instructions that can not run or do nothing. */
#ifndef BPF_PRUNE_H
#define BPF_PRUNE_H

#include "bpf/code.h"

/* After code_finish: drops what no path reaches (the kernel refuses it) and jumps to the next
 * instruction. Jump distances and locations are kept right. */
void prune_code(struct code *c);

#endif
