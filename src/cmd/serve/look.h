/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the page shows: the tables of all collectors and of the machine, as --json prints them,
 * every two seconds to those who listen; and the last ten minutes of memory.
 */
#ifndef CMD_SERVE_LOOK_H
#define CMD_SERVE_LOOK_H

#include "cmd/serve/shots.h"
#include "memstat/memstat.h"
#include "web/http.h"

struct serve;

struct look {
	struct memstat looks[2]; /* of the machine, what is shown is what passed in between */
	u32 now;                 /* the last one */
	u64 read_at, next;       /* ms of CLOCK_MONOTONIC: of the last, and when to tell the next */
	struct memstat_history history;
	u64 next_moment;
	struct shots shots;
	struct arena policy; /* of the last answer */
};

/* What is to be done when it is time. Returns the milliseconds until it is again. */
int look_work(struct serve *s);
void look_free(struct look *l);

/* /api/v1/... and the files of the page. False: none of these. */
bool look_answer(struct serve *s, const struct http_ask *ask, struct http_reply *r);

#endif
