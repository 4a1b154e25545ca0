/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Making finished code shorter without changing what it does. */
#ifndef BPF_TIDY_H
#define BPF_TIDY_H

#include "bpf/code.h"

/* After code_finish: fewer copies, fewer jumps, nothing computed that nobody reads, and nothing
 * that can not run. */
void tidy_code(struct code *c);

/* hoist.c, after tidy_code: addresses that a program makes several times are
 * made once, at its start, where registers are free. */
void hoist_code(struct code *c);

#endif
