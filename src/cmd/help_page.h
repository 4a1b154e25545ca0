/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The pages of docs/ that are part of the program, section by section: what `memtap help` shows is
 * what is read there.
 */
#ifndef CMD_HELP_PAGE_H
#define CMD_HELP_PAGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define PAGE_LANGUAGE "docs/language.md"
#define PAGE_TROUBLE  "docs/troubleshooting.md"

/* The text of a page, NUL-terminated, in the arena. */
struct str help_page(struct arena *a, const char *page);
/*
 * Adds the sections of a page whose heading names a word: "### `str(pointer)`" names str, and
 * "### `+ -`" both operators. False when there is none.
 */
bool help_page_word(struct buf *b, struct str page, struct str word);
/*
 * Adds the sections whose heading has all words of a message, or whose words a message has, in any
 * letters. What stands in capitals in a heading, such as NAME, stands for any word.
 */
bool help_page_message(struct buf *b, struct str page, struct str message);

#endif
