/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where threads that stand still go on, in pieces of code that are to change.
 */
#ifndef INJECT_THERE_H
#define INJECT_THERE_H

#include "inject/hold.h"

/* Addresses [start, end) of code. */
struct there_code {
	u64 start, end;
};

/* An address at which thread h->v[thread] goes on: its instruction pointer now, or, at `at` on one
 * of its stacks, the one where a signal came, which may be over already. */
struct there_ip {
	u32 thread;
	u64 at; /* 0: now */
	u64 ip;
};

struct there {
	struct there_ip *v;
	u32 n, room;
};

/* All that lie in one of n pieces. False and *e when a stack can not be read. there_free() either
 * way. */
bool there_find(struct hold *h, const struct there_code *v, u32 n, struct there *t, struct err *e);
/* Threads go on at what `ip` says by now. */
bool there_set(struct hold *h, const struct there *t, struct err *e);
void there_free(struct there *t);

#endif
