/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A command line as words, as a shell would for blanks, quotes and backslashes; nothing else is
 * special. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include "base/arena.h"
#include "base/err.h"

/* *words in the arena, n of them and a NULL. False and *e, which begins with `what` ("the command
 * of -c"), when a quote is not closed or there is no word. */
bool words_split(struct arena *a, const char *what, const char *text, char ***words, u32 *n,
                 struct err *e);

#endif
