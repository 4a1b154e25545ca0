/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The directives of a printf format: parsed here once for the compiler's checks and for the
 * printer.  %[-+ #0][width][.precision][hh h l ll j z t L]conv
 */
#ifndef UNIT_FORMAT_H
#define UNIT_FORMAT_H

#include "base/buf.h"
#include "base/str.h"
#include "unit/type.h"

struct format_part {
	struct str literal; /* text before the directive (or to the end) */
	bool has_directive;
	bool minus, plus, space, hash, zero;
	u32 width;       /* 0 none; at most 4096 */
	s32 precision;   /* -1 none */
	u8 bytes;        /* integer width asked for: 1 hh, 2 h, 8 l ll j z t, 4 without */
	char conv;       /* d i u x X o c p s r g, '%' is folded into literals of its own part */
	char sub;        /* after r: 'x' or 'h'; after g: 'r'; else 0 */
	struct str text; /* the directive as written, for messages */
};

/* Reads the next part at *p and moves *p. False at the end of the format or when it is wrong:
 * then *problem is a sentence, else NULL. */
bool format_next(const char **p, struct format_part *part, const char **problem);

/* How many values a format shows; of a wrong one those before the mistake. */
u32 format_directives(const char *format);

/* NULL when the arguments fit the format, else the sentence to show:
 * "not enough arguments for format string (1 supplied, 2 expected)",
 * "unsupported format specifier for type 'string[2]': d". Lives in the arena. *at is the argument
 * that it is about, n when it is about the format; `at` may be NULL. */
const char *format_check(struct arena *a, const char *format, const struct type *const *types,
                         u32 n, u32 *at);

#endif
