/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Escaping and numbers of JSON. Traced memory is the source of the strings, so any bytes may
 * come; what goes out is always valid UTF-8.
 */
#include "out/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"

/* What acts on a terminal is written by its number, which means the same. */
static void json_wide(struct buf *b, struct str s, u32 i, u32 n)
{
	if (escape_is_needed(s, i, n))
		escape_add(b, (struct str){ s.p + i, n }, ESCAPE_ALL);
	else
		buf_add(b, s.p + i, n);
}

static void json_ascii(struct buf *b, char c)
{
	static const char plain[] = "\"\\\n\r\t", escaped[] = "\"\\nrt";
	const char *at = c ? strchr(plain, c) : NULL;

	if (at) {
		buf_putc(b, '\\');
		buf_putc(b, escaped[at - plain]);
	} else if ((u8)c < ' ' || c == 127) {
		buf_printf(b, "\\u%04x", (u8)c);
	} else {
		buf_putc(b, c);
	}
}

void json_string(struct buf *b, struct str s)
{
	buf_putc(b, '"');
	for (u32 i = 0, n; i < s.n; i += MAX(n, 1u)) {
		n = str_utf8(s, i);
		if (n == 1)
			json_ascii(b, s.p[i]);
		else if (n)
			json_wide(b, s, i, n);
		else
			buf_puts(b, "\\ufffd");
	}
	buf_putc(b, '"');
}

void json_signed(struct buf *b, s64 n)
{
	const char *quote = (__int128)(double)n == n ? "" : "\"";

	buf_printf(b, "%s%" PRId64 "%s", quote, n, quote);
}

void json_unsigned(struct buf *b, u64 n)
{
	const char *quote = (unsigned __int128)(double)n == n ? "" : "\"";

	buf_printf(b, "%s%" PRIu64 "%s", quote, n, quote);
}
