/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Command-line options as a table: parsing, messages and the usage text come from the same rows,
 * so they can not disagree. Options may stand anywhere; "--" ends them.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum opt_kind {
	OPT_FLAG,   /* bool */
	OPT_TEXT,   /* const char *, borrowed from argv */
	OPT_LIST,   /* struct opt_rest: each value, in order */
	OPT_CHOICE, /* const char *, one of the words of `arg`: "text|json" */
	OPT_NUMBER, /* u32 from 1 to INT32_MAX */
	OPT_SWITCH, /* const char *: "true", or what is attached: --name=false */
	OPT_PASS,   /* a row that says: what begins with '-' and an unknown letter is no option */
};

struct opt {
	char short_name;       /* 0 none */
	const char *long_name; /* without "--", NULL none */
	const char *arg;       /* what stands after it, for the usage; NULL for flags */
	enum opt_kind kind;
	size_t off;       /* where in the caller's struct the value goes */
	const char *help; /* NULL: works, and is not in the usage */
};

/* What is not an option, in order. */
struct opt_rest {
	const char **v;
	u32 n;
};

/*
 * Reads argv[1] and following into the zeroed struct at `to`. False and *e, with a hint, at the
 * first argument that is wrong.
 */
bool opt_parse(const struct opt *rows, u32 n, void *to, struct arena *a, int argc, char **argv,
               struct opt_rest *rest, struct err *e);
/* The same up to the first argument that is no option, or "--": from there on all is in rest. */
bool opt_parse_head(const struct opt *rows, u32 n, void *to, struct arena *a, int argc, char **argv,
                    struct opt_rest *rest, struct err *e);
/* One line an option. */
void opt_usage(struct buf *b, const struct opt *rows, u32 n);

#endif
