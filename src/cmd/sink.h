/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Much text to a file descriptor in few writes: a fixed buffer that is written when it is full, so
 * that the length of the text costs no memory.
 */
#ifndef CMD_SINK_H
#define CMD_SINK_H

#include "base/buf.h"
#include "base/err.h"

#define SINK_ROOM 4096u /* what sink_room gives at most */

struct sink {
	char *p;
	size_t n, cap;
	int fd;
	bool terminal; /* foreign text is escaped (base/escape.h) */
	int error;     /* errno of the first write that failed; what follows is dropped */
};

void sink_open(struct sink *s, int fd);
/* Writes what is left and frees. False when not all could be written. */
bool sink_close(struct sink *s, struct err *e);
void sink_flush(struct sink *s);
void sink_add(struct sink *s, const void *p, size_t n);
/* Moves the text of b, which is empty afterwards and keeps its memory. */
void sink_take(struct sink *s, struct buf *b);

/* Where at least SINK_ROOM bytes may be written; say with sink_upto how far that went. */
static inline char *sink_room(struct sink *s)
{
	if (s->cap - s->n < SINK_ROOM)
		sink_flush(s);
	return s->p + s->n;
}

static inline void sink_upto(struct sink *s, const char *end)
{
	s->n = (size_t)(end - s->p);
}

#endif
