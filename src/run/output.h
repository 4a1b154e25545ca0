/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where a session's output goes: a buffer and the descriptor it is written to in one go.
 */
#ifndef RUN_OUTPUT_H
#define RUN_OUTPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "world/stop.h"

struct output {
	struct buf text;
	int fd;
	bool owned;        /* fd is a file of ours */
	bool held;         /* text is being gathered: it stays where it is */
	bool closed;       /* nobody reads any more */
	struct err error;  /* text not empty: a write failed */
	struct stop *stop; /* a write that blocks is given up when asked to end; may be NULL */
};

/* path NULL: write to fd. */
bool output_open(struct output *o, const char *path, int fd, struct err *e);
/* Writes what is in text. False when that failed now or before. */
bool output_flush(struct output *o);
/* Flushes and closes; o->error says whether all went well. */
void output_close(struct output *o);

#endif
