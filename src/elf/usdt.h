/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * USDT probes: the .note.stapsdt records of an ELF file and the small language in which
 * a note says where each argument lies (sys/sdt.h of systemtap; operands in the machine's
 * assembler syntax). Every site has its own note and its own arguments.
 */
#ifndef ELF_USDT_H
#define ELF_USDT_H

#include "arch/operand.h"
#include "elf/elf.h"

/* size@operand: the argument has `size` bytes at the register or memory. */
struct usdt_arg {
	struct operand at;
	u8 size; /* 1, 2, 4, 8 */
	bool is_signed;
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
