/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Foreign text without what acts on a terminal or forges lines: control characters, bytes that are
 * not UTF-8, and the marks that turn the direction of writing become \n, \t, \x1b, \u202e. A
 * backslash stays as it is: this is for people, and JSON for programs.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "base/buf.h"
#include "base/str.h"

enum escape {
	ESCAPE_NONE,
	ESCAPE_LINES, /* only what breaks a line */
	ESCAPE_TEXT,  /* all but newlines and tabs: of a text that has lines of its own */
	ESCAPE_ALL,
};

void escape_add(struct buf *b, struct str s, enum escape how);
/* What b holds from `from` on. Text that was escaped before stays as it is. */
void escape_from(struct buf *b, size_t from, enum escape how);
/* A string in its own room of `size` bytes; what no longer fits is cut. */
void escape_string(char *text, size_t size, enum escape how);
/* True when the character at byte i, of n bytes (str_utf8), is one that ESCAPE_ALL changes. */
bool escape_is_needed(struct str s, u32 i, u32 n);

#endif
