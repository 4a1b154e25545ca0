/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A terminal as a grid of characters with styles, and keys. A screen draws through this table of
 * functions and does not know what is behind it: ncurses (term_curses.c), or a grid in memory.
 */
#ifndef UI_TERM_H
#define UI_TERM_H

#include "base/err.h"

enum term_style {
	TERM_PLAIN,
	TERM_BOLD,
	TERM_DIM,
	TERM_HEAD,   /* titles of columns */
	TERM_SORTED, /* the title of the column that rows are sorted by */
	TERM_CHOSEN, /* the row that keys act on */
	TERM_NOTE,   /* something the user should notice */
	TERM_STYLES,
};

/* Keys that are no characters. */
enum term_key {
	TERM_NONE = -1, /* no key waits */
	TERM_UP = 0x110000,
	TERM_DOWN,
	TERM_LEFT,
	TERM_RIGHT,
	TERM_HOME,
	TERM_END,
	TERM_PAGE_UP,
	TERM_PAGE_DOWN,
	TERM_ENTER,
	TERM_ESCAPE,
	TERM_BACKSPACE,
	TERM_RESIZE, /* the size is another one */
};

struct term_ops {
	void (*size)(void *ctx, u32 *rows, u32 *columns);
	void (*clear)(void *ctx);
	/* n bytes of what the locale can show, all of it inside the grid. */
	void (*put)(void *ctx, u32 row, u32 column, enum term_style style, const char *text, u32 n);
	/* Brings what was drawn since clear() to the eye. */
	void (*show)(void *ctx);
	/* A key or TERM_NONE, without waiting. */
	int (*key)(void *ctx);
};

struct term {
	const struct term_ops *ops;
	void *ctx;
};

/*
 * Takes the terminal at standard input and output over; keys come from standard input. Until
 * term_close() it is also given back when a signal ends the process. One at a time. False and *e,
 * with a hint, when there is no terminal, none of that kind is known, or ncurses is not installed.
 */
bool term_open(struct term *t, struct err *e);
void term_close(void);

/* What clears the screen at standard output; NULL when it is no terminal, or one that can not or is
 * not known. */
const char *term_clear(void);
/* TERM says that control sequences mean nothing: "dumb", or nothing at all. */
bool term_is_dumb(void);
/* NO_COLOR is set, and not empty: see no-color.org. */
bool term_no_color(void);

#endif
