/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The same work for several things, each in a process of its own, some of them at a time. What they
 * print comes in their order, each as soon as those before it are done.
 */
#ifndef CMD_WORKERS_H
#define CMD_WORKERS_H

#include "base/buf.h"

/* Works on the i-th thing and appends what is to be printed to *out. True: it went well. */
typedef bool worker_fn(void *ctx, u32 i, struct buf *out);
/* In the order of i: what was printed about it. `signal`: the process that worked on it was ended
 * by this one before it could say how it went; 0: it was not. */
typedef void worker_done_fn(void *ctx, u32 i, const struct buf *out, bool good, int signal);

/* Works on n things, at most `at_once` at the same time. Where no more processes can be had, in
 * this one. */
void workers_run(u32 n, u32 at_once, worker_fn *work, worker_done_fn *done, void *ctx);

#endif
