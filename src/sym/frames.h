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

/* What a frame's code belongs to. */
enum frame_kind {
	FRAME_OTHER,   /* not known, or no code at all */
	FRAME_KERNEL,  /* and its modules, and BPF programs */
	FRAME_LIBRARY, /* a shared library, the loader, the vdso */
	FRAME_PROGRAM,
	FRAME_JIT, /* compiled while the process was running */
	N_FRAME_KIND,
};

/* One function of a stack, without the place in it. */
struct frame_name {
	const char *name;
	const char *module; /* path of the file, name of the kernel module, or "" */
	enum frame_kind kind;
	bool inlined;                  /* into the one before it, whose place it has */
	const struct sym_place *place; /* NULL: in no file that is known */
};
typedef void frame_fn(void *ctx, const struct frame_name *frame);

struct stack_frames {
	const u64 *ips; /* innermost first */
	u32 n;
	const char *end; /* a mark in place of what is missing after them: "[unknown]"; NULL none */
};

/* The frames up to the first address 0. pid is FRAMES_KERNEL for kernel stacks. */
void frames_add(struct buf *b, struct sym *s, enum frames_mode mode, s64 pid,
                const struct stack_frames *f);

/* The functions of a stack one by one, the outermost first, inlined ones where source lines are
 * wanted. Strings live for the call. */
void frames_each(struct sym *s, s64 pid, const struct stack_frames *f, frame_fn *fn, void *ctx);

#endif
