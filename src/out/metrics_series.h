/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The series of a map: which of them are shown by themselves, what the one labelled other has
 * counted, and which have ended. Counters are right across all of that: each count is in one
 * series, the one that its key had when it was counted.
 *
 *   a key gets a place           its series begins at 0, "other" keeps what it counted before
 *   a series ends, returns       it is 0 once more, so that a reader sees it begin again
 *   rows without a place go      "other" keeps what it had of them
 */
#ifndef OUT_METRICS_SERIES_H
#define OUT_METRICS_SERIES_H

#include "out/metrics.h"

struct series {
	const char *labels; /* "" none, else key="a",order="3" */
	u32 first, n;       /* rows: 1 + the number of one, serieses.next has the others */
	u64 hash;           /* of the labels */
	u64 counted;        /* what its rows counted, all together: another when a key has come */
	u64 changed;        /* metrics.now when that was another one last */
	bool again;         /* it had ended: this page shows 0 */
	bool ended, placed; /* on this page */
	const u64 *base;    /* counts that are in "other"; NULL none */
	struct metrics_known *before; /* what it was on the last page, NULL not there */
	u32 rank; /* of its largest row: the last rows of the table are the largest */
	const struct cell *value;
};

struct serieses {
	const struct table *t;
	struct metrics *m;
	struct arena arena;
	struct buf labels, text;
	u32 *next; /* of each row: 1 + the number of the series' next one, 0 none */
	struct series *all;
	u32 *places, mask; /* of a series by its hash: 1 + its number, 0 free */
	u32 n;
	struct series **order; /* those with a place come first */
	u32 n_shown;
	bool rest; /* there is one labelled other */
	struct cell other;
};

/* Rows with equal labels (two addresses of one symbol, say) are one series, their sum. `labels`
 * adds a row's to s->labels. */
void metrics_series_find(struct serieses *s, struct metrics_shown *shown,
                         void (*labels)(struct serieses *s, const struct row *r));
/* Takes those away that have ended, gives places, adds up. */
void metrics_series_settle(struct serieses *s, struct metrics_shown *shown);
void metrics_series_free(struct serieses *s);

#endif
