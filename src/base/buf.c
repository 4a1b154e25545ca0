/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A growable byte buffer; see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void buf_room(struct buf *b, size_t more)
{
	size_t need = b->n + more + 1;

	if (need <= b->cap)
		return;
	b->cap = MAX(need, b->cap * 2);
	b->cap = MAX(b->cap, (size_t)256);
	b->p = realloc(b->p, b->cap);
	if (!b->p)
		base_no_memory();
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	buf_room(b, n);
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = 0;
}

char *buf_need(struct buf *b, size_t n)
{
	buf_room(b, n);
	return b->p + b->n;
}

void buf_puts(struct buf *b, const char *z)
{
	buf_add(b, z, strlen(z));
}

void buf_putc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_decimal(struct buf *b, u64 n)
{
	char digits[20];
	u32 at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	buf_add(b, digits + at, sizeof(digits) - at);
}

void buf_fill(struct buf *b, char c, size_t n)
{
	buf_room(b, n);
	memset(b->p + b->n, c, n);
	b->n += n;
	b->p[b->n] = 0;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	buf_room(b, 128);
	va_start(ap, fmt);
	n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= b->cap - b->n) {
		buf_room(b, (size_t)n);
		va_start(ap, fmt);
		vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
		va_end(ap);
	}
	b->n += (size_t)n;
}

void buf_reset(struct buf *b)
{
	b->n = 0;
	if (b->p)
		b->p[0] = 0;
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ 0 };
}

const char *buf_text(const struct buf *b)
{
	return b->p ? b->p : "";
}
