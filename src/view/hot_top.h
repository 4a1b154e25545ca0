/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* mctop on the terminal: the screen, and the one descriptor that a view waits for. */
#ifndef VIEW_HOT_TOP_H
#define VIEW_HOT_TOP_H

#include "ui/hot_screen.h"

struct hot_top {
	struct term term;
	struct hot_screen screen;
	struct top *top; /* NULL: not open */
	int fd;          /* readable when a key waits, or the other descriptor is; -1: not open */
};

/* `screen.hot`, and `screen.dump` where it is wanted, are set. `other`: a descriptor that is waited
 * for too, -1 none. False and *e when there is no terminal. */
bool hot_top_open(struct hot_top *t, enum hot_sort by, int other, struct err *e);
/* Not open is fine. */
void hot_top_close(struct hot_top *t);
/* Another descriptor instead of `other`; -1 none. */
void hot_top_watch(struct hot_top *t, int other, bool on);
/* Draws what there is now, with rows taken anew. False when the user wants to leave. */
bool hot_top_tick(struct hot_top *t, const struct report_of *now);
/* Keys may wait. False when the user wants to leave. */
bool hot_top_input(struct hot_top *t);

#endif
