/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A made-up kernel, of which only the types count: compiled, its BTF is what made*.bpf.c meet. */
#include "core.h"

struct bits {
	u32 before;
	u32 a : 3, b : 7, c : 20;
	s32 d : 5;
	u64 far : 40, across : 30;
	u8 last : 1;
	enum { NEGATIVE = -1, POSITIVE } e : 4;
};
struct inner {
	s16 x;
	u16 y;
};
struct outer {
	union {
		struct {
			u64 pad;
			struct inner deep[4];
		};
		u32 over;
	};
	struct inner *p;
	float f;
	u16 grown; /* u32 in the program */
	s32 sign;  /* s64 there */
	const volatile struct inner cv;
	u32 grid[3][5];
	int n;
	struct inner open[]; /* its size is not known */
};
/* Twins, as imperfect deduplication leaves them, and two layouts of one name. */
struct twin___1 {
	u32 a, b;
};
struct twin___2 {
	u32 a, b, c;
};
struct split___1 {
	u32 a, b;
	u32 kept;
};
struct split___2 {
	u32 b, a;
	u32 only_here;
};
struct empty {
};
enum small { SMALL_A = 3, SMALL_B___x = 9, SMALL_NEG = -5 };
enum big { BIG_A = 1, BIG_TOP = 0x7fffffff };
typedef struct inner inner_t;
typedef int (*callback_t)(struct outer *, const char *, long);
union either {
	u64 whole;
	u32 half[2];
};

struct all {
	struct bits bits;
	struct twin___1 t1;
	struct twin___2 t2;
	struct split___1 s1;
	struct split___2 s2;
	struct empty empty;
	enum small small;
	enum big big;
	inner_t inner;
	callback_t callback;
	union either either;
} all;
struct outer outer;
