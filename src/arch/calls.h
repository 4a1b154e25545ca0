/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where C's convention puts values when a function is called: in pieces in registers, on the stack,
 * or in memory that a register points to. It follows from the scalars that a value is made of.
 */
#ifndef ARCH_CALLS_H
#define ARCH_CALLS_H

#include "arch/arch.h"

/* Scalars that conventions tell apart. */
enum calls_scalar {
	CALLS_INTEGER, /* pointers, too */
	CALLS_BITS,    /* a bit-field, in the bytes that it touches */
	CALLS_FLOAT,   /* vectors and complex numbers, too */
	CALLS_LONG_DOUBLE,
};

/* A scalar of `size` bytes at byte `off` of a value. */
typedef void calls_scalar_fn(void *to, u64 off, u64 size, enum calls_scalar what);

struct calls_value {
	u64 size;
	bool is_aggregate; /* struct, union, class, array */
	bool by_reference; /* a class of C++ that can not be copied byte by byte */
	bool is_vector;
	bool is_wide; /* 16 bytes or more in one piece */
	/* Calls scalar() for all it is made of. */
	void (*each)(const struct calls_value *v, calls_scalar_fn *scalar, void *to);
	void *ctx;
};

/* Bytes [off, off + size) of a value are in a register; NULL: in a floating-point register. */
struct calls_piece {
	const char *reg; /* as reg() names it */
	u32 off, size;
};

enum calls_form {
	CALLS_NOWHERE,   /* can not be read */
	CALLS_REGISTERS, /* in pieces */
	CALLS_STACK,     /* in memory, `stack` bytes above the stack pointer */
	CALLS_POINTED,   /* in memory that the register of the first piece points to */
};

struct calls_place {
	enum calls_form form;
	u32 stack;
	struct calls_piece pieces[ARCH_INTS];
	u32 n_pieces;
	const char *why; /* a fixed text: why it can not be read, or NULL */
};

/* Registers and stack given out so far. */
struct calls_used {
	const char *const *ints;
	u32 n_ints, n_floats;
	u32 stack_at; /* of the first argument in memory */
	u32 ints_used, floats_used;
	u64 stack;
};

/* The next argument by C's convention. Where it lies in memory: by calls_on_stack(). */
void calls_place(struct calls_used *u, const struct calls_value *v, struct calls_place *out);
/* True when a result lies in memory; the caller's address of it is then an argument before all
 * others, and takes what that takes. */
bool calls_hides_result(struct calls_used *u, const struct calls_value *v);

/* The next place on the stack, of any convention. */
static inline void calls_on_stack(struct calls_used *u, struct calls_place *out, u64 size,
                                  u64 align)
{
	u->stack = ROUND_UP(u->stack, align);
	out->form = CALLS_STACK;
	out->stack = (u32)(u->stack_at + u->stack);
	u->stack += size;
}

#endif
