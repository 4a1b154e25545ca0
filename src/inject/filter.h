/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the filters of a process (seccomp) would do about a system call, found out by running them
 * here: to try it may kill the process.
 */
#ifndef INJECT_FILTER_H
#define INJECT_FILTER_H

#include <linux/filter.h>
#include <sys/types.h>

#include "base/err.h"

struct filter_call {
	u64 number;
	u64 ip; /* of the call instruction; the kernel gives filters what comes after it */
	const u64 *args;
};

/* What a filter of n instructions returns for the call; 0 (kill) for one that is damaged. */
u32 filter_run(const struct sock_filter *f, u32 n, const struct filter_call *c);
/* False and *e unless all filters of a thread that stands still under ptrace let the call pass;
 * `mode` is the thread's (SECCOMP_MODE_*). */
bool filter_allows(pid_t tid, u64 mode, const struct filter_call *c, struct err *e);

#endif
