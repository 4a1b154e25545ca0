/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operands as the machine's assembler writes them, read as places in struct pt_regs and memory.
 */
#ifndef ARCH_OPERAND_H
#define ARCH_OPERAND_H

#include "base/base.h"

enum operand_form {
	OPERAND_CONST, /* value */
	OPERAND_REG,   /* reg */
	OPERAND_MEM,   /* *(reg + index * scale + value); reg or index may be -1 */
};

struct operand {
	enum operand_form form;
	bool high_byte; /* of a register: bits 8 to 15 of it */
	s16 reg, index; /* byte offsets in struct pt_regs, -1 none */
	u8 scale;
	s64 value; /* constant, or displacement */
};

/* What is read: up to a blank or the end of the text. */
struct operand_text {
	const char *p;
	const char *why; /* a fixed text: what was not understood first, NULL nothing */
	/* The address of a variable in the file; why it is not known, or NULL. The callback NULL:
	 * none is. */
	const char *(*variable)(void *ctx, const char *name, u64 *address);
	void *ctx;
	u64 pc; /* address of the probed instruction in the file */
};

/* Keeps the first reason. Always false. */
static inline bool operand_bad(struct operand_text *t, const char *why)
{
	if (!t->why)
		t->why = why;
	return false;
}

/* Goes past that letter when it comes next. */
static inline bool operand_take(struct operand_text *t, char want)
{
	if (*t->p != want)
		return false;
	t->p++;
	return true;
}

#define OPERAND_NAME 256u /* bytes of the longest name, its end included */

/* Reads a variable's name into name[OPERAND_NAME]. False, and t->why, where there is none. */
bool operand_name(struct operand_text *t, char *name);

/* The variable's address in the file. False, and t->why, when it is not known. */
bool operand_find(struct operand_text *t, const char *name, u64 *address);

/* Leaves t->p after the operand. False, and t->why, when it is not understood. */
bool operand_parse(struct operand_text *t, struct operand *o);

#endif
