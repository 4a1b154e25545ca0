/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The BPF programs that the kernel holds, whoever has loaded them. */
#ifndef KERN_PROGRAMS_H
#define KERN_PROGRAMS_H

#include "base/buf.h"
#include "base/err.h"

/* One loaded program; valid during the callback. */
struct program {
	u32 id;
	char name[16];    /* cut by the kernel to 15 bytes */
	u32 types;        /* number of its BTF, 0 none */
	const u32 *funcs; /* its functions, the program itself first: ids in that BTF */
	u32 n_funcs;
};

/* Calls back for each, oldest first. Those that go meanwhile are left out. False and *e when this
 * user may not look. */
bool programs_each(void (*cb)(void *ctx, const struct program *p), void *ctx, struct err *e);

/* Appends the bytes of the BTF of that number; false and *e when it is gone. */
bool programs_types(u32 types, struct buf *bytes, struct err *e);

#endif
