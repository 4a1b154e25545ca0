/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Output in large writes; see sink.h. Does not format. */
#include "cmd/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"

#define SINK_SIZE (128u << 10)

void sink_open(struct sink *s, int fd)
{
	*s = (struct sink){ .fd = fd, .cap = SINK_SIZE, .terminal = isatty(fd) == 1 };
	s->p = malloc(s->cap);
	if (!s->p)
		base_no_memory();
}

static void write_all(struct sink *s, const char *p, size_t n)
{
	struct buf shown = { 0 };

	if (s->terminal) {
		escape_add(&shown, (struct str){ p, (u32)n }, ESCAPE_TEXT);
		p = buf_text(&shown);
		n = shown.n;
	}
	if (!s->error && !file_write_all(s->fd, p, n))
		s->error = errno;
	buf_free(&shown);
}

void sink_flush(struct sink *s)
{
	write_all(s, s->p, s->n);
	s->n = 0;
}

void sink_add(struct sink *s, const void *p, size_t n)
{
	if (n > s->cap - s->n)
		sink_flush(s);
	if (n > s->cap) {
		write_all(s, p, n);
		return;
	}
	memcpy(s->p + s->n, p, n);
	s->n += n;
}

void sink_take(struct sink *s, struct buf *b)
{
	sink_add(s, buf_text(b), b->n);
	buf_reset(b);
}

bool sink_close(struct sink *s, struct err *e)
{
	int error;

	sink_flush(s);
	error = s->error;
	free(s->p);
	*s = (struct sink){ 0 };
	return !error || err_sys(e, error, "can not write the output");
}
