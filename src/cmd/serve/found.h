/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A collector for each cache server of this machine, also for those that begin later: mctop, which
 * by itself follows one that is started again. One that has been gone for ten minutes is forgotten.
 */
#ifndef CMD_SERVE_FOUND_H
#define CMD_SERVE_FOUND_H

#include "cmd/serve/plan.h"

#define FOUND_MOST 16u

struct found;

struct founds {
	struct found *v[FOUND_MOST];
	u32 n;
	u32 beyond; /* servers for which there was no place */
	u64 next;   /* ms of CLOCK_MONOTONIC: when to look again */
};

/* Looks when it is time. False: it is not; else there may be others than before. */
bool founds_look(struct founds *f, const struct plan *p);
/* Milliseconds until it is. */
int founds_wait(const struct founds *f);
struct collector *found_collector(struct found *one);
/* Ends all. */
void founds_free(struct founds *f);

#endif
