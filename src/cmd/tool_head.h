/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The comment at the head of a script, which is its documentation:
 *
 *      NAME - one line that says what it shows
 *
 *      USAGE: memtap NAME [options] ...
 *
 *      Paragraphs.
 *
 *      FIELDS:
 *        PID    the process
 *      EXAMPLES:
 *        memtap NAME -p 123     what that answers
 *
 * --help and the manual page are made of it and of the options that the script declares.
 */
#ifndef CMD_TOOL_HEAD_H
#define CMD_TOOL_HEAD_H

#include "base/arena.h"
#include "base/buf.h"
#include "lang/parse/lang.h"

struct head_section {
	const char *title;     /* "USAGE", "FIELDS", ...; NULL: paragraphs */
	VEC(struct str) lines; /* without the comment's own marks; empty ones only between others */
};

struct tool_head {
	struct str name, summary; /* of the first line */
	VEC(struct head_section) sections;
};

/* Reads the head of a text into the zeroed *h; borrowed from it, lists in the arena. False when it
 * has none. */
bool tool_head_parse(struct tool_head *h, struct arena *a, struct str text);
/* How it is called, the first line of it: "memtap NAME [options]"; NULL: it does not say. */
const char *tool_head_usage(const struct tool_head *h, struct arena *a);
/* What --help prints. */
void tool_head_help(struct buf *b, const struct tool_head *h, const struct script *s);
/* The manual page, for man(7). */
void tool_head_man(struct buf *b, const struct tool_head *h, const struct script *s);

#endif
