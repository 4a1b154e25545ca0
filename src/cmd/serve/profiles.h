/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * /debug/pprof/: the stacks of collectors as files for pprof, since they began or of some seconds.
 */
#ifndef CMD_SERVE_PROFILES_H
#define CMD_SERVE_PROFILES_H

#include "view/metrics_feed.h"
#include "web/http.h"

#define PROFILES_SECONDS 300u /* at most */

struct serve;

/* A request that waits for its seconds to pass; its place is the mark that it has with its
 * collector. */
struct profile_wait {
	u64 number; /* of its answer; 0: the place is free */
	u64 due;    /* ms of CLOCK_MONOTONIC */
	char *collector, *map;
	u64 start; /* which start of the collector it was */
};

struct profiles {
	struct profile_wait v[FEED_MARKS];
};

/* False: the path is another one. */
bool profiles_answer(struct serve *s, const struct http_ask *ask, struct http_reply *r);
/* What is to be done when it is time. Returns the milliseconds until it is again, -1 never. */
int profiles_work(struct serve *s);
void profiles_free(struct profiles *p);

#endif
