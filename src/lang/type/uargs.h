/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the arguments of a program's function are when it is entered: by the System V calling
 * convention, or by Go's.
 */
#ifndef LANG_TYPE_UARGS_H
#define LANG_TYPE_UARGS_H

#include "arch/arch.h"
#include "elf/dwarf_file.h"
#include "unit/type.h"

struct script;

enum uarg_form {
	UARG_NOWHERE,   /* can not be read: see `why` */
	UARG_REGISTERS, /* in pieces */
	UARG_STACK,     /* in memory, `stack` bytes above the stack pointer */
	UARG_POINTED,   /* in memory that the register of the first piece points to */
};

/* Bytes [off, off + size) of a value are in a register; NULL: in a floating-point register. */
struct upiece {
	const char *reg; /* as reg() names it */
	u32 off, size;
};

struct uarg {
	const char *name;
	const struct type *type;
	u32 die;
	enum uarg_form form;
	u32 stack;
	struct upiece pieces[ARCH_INTS];
	u32 n_pieces;
	const char *why;
};

struct uargs {
	struct dwarf_file *dwarf;
	const char *function;
	u32 returns; /* type, 0 none */
	struct uarg *v;
	u32 n;
};

/* All named arguments of f. */
struct uargs *uargs_of(struct script *s, struct dwarf_file *d, const struct dwarf_func *f);
/* How the value f returns is handed over: in registers, or in memory that retval points to. */
void uargs_result(struct script *s, struct dwarf_file *d, u32 returns, struct uarg *r);
/* The same names, types and places: one program can serve both. */
bool uargs_eq(const struct uargs *a, const struct uargs *b);

#endif
