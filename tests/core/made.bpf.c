/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Against target.c: every kind of relocation where its outcome is less than obvious. */
#include "core.h"

struct bits {
	u32 a : 3, b : 7, c : 20;
	s32 d : 5;
	u64 across : 30, far : 40;
	u32 last : 1;
	u32 before;
} CORE;

PROGRAM(bits, struct bits, b)
{
	return ALL(b->a) + ALL(b->b) + ALL(b->c) + ALL(b->d) + ALL(b->far) + ALL(b->last) +
	       ALL(b->before);
}

struct inner {
	u16 y;
	s16 x;
	int none;
} CORE;
struct outer {
	struct inner *p, cv;
	struct inner deep[4];
	u32 over;
	float f;
	u32 grown;
	s64 sign;
	u32 grid[3][5];
	struct inner open[];
} CORE;

PROGRAM(places, struct outer, o)
{
	return PLACE(o->p) + PLACE(o->cv) + ALL(o->cv.x) + PLACE(o->deep) + PLACE(o->deep[3]) +
	       ALL(o->deep[1].y) + ALL(o->over) + PLACE(o->f) + ALL(o->grown) + ALL(o->sign) +
	       PLACE(o->grid[2][4]) + PLACE(o->grid[1]) + PLACE(o->open[3]) + ALL(o->open[7].y) +
	       PLACE(o[3].p) + EXISTS(o->cv.none) + EXISTS(o->open[1].none);
}

/* Loads whose width changes: a smaller unsigned integer may be loaded, a signed one not. */
PROGRAM(widths, struct outer, o)
{
	return o->grown + (u64)o->p;
}

PROGRAM(signs, struct outer, o)
{
	return o->sign;
}

/* More elements than there are. */
struct outer___long {
	struct inner deep[9];
	u32 grid[3][6];
	u32 n[2];
} CORE;

PROGRAM(bounds, struct outer___long, o)
{
	return EXISTS(o->deep[8]) + EXISTS(o->deep[3]) + EXISTS(o->grid[2][5]) + EXISTS(o->n[1]);
}

struct twin {
	u32 a, b;
} CORE;
struct split {
	u32 a, b, kept, only_here;
} CORE;

PROGRAM(twins, struct twin, t)
{
	return ALL(t->a) + ALL(t->b) + TYPE_EXISTS(struct twin);
}

struct empty {
};
enum small { SMALL_A, SMALL_B, SMALL_NEG = -1, SMALL_C };
enum big { BIG_A, BIG_TOP = 1, BIG_NONE };
enum wide { WIDE_A, WIDE_B, WIDE_NEG = -1 };
typedef struct inner inner_t;
typedef int (*callback_t)(struct outer *, const char *, long);
typedef long (*callback_t___args)(struct outer *, const char *);
union either {
	u64 whole;
	u32 half[2];
} CORE;

PROGRAM(types, union either, e)
{
	return TYPE(struct empty) + TYPE(inner_t) + TYPE_EXISTS(callback_t) + TYPE(union either) +
	       TYPE_EXISTS(callback_t___args) + ALL(e->whole) + PLACE(e->half[1]);
}

PROGRAM(enums, void, ctx)
{
	return ENUM(enum small, SMALL_A) + ENUM(enum small, SMALL_B) + ENUM(enum small, SMALL_NEG) +
	       ENUM_EXISTS(enum small, SMALL_C) + ENUM(enum big, BIG_TOP) +
	       ENUM(enum big, BIG_NONE) + ENUM(enum wide, WIDE_A) + ENUM(enum wide, WIDE_B) +
	       ENUM(enum wide, WIDE_NEG) + TYPE(enum wide);
}

PROGRAM(matches, void, ctx)
{
	return TYPE_EXISTS(struct empty) + TYPE_EXISTS(inner_t) + TYPE_EXISTS(callback_t) +
	       TYPE_EXISTS(union either) + TYPE_EXISTS(callback_t___args) +
	       TYPE_EXISTS(struct twin) + TYPE_EXISTS(enum small) + TYPE_EXISTS(enum big) +
	       TYPE_EXISTS(enum wide);
}
