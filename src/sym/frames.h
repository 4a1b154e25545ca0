/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stack as text, innermost frame first, a line for each.
 */
#ifndef SYM_FRAMES_H
#define SYM_FRAMES_H

#include "sym/sym.h"

/* In the order of enum stack_mode. */
enum frames_mode {
	FRAMES_BPFTRACE, /* eight blanks, name+off */
	FRAMES_PERF,     /* tab, address, name+off, for user frames the file in parentheses */
	FRAMES_RAW,      /* address */
	FRAMES_BUILD_ID, /* build-id of the file, offset in it; else as FRAMES_RAW */
};

#define FRAMES_KERNEL (-1)

/* A newline, then the frames up to the first address 0. pid is FRAMES_KERNEL for kernel stacks. */
void frames_print(struct buf *b, struct sym *s, enum frames_mode mode, s64 pid, const u64 *ips,
                  u32 n);

/* The same without the newline before. */
void frames_add(struct buf *b, struct sym *s, enum frames_mode mode, s64 pid, const u64 *ips,
                u32 n);

#endif
