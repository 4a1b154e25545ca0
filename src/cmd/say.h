/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Speaking to the user: all that memtap writes to stderr, in one form and with one rule about
 * colours (MEMTAP_COLOR or BPFTRACE_COLOR: auto, always, never).
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
/* One message about a place of a script's text; hint may be NULL. */
void say_at(const struct source *s, enum diag_level level, struct loc loc, const char *text,
            const char *hint);
/* Writes a whole buffer to stdout. */
void say_output(const struct buf *b);
/* --help of a command, on stdout: a text before its options and one behind, NULL none. Returns 0. */
int say_usage(const char *head, const struct opt *rows, u32 n, const char *tail);

#endif
