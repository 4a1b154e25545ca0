/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hot keys of a cache as a table on the terminal.
 */
#ifndef UI_HOT_SCREEN_H
#define UI_HOT_SCREEN_H

#include "cache/report.h"
#include "ui/top.h"

struct hot_screen {
	struct hot *hot;
	/* Of the server and the moment; rows are not used. To be set before each top_tick(). */
	struct report_of now;
	/* D: writes what was counted somewhere, and says so or why not in b. NULL: to nowhere.
	 * False: nothing was written, and what was counted stays. */
	bool (*dump)(void *ctx, struct buf *b);
	void *dump_ctx;
	struct top_model model; /* for top_new(), filled by hot_screen_init() */
};

/* hot, and dump where it is wanted, are set. `by`: what rows are sorted by at first. */
void hot_screen_init(struct hot_screen *s, enum hot_sort by);

#endif
