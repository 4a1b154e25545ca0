/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lines of a page as out/metrics.h writes it, for other forms. */
#ifndef OUT_METRICS_LINES_H
#define OUT_METRICS_LINES_H

#include "base/buf.h"
#include "base/str.h"

struct metrics_sample {
	struct str name;
	struct str
		labels;   /* key="value",... but for the last one when that is `le` or `quantile` */
	struct str last;  /* ... its value */
	struct str value; /* the rest of the line */
};

/* False: it is none. */
bool metrics_read_sample(struct str line, struct metrics_sample *s);
/* Takes a label off the front. False: there is none, or no more. */
bool metrics_next_label(struct str *s, struct str *key, struct str *value);
/* The text with its escapes done, in `room` where there are some. */
struct str metrics_plain(struct buf *room, struct str s);
/* Ends at what is no number. */
double metrics_real(struct str s);
u64 metrics_number(struct str s);
/* A bucket of a native histogram, "-5:3", and its count. */
s64 metrics_bucket(struct str one, u64 *n);

#endif
