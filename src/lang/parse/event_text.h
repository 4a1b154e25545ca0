/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The text by which a user names an event when a script is run, as in "t:vmscan:*", "c:malloc" or
 * "/^tcp_/", cut into its pieces. Nothing is looked up.
 */
#ifndef LANG_PARSE_EVENT_TEXT_H
#define LANG_PARSE_EVENT_TEXT_H

#include "base/str.h"

#define EVENT_PARTS_MAX 8u

/* The pieces point into the text. */
struct event_text {
	u32 number; /* of the event among those of the script, for maps of its own */
	bool regex;   /* the last part is an extended regular expression */
	struct str head; /* all of the probe */
	struct str part[EVENT_PARTS_MAX]; /* of it, between ':' */
	u32 n_parts;
	struct str rest; /* what stands after the probe, without blanks at its ends */
};

/* Cuts `text`. NULL, or a sentence that says what is wrong. */
const char *event_text_read(struct event_text *e, struct str text);

#endif
