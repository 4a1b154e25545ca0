/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hot keys as a block of text, as a JSON object on a line, or as lines of CSV.
 * Times are microseconds, sizes bytes, rates calls a second.
 */
#ifndef CACHE_REPORT_H
#define CACHE_REPORT_H

#include "cache/hot.h"
#include "cache/missed.h"

/* One interval, ready to be printed; borrowed. */
struct report_of {
	const struct hot *hot;
	const struct hot_row *rows;
	u32 n;
	u64 time;           /* now, nanoseconds since the epoch */
	u64 clock;          /* the same moment on the commands' clock */
	const char *server; /* "memcached" */
	u32 pid;
	struct missed missed;
};

enum report_form { REPORT_TEXT, REPORT_JSON, REPORT_CSV };

/* Goes before the first: the column titles of CSV. */
void report_head(struct buf *b, enum report_form form);
void report_print(struct buf *b, enum report_form form, const struct report_of *r);
/* A key as it is shown: bytes that are not printable ASCII, and backslashes, as \xNN and \\. */
void report_key(struct buf *b, struct str key);
/* "812", "81.2k", "8.1M": four places at most. */
void report_number(struct buf *b, double n);

#endif
