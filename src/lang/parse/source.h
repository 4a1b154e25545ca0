/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The text of a script and the diagnostics about it. Diagnostics are collected, sorted by
 * place and rendered with the source line and a caret; nothing here prints to the terminal.
 */
#ifndef LANG_PARSE_SOURCE_H
#define LANG_PARSE_SOURCE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/unit.h"

/* A piece of a text that was made, and where it comes from. Pieces lie in each other: the
 * smallest around a place is meant. */
struct piece {
	u32 off, len;
	struct loc from;
};

struct source {
	const char *name; /* "stdin" for -e and '-', else the path */
	const char *text; /* NUL-terminated copy in the arena */
	u32 n;            /* at most SOURCE_MAX */
	VEC(struct usource) imports; /* files whose text is after the script's own */
	VEC(struct piece) pieces;  /* of texts that were made */
	u32 headers;                 /* from here on it is text of #include; 0 there is none */
	/* It is a part of the program: what is wrong is said without the place in it, but for what
	 * stood on the command line. */
	bool hidden;
};

#define SOURCE_MAX (16u << 20)

/* Copies the text of -e. False and *e when it is too long. */
bool source_set(struct source *s, struct arena *a, const char *name, struct str text,
                struct err *e);
/* Reads a file, or standard input when path is "-". */
bool source_read(struct source *s, struct arena *a, const char *path, struct err *e);

/* Puts a text after all there is, as a file of that name; both are copied. Returns its offset. */
u32 source_append(struct source *s, struct arena *a, const char *name, struct str text);
/* The same with a text of the command line. */
u32 source_append_typed(struct source *s, struct arena *a, const char *name, struct str text);
/* The same with a text that was made of others: its pieces, their offsets from its start, are
 * taken. */
u32 source_append_made(struct source *s, struct arena *a, const char *name, struct str text,
                       const struct piece *pieces, u32 n);
/* Makes *loc, in a text that was made, the place that it comes from. False: the user does not know
 * the text that it is in. */
bool source_place(const struct source *s, struct loc *loc);
/* True for a place in a text that was made, where it comes from the command line. */
bool source_is_typed(const struct source *s, struct loc loc);

enum diag_level { DIAG_ERROR, DIAG_WARNING };

struct diag {
	enum diag_level level;
	struct loc loc;
	const char *text;
	const char *hint; /* "did you mean 'x'?", or NULL */
	VEC(struct loc) uses; /* of the macro that `loc` is in, of the one that use is in, ... */
	bool is_cause;    /* other errors may follow from it, and are not shown */
};

/* Collects; owns nothing but what it puts into the arena. At most 20 errors are kept. */
struct diags {
	struct arena *arena;
	const struct source *source;
	VEC(struct diag) list;
	u32 n_errors;
};

/* Adds an error and returns false. */
bool diag_error(struct diags *d, struct loc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_warn(struct diags *d, struct loc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Takes back the warnings about what lies at `from` or after. */
void diag_drop_warnings(struct diags *d, u32 from);
/* The diagnostic added last is about a macro's text, which is used there; then of the macro in
 * which that is, and so on. */
void diag_use(struct diags *d, struct loc use);
/* Hint for the diagnostic added last. */
void diag_hint(struct diags *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The diagnostic added last is what was typed, or what the script itself refuses. */
void diag_cause(struct diags *d);
/* The error to report when it is only one; NULL: there is none. */
const struct diag *diag_first(const struct diags *d);
/*
 * All diagnostics as text, errors first, what is the same only once:
 *   stdin:1:20-25: ERROR: Unknown function: 'cnt'
 *   BEGIN { @x = cnt(); }
 *                ~~~
 *   HINT: did you mean 'count'?
 * Columns count from 1, the end column is exclusive, tabs count as 4 blanks. With color, the
 * words ERROR, WARNING and HINT are coloured.
 */
void diag_print(struct buf *b, const struct diags *d, bool color);
/* The file that an offset is in. */
const char *source_name(const struct source *s, u32 off);
/* Line and column of an offset in its file, from 1. */
void source_line(const struct source *s, u32 off, u32 *line, u32 *column);

#endif
