/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What bounds the text of types. Types that are in each other multiply: a prototype of two
 * arguments which are prototypes of two arguments, and so on, takes 28 bytes for each doubling. So
 * whoever writes them has as many steps as the types have bytes, and some.
 */
#ifndef CTEXT_C_WORK_H
#define CTEXT_C_WORK_H

#include <memtap/btf.h>

#include "base/base.h"

#define C_WORK_LEAST 100000u

struct c_work {
	u64 left; /* members, arguments and values that may still be looked at */
	bool out; /* there were more: what was written is not whole */
};

/* Steps for the types of a file and of its bases. Zero *w first. */
void c_work_add(struct c_work *w, const struct btf *btf);

/* False when so many are not left; nothing is from then on. */
static inline bool c_work_take(struct c_work *w, u32 n)
{
	w->out |= w->left < n;
	w->left = w->out ? 0 : w->left - n;
	return !w->out;
}

#endif
