/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hot keys as a block of text, as an object for a format, or as lines of CSV.
 * Times are microseconds, sizes bytes, rates calls a second.
 */
#ifndef CACHE_REPORT_H
#define CACHE_REPORT_H

#include "cache/hot.h"
#include "cache/missed.h"
#include "out/tree.h"

/* One interval, ready to be printed; borrowed. */
struct report_of {
	const struct hot *hot;
	const struct hot_row *rows;
	u32 n;
	u64 time;           /* now, nanoseconds since the epoch */
	u64 clock;          /* the same moment on the commands' clock */
	const char *server; /* "memcached" */
	u32 pid;
	bool gone;     /* it has ended and is waited for */
	bool commands; /* with what hot_verbs() has */
	struct missed missed;
};

void report_text(struct buf *b, const struct report_of *r);
void report_tree(struct tree *t, const struct report_of *r);
/* The titles of the columns, which go before the first. */
void report_csv_head(struct buf *b);
void report_csv(struct buf *b, const struct report_of *r);
/* A key as it is shown: bytes that are not printable ASCII, and backslashes, as \xNN and \\. */
/* "11:12:51", of ns since the epoch. */
void report_clock(struct buf *b, u64 time);
/* "; latencies, sizes and clients of one key in 100"; nothing where it is all keys. */
void report_sample(struct buf *b, const struct hot *h);
void report_key(struct buf *b, struct str key);
/* "812", "81.2k", "8.1M": four places at most. */
void report_number(struct buf *b, double n);

#endif
