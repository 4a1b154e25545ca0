/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A table that fills the terminal: sorted by any column, scrolled, filtered, paused, and a page
 * about one row. What the rows are is a model: constant columns and a few functions.
 */
#ifndef UI_TOP_H
#define UI_TOP_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "ui/term.h"

#define TOP_ROWS   1000u /* fetched at most */
#define TOP_FILTER 64u

struct top_column {
	const char *title;
	u32 width;        /* the first column, the name, takes what is left and at least this */
	u32 rank;         /* where there is no room for all, the highest goes first */
	char key;         /* sorts by it, the largest first; 0 none */
	const char *help; /* what it is: "calls since the start" */
	/* One cell; unprintable bytes of names escaped. */
	void (*print)(struct buf *b, const void *row);
	/* What it is sorted by; NULL: it is not. */
	double (*value)(const void *row);
};

struct top_query {
	u32 column; /* sorted by */
	bool ascending;
	struct str filter; /* only rows whose name has these bytes; empty: all */
	u32 n;             /* rows at most */
};

struct top_model {
	const struct top_column *columns;
	u32 n_columns;
	u32 first; /* column sorted by at first */
	u32 row_size;
	/*
	 * The rows now, at most q->n of row_size bytes, in any order; they and what they point to
	 * are from the arena. Returns how many.
	 */
	u32 (*fetch)(void *ctx, const struct top_query *q, struct arena *a, void *rows);
	/* Two lines above the table. */
	void (*head)(void *ctx, struct buf *b);
	/* The row as it is now; false when it is gone. */
	bool (*again)(void *ctx, struct arena *a, void *row);
	/* The page about one row: lines. */
	void (*page)(void *ctx, struct buf *b, const void *row);
	/* The page about all of them together. */
	void (*whole)(void *ctx, struct buf *b);
	/* Writes what there is somewhere and forgets it; what became of that goes to b. */
	void (*dump)(void *ctx, struct buf *b);
	void *ctx;
};

struct top;

/* Draws nothing yet. All is borrowed; the terminal stays the caller's. */
struct top *top_new(const struct term *t, const struct top_model *m);
void top_free(struct top *t);
/* Does what the waiting keys say and draws. False when the user wants to leave. To be called when
 * there is something to read, and when a signal came: the size may have changed. */
bool top_input(struct top *t);
/* The same with rows taken anew, unless paused. */
bool top_tick(struct top *t);
/* Draws a line at the foot, which stays there until a key is pressed. */
void top_say(struct top *t, const char *text);

#endif
