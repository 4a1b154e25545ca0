/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Answers that do not end: server-sent events (text/event-stream). What is told goes to all who
 * listen; one that does not take it is left behind and then ended. At most 16 at a time, 2 MiB
 * waiting for each.
 */
#ifndef WEB_STREAM_H
#define WEB_STREAM_H

#include <microhttpd.h>

#include "base/buf.h"
#include "base/str.h"

#define STREAMS      16u
#define STREAM_BYTES (2u << 20)

/* clang-format off */
#define STREAM_FUNCTIONS(F) /* of the library */                                                   \
	F(MHD_create_response_from_callback) F(MHD_suspend_connection) F(MHD_resume_connection)
/* clang-format on */

#define STREAM_POINTER(name) __typeof__(name) *name;

struct stream;

/* All of a server's; zeros but for lib. */
struct streams {
	struct {
		STREAM_FUNCTIONS(STREAM_POINTER)
	} lib;
	struct stream *first;
	u32 n;
};

/* A response that begins with `text`, which becomes its own, and goes on. NULL: there are enough;
 * `text` is empty then, too. */
struct MHD_Response *streams_add(struct streams *s, struct MHD_Connection *c, struct buf *text);
/* Is it one of these? */
bool streams_has(const struct streams *s, const struct MHD_Connection *c);
void streams_tell(struct streams *s, struct str text);
/* They end when they have been told all: before their server does. */
void streams_end(struct streams *s);

#endif
