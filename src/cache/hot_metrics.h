/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A cache server as metrics (out/metrics.h): what all of it was asked, how long the answers took,
 * its hottest keys, the hit-ratio curve. Keys are a label: of a key that others displace, the
 * series ends; what all keys have together is in the server's own. Pure.
 */
#ifndef CACHE_HOT_METRICS_H
#define CACHE_HOT_METRICS_H

#include "cache/hot.h"
#include "cache/missed.h"
#include "cache/sizing.h"
#include "out/metrics.h"

#define HOT_SERVED_FIRST 10u /* below 2^11 ns */
#define HOT_SERVED       24u

/* How long answers took: a bucket for each power of two. All zero is empty. */
struct hot_served {
	u64 n[HOT_SERVED];
	u64 ns; /* together */
};

void hot_served_add(struct hot_served *s, u64 ns);

struct hot_metrics {
	const char *labels; /* of every series */
	enum metrics_form form;
	struct hot *hot;
	const struct hot_row *rows; /* the hottest keys */
	u32 n;
	const struct hot_served *served;
	const struct sizing *sizing; /* NULL: no curve */
	struct missed missed;
	bool up;                          /* the server runs */
	const char *server;               /* its name */
	const struct cgroup_names *where; /* it runs in, NULL not known */
};

void hot_metrics(struct buf *b, const struct hot_metrics *m);

#endif
