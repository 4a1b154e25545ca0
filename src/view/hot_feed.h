/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What `memtap serve` runs of mctop: it counts as mctop does, and prints nothing. */
#ifndef VIEW_HOT_FEED_H
#define VIEW_HOT_FEED_H

#include "view/metrics_feed.h"

struct hot_feed;

struct hot_feed *hot_feed_new(void);
void hot_feed_free(struct hot_feed *f);
/* For metrics_feed_open(); it is the feed's. */
const struct metrics_source *hot_feed_source(struct hot_feed *f);

#endif
