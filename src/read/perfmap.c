/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lines of a perf map. A compiler appends to it while it is read, so the last line may be cut
 * anywhere; only lines with their newline count. Form: the kernel's
 * tools/perf/Documentation/jit-interface.txt; some writers put 0x before the numbers.
 */
#include "read/perfmap.h"

#include <string.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Cuts a number and the blank after it off *s. */
static bool number(struct str *s, u64 *v)
{
	u32 i = 0;

	if (s->n > 2 && s->p[0] == '0' && (s->p[1] == 'x' || s->p[1] == 'X'))
		*s = (struct str){ s->p + 2, s->n - 2 };
	*v = 0;
	for (; i < s->n && i <= 16 && digit_of(s->p[i]) >= 0; i++)
		*v = *v << 4 | (u64)digit_of(s->p[i]);
	if (!i || i > 16 || i >= s->n || s->p[i] != ' ')
		return false;
	*s = (struct str){ s->p + i + 1, s->n - i - 1 };
	return true;
}

size_t perfmap_parse(const char *text, size_t n,
                     void (*cb)(void *ctx, u64 start, u64 size, struct str name), void *ctx)
{
	size_t at = 0;
	const char *eol;

	for (; at < n && (eol = memchr(text + at, '\n', n - at)); at = (size_t)(eol - text) + 1) {
		size_t length = (size_t)(eol - text) - at;
		struct str line = { text + at, (u32)MIN(length, (size_t)UINT32_MAX) };
		u64 start, size;

		if (number(&line, &start) && number(&line, &size) && size && line.n &&
		    start + size > start && !memchr(line.p, 0, line.n))
			cb(ctx, start, size, line);
	}
	return at;
}
