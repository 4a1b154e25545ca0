/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The machine's code. One instruction at a time, as whoever looks for a place for a probe has to
 * know it: how long it is, where control goes after it, and whether a probe after it would see
 * anything else than one in front of it. A file of this folder for each machine defines all of it.
 */
#ifndef ARCH_INSN_H
#define ARCH_INSN_H

#include "base/err.h"

enum insn_flow {
	INSN_NEXT,     /* only to the next instruction */
	INSN_CALL,     /* a direct call */
	INSN_JUMP,     /* a direct jump, always taken */
	INSN_BRANCH,   /* a direct jump that may be taken */
	INSN_INDIRECT, /* a jump to a computed place */
	INSN_OTHER,    /* return, indirect call, system call, trap */
};

struct insn {
	u8 length; /* 1 to INSN_LONGEST */
	enum insn_flow flow;
	u64 target; /* CALL, JUMP, BRANCH */
};

#define INSN_LONGEST 15u /* bytes, on any machine */

struct insn_decoder;

/* NULL and *e when the library that decodes is not there. */
struct insn_decoder *insn_decoder_open(struct err *e);
void insn_decoder_close(struct insn_decoder *d);

/* The instruction at p, of which n bytes are there, running at address `vaddr`. False for bytes
 * that are none or are cut short. */
bool insn_read(const struct insn_decoder *d, const u8 *p, size_t n, u64 vaddr, struct insn *out);
/*
 * True when it can not fail, writes no memory, leaves the stack pointer and all registers but those
 * that nothing is passed in and the flags as they were, and is not one of those that order memory
 * or talk to the system. Memory it reads is its own file's, its thread's or the stack.
 */
bool insn_is_harmless(const struct insn_decoder *d, const u8 *p, size_t n);

/*
 * True when the kernel carries the instruction out itself instead of running a copy under single
 * step, so that a probe on it costs a fraction. With `nop5`, a feature of newer kernels, also long
 * nops. Needs no decoder.
 */
bool insn_is_cheap(const u8 *p, size_t n, bool nop5);

/* Bytes from the entry of a Go function, whose code of n bytes is at p, to where it has its stack
 * and comes by once a call: it may jump back to its entry before. 0 for what is none. */
u32 insn_go_start(const u8 *p, size_t n);

#endif
