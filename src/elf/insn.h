/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One x86-64 instruction at a time, as whoever looks for a place for a probe has to know it: how
 * long it is, where control goes after it, and whether a probe after it would see anything else
 * than one in front of it.
 */
#ifndef ELF_INSN_H
#define ELF_INSN_H

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
	u8 length; /* 1 to 15 */
	enum insn_flow flow;
	u64 target; /* CALL, JUMP, BRANCH */
};

struct decoder;

/* Loads libZydis. NULL and *e when it is not there. */
struct decoder *decoder_open(struct err *e);
void decoder_close(struct decoder *d);

/* The instruction at p, of which n bytes are there, running at address `vaddr`. False for bytes
 * that are none or are cut short. */
bool decoder_read(const struct decoder *d, const u8 *p, size_t n, u64 vaddr, struct insn *out);
/*
 * True when it can not fail, writes no memory, leaves the stack pointer and all registers but rax,
 * r10, r11 and the flags as they were, and is not one of those that order memory or talk to the
 * system. Memory it reads is its own file's, its thread's or the stack.
 */
bool decoder_harmless(const struct decoder *d, const u8 *p, size_t n);

/*
 * True when the kernel carries the instruction out itself instead of running a copy under single
 * step, so that a probe on it costs a fraction (arch/x86/kernel/uprobes.c: push, 1-byte nop, direct
 * jumps and calls; with `nop5`, a feature of newer kernels, also the 5-byte nop). Needs no decoder.
 */
bool insn_is_cheap(const u8 *p, size_t n, bool nop5);

#endif
