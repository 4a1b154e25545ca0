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
#define INSN_NEAR                                                                                  \
	130u /* bytes from the start of a jump to its end or, if that is nearer than
                           * insn_leads() sees, to its target */

struct insn_decoder;

/* NULL and *e when the library that decodes is not there. */
struct insn_decoder *insn_decoder_open(struct err *e);
void insn_decoder_close(struct insn_decoder *d);

/* The instruction at p, of which n bytes are there, running at address `vaddr`. False for bytes
 * that are none or are cut short. */
bool insn_read(const struct insn_decoder *d, const u8 *p, size_t n, u64 vaddr, struct insn *out);
/*
 * True when it can not fail, writes no memory, leaves the stack pointer and all registers that a
 * script can read, but those that nothing is passed in and the flags, as they were, and is not one
 * of those that order memory or talk to the system. Memory it reads is its own file's, its thread's
 * or the stack.
 */
bool insn_is_harmless(const struct insn_decoder *d, const u8 *p, size_t n);

/* ---- by its bytes alone, without a decoder ---- */

/*
 * True when the kernel carries the instruction out itself instead of running a copy under single
 * step, so that a probe on it costs a fraction. With `nop5`, a feature of newer kernels, also a
 * long nop.
 */
bool insn_is_cheap(const u8 *p, size_t n, bool nop5);
/* True of a vector instruction that the kernel takes for another one, by the last byte of its
 * opcode: a probe on it is never hit, or the program goes on without what it does, or worse. */
bool insn_is_mistaken(const u8 *p, size_t n);
/* True when such a nop may be among n bytes. */
bool insn_has_nop5(const u8 *p, size_t n);

/* Addresses [low, low + span), span at most INT32_MAX: a bit for each. */
struct insn_set {
	u64 low;
	u32 span;
	u8 *bits;
};

/* What is at `by`, in an instruction, leads to `target`. */
typedef void insn_leads_fn(void *ctx, u64 by, u64 target);
/*
 * Calls back for whatever in n bytes of code, which run at vaddr, may be a jump or a call to, or
 * compute, an address of the set. May see one where there is none, seldom; misses none but jumps
 * that INSN_NEAR is about. One fast pass.
 */
void insn_leads(const u8 *p, size_t n, u64 vaddr, const struct insn_set *set, insn_leads_fn *cb,
                void *ctx);

/* Procedure linkage tables: their sections, and bytes of a slot. The last has no name. */
struct insn_plt {
	const char *section;
	u32 slot;
};
extern const struct insn_plt insn_plts[];
/* Bytes of a slot of the table whose n bytes are at p; *head: those of the first, where it is an
 * other one. */
u32 insn_plt_slot(const struct insn_plt *t, const u8 *p, size_t n, u32 *head);
/* Address of the word that the slot jumps through, 0 when it does no such thing. */
u64 insn_plt_word(const u8 *slot, u32 size, u64 vaddr);

/* Where the CFA is (base/unwind.h), as code is followed from a function's entry. */
struct insn_frame {
	s32 sp;   /* bytes from the stack pointer up to the CFA, INSN_LOST */
	s32 fp;   /* ... from the frame pointer, where it is one, else 0 */
	s32 save; /* bytes from the CFA down to where the frame pointer was saved, 0: it was not */
	s32 ra;   /* ... the return address, where a call leaves it in a register */
};
#define INSN_LOST (-1) /* nobody can tell */
/* Takes over what an instruction of n bytes does to it. */
void insn_follow(struct insn_frame *f, const u8 *p, u32 n);
/* True of a return and of an undefined instruction. */
bool insn_ends(const u8 *p, u32 n);
/* True where a signal handler's return begins, and a lookup of the place before it: the caller's
 * registers are in the kernel's frame. Only where .eh_frame does not say so. */
bool insn_is_sigreturn(const u8 *p, u64 n);
/* True when n bytes look like what compilers put between functions. */
bool insn_is_padding(const u8 *p, u64 n);

/* Bytes from the entry of a Go function, whose code of n bytes is at p, to where it has its stack
 * and comes by once a call: it may jump back to its entry before. 0 for what is none. */
u32 insn_go_start(const u8 *p, size_t n);

#endif
