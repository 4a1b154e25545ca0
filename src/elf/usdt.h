/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * USDT probes: the .note.stapsdt records of an ELF file and the small language in which
 * a note says where each argument lies (sys/sdt.h of systemtap; operands in AT&T
 * assembler syntax). Every site has its own note and its own arguments.
 */
#ifndef ELF_USDT_H
#define ELF_USDT_H

#include "elf/elf.h"

enum usdt_form {
	USDT_CONST, /* value */
	USDT_REG,   /* reg */
	USDT_MEM,   /* *(reg + index * scale + value); reg or index may be -1 */
};

/* size@operand: the argument has `size` bytes at the register or memory. */
struct usdt_arg {
	enum usdt_form form;
	u8 size; /* 1, 2, 4, 8 */
	bool is_signed;
	bool high_byte; /* %ah, %bh, %ch, %dh: bits 8..15 of reg */
	s16 reg, index; /* byte offset in struct pt_regs, -1 none */
	u8 scale;
	s64 value; /* constant, or displacement */
};

#define USDT_ARGS_MAX 12u

struct usdt_site {
	const char *provider, *name; /* live as long as the struct elf */
	u64 offset;                  /* file offset of the probed instruction */
	u64 ref_ctr;                 /* file offset of the semaphore, 0 none */
	const char *spec;            /* the argument text of the note */
	struct usdt_arg args[USDT_ARGS_MAX];
	u32 n_args;
	bool bad_args;   /* the text could not be understood; bad says why */
	const char *bad; /* static text */
};

/* All sites of the file in note order; cb false stops. True with no call when there are no notes;
 * false and *e when the notes are damaged. */
bool usdt_each(struct elf *f, bool (*cb)(void *ctx, const struct usdt_site *s), void *ctx,
               struct err *e);
/* Parses the argument text of a note; false when it can not be understood. Names of variables
 * are only understood in the notes of a file (usdt_each). */
bool usdt_parse(const char *spec, struct usdt_site *out);

#endif
