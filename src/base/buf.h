/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A growable byte buffer, for output that is written in one go. Growing never
 * fails (out of memory ends the program). All zero is an empty buffer.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/base.h"

struct buf {
	char *p; /* NUL-terminated once anything was added */
	size_t n, cap;
};

void buf_add(struct buf *b, const void *p, size_t n);
/* Where `n` bytes more can be written, by which b->n is raised then. */
char *buf_need(struct buf *b, size_t n);
void buf_puts(struct buf *b, const char *z);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "123": what is printed most, without a format. */
void buf_decimal(struct buf *b, u64 n);
/* Adds `c` n times. */
void buf_fill(struct buf *b, char c, size_t n);
/* Empties it and keeps the memory. */
void buf_reset(struct buf *b);
void buf_free(struct buf *b);
/* The text so far, "" when nothing was added. */
const char *buf_text(const struct buf *b);

#endif
