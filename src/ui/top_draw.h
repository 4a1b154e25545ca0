/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of a table on the terminal, shared by what handles its keys and what draws it. */
#ifndef UI_TOP_DRAW_H
#define UI_TOP_DRAW_H

#include <stdio.h>

#include "ui/top.h"

struct top {
	struct term term;
	const struct top_model *model;
	struct arena arena; /* what the rows point to */
	u8 *rows;           /* n of them */
	u32 n;
	u32 *order; /* indices of those shown, in their order */
	u32 shown;
	u32 sort; /* column */
	bool ascending, paused, help, typing, quit;
	u32 chosen, top; /* places in the order: the row keys act on, the first that is drawn */
	u32 room;        /* rows that fit, when it was drawn last */
	u32 shift;       /* bytes of the names that are left of the table */
	char filter[TOP_FILTER], typed[TOP_FILTER];
	char message[256]; /* until the next key */
	u8 *page_row;      /* NULL: no page about a row is open */
	bool whole;        /* the page about all is */
	struct arena page_arena;
	bool page_gone; /* the row is no more */
	u32 page_first; /* line of the page that is drawn first */
};

struct top_binding {
	int key;
	const char *label, *help; /* NULL: another name of the one before */
	void (*act)(struct top *t);
};
extern const struct top_binding top_bindings[];
extern const u32 top_n_bindings;

/* Row i of the order. */
const void *top_row(const struct top *t, u32 i);
void top_draw(struct top *t);

#endif
