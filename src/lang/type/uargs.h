/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the arguments of a program's function are when it is entered: by C's calling
 * convention, or by Go's.
 */
#ifndef LANG_TYPE_UARGS_H
#define LANG_TYPE_UARGS_H

#include "arch/calls.h"
#include "elf/dwarf_file.h"
#include "unit/type.h"

struct script;

struct uarg {
	const char *name;
	const struct type *type;
	u32 die;
	struct calls_place at;
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
