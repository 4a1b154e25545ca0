/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether a thread is in a piece of code, or comes back there.
 */
#ifndef INJECT_THERE_H
#define INJECT_THERE_H

#include "inject/hold.h"

/* Addresses [start, end) of code. */
struct there_code {
	u64 start, end;
};

/*
 * The thread whose instruction pointer is in one of n pieces, or on whose stack there is such an
 * address: a caller's, or one where a signal came. An address that nobody will use any more counts
 * too. 0 when there is none, -1 and *e when a stack can not be read.
 */
pid_t there_who(struct hold *h, const struct there_code *v, u32 n, struct err *e);

#endif
