/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The self check: what was counted against the server's own counters over the same time.
 */
#ifndef VIEW_CACHE_CHECK_H
#define VIEW_CACHE_CHECK_H

#include "cache/hot.h"
#include "cache/report.h"
#include "view/servers.h"

#define CACHE_CHECKS 20u

struct cache_check {
	bool redis;
	u64 datagrams; /* the port of those that are not seen, 0 none */
	u64 before[CACHE_CHECKS];
	u32 pid;
};

/* Asks the server for its counters over loopback. */
bool cache_check_begin(struct cache_check *c, const struct server *s, struct err *e);
/* Asks again, and adds a line for what differs, or one that says that nothing does. `r` has what
 * was counted, and what was missed, which explains a difference. */
void cache_check_end(struct cache_check *c, const struct server *s, const struct report_of *r,
                     const struct tree_ops *ops, struct buf *b);

#endif
