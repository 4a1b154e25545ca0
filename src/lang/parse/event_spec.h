/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What BCC's trace and argdist let stand after an event, as text of this language:
 *
 *     c:open (arg2 == 42) "%s %d", arg1, arg2         filter, format and values
 *     p:c:malloc(size_t n):size_t:n:n==16#malloc 16   types, values, filter and label
 */
#ifndef LANG_PARSE_EVENT_SPEC_H
#define LANG_PARSE_EVENT_SPEC_H

#include "base/arena.h"
#include "lang/parse/event_text.h"
#include "lang/parse/source.h"

struct event_spec {
	const char *filter; /* an expression, "1" without one */
	const char *values; /* "name=expression, ...", fields of a record; "" without any */
	const char *value;  /* the first expression */
	const char *format; /* of the values, of printf: without quotes, its escapes as they were
			       written; as `rows` when types stood in place of a format */
	const char *rows;   /* what print()'s rows show of the values: "size {size:%x}" */
	/* As `values` and `rows`; where there are no values calls, and what returns return. */
	const char *counted, *counted_rows;
	const char *label;  /* the text in quotes */
	const char *name;   /* an expression: the event's own name in quotes, or `probe` */
	/* What a return wants to know of its function's entry, statements of both: at the entry it
	 * is kept, after the body it is dropped. NULL when nothing is wanted. */
	const char *keep, *drop;
	u32 number;         /* of the event, for maps of its own */
	bool given;         /* something stands after the event */
};

/* In these texts pieces that the user typed stand between two marks: after the first are the offset
 * and the length of their place in the source, in 8 hex digits each. */
#define EVENT_MARK   '\1'
#define EVENT_UNMARK '\2'
#define EVENT_MARK_N 16u

/* Reads what stands after the event of `text`, for a script whose source it may be a part of. NULL,
 * or a sentence that says what is wrong; *at is then where. */
const char *event_spec_read(struct event_spec *s, struct arena *a, const struct event_text *text,
			    const struct source *source, struct str *at);
/* Counts arguments from 1, as the user did, in what is said about them: arg0 becomes arg1. `size`
 * is the text's room. */
void event_spec_numbers(char *text, size_t size);

#endif
