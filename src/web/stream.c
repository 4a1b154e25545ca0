/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stream that has nothing to say is suspended, so that the library does not ask it again and
 * again; it is resumed when there is something.
 */
#include "web/stream.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 16384u

struct stream {
	struct streams *all;
	struct stream *next;
	struct MHD_Connection *c;
	struct buf text; /* to be sent, from `at` on */
	size_t at;
	bool waits; /* suspended */
	bool ends;  /* once it was sent all */
};

static ssize_t read_more(void *ctx, uint64_t at, char *to, size_t room)
{
	struct stream *s = ctx;
	size_t n = MIN(s->text.n - s->at, room);

	(void)at;
	if (n) {
		memcpy(to, s->text.p + s->at, n);
		s->at += n;
		return (ssize_t)n;
	}
	if (s->ends)
		return MHD_CONTENT_READER_END_OF_STREAM;
	buf_free(&s->text);
	s->text = (struct buf){ 0 };
	s->at = 0;
	s->waits = true;
	s->all->lib.MHD_suspend_connection(s->c);
	return 0;
}

static void resume(struct stream *s)
{
	if (!s->waits)
		return;
	s->waits = false;
	s->all->lib.MHD_resume_connection(s->c);
}

/* The response is gone, and so is the connection. */
static void forget(void *ctx)
{
	struct stream *s = ctx, **at = &s->all->first;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->all->n--;
	buf_free(&s->text);
	free(s);
}

struct MHD_Response *streams_add(struct streams *all, struct MHD_Connection *c, struct buf *text)
{
	struct MHD_Response *r;
	struct stream *s;

	if (all->n >= STREAMS) {
		buf_free(text);
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		base_no_memory();
	*s = (struct stream){ .all = all, .next = all->first, .c = c, .text = *text };
	*text = (struct buf){ 0 };
	all->first = s;
	all->n++;
	r = all->lib.MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_more, s,
	                                               forget);
	if (!r)
		forget(s);
	return r;
}

bool streams_has(const struct streams *all, const struct MHD_Connection *c)
{
	for (const struct stream *s = all->first; s; s = s->next)
		if (s->c == c)
			return true;
	return false;
}

void streams_tell(struct streams *all, struct str text)
{
	for (struct stream *s = all->first; s; s = s->next) {
		if (s->at)
			memmove(s->text.p, s->text.p + s->at, s->text.n - s->at);
		s->text.n -= s->at;
		s->at = 0;
		if (s->text.n + text.n > STREAM_BYTES)
			s->ends = true;
		else
			buf_add(&s->text, text.p, text.n);
		resume(s);
	}
}

void streams_end(struct streams *all)
{
	for (struct stream *s = all->first; s; s = s->next) {
		s->ends = true;
		resume(s);
	}
}
