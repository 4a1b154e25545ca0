/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Speaking to the user: all that memtap writes to stderr, in one form and with one rule about
 * colours (MEMTAP_COLOR or BPFTRACE_COLOR: auto, always, never; NO_COLOR), and what commands print
 * to stdout. That this could not be written is said here, once, and main() makes a status of it.
 */
#ifndef CMD_SAY_H
#define CMD_SAY_H

#include "base/err.h"
#include "base/opt.h"
#include "lang/parse/source.h"

/* "ERROR: text", and "HINT: ..." when there is one. */
void say_error(const struct err *e);
/* The same, at its place in the script when it has one. */
void say_failure(const struct source *s, const struct err *e);
void say_warning(const char *text);
/* As it is, on lines of its own. */
void say_note(const char *text);
/* Errors and, with `warnings`, warnings about a script. */
void say_diags(const struct diags *d, bool warnings);
/* One message about a place of a script's text, as it is; hint may be NULL. */
void say_at(const struct source *s, enum diag_level level, struct loc loc, const char *text,
            const char *hint);
/* Writes a whole buffer to stdout; on a terminal foreign text is escaped (base/escape.h), so that
 * it has no colours. False when that failed now or before: there is no use in more. */
bool say_output(const struct buf *b);
/* The same after what clears the screen. */
bool say_screen(const char *clear, const struct buf *text);
/* --help of a command, on stdout: a text before its options and one after, NULL none. Returns 0. */
int say_usage(const char *head, const struct opt *rows, u32 n, const char *tail);

/* Around everything: stands in for a standard descriptor that is closed, lest a file of ours takes
 * its number. */
void say_begin(void);
/* Closes stdout. The exit status: `code`, but 1 when not all could be written. */
int say_end(int code);

#endif
