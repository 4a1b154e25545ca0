/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Escaping and numbers of JSON. Traced memory is the source of the strings, so any bytes may
 * come; what goes out is always valid UTF-8. UTF-8 is checked by the table of well-formed byte
 * sequences in the Unicode standard (chapter 3, table 3-7): no overlong forms, no surrogates.
 */
#include "out/json.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of the well-formed UTF-8 sequence at p, 0 when there is none. */
static u32 utf8_length(const u8 *p, u32 room)
{
	u8 lead = p[0], low = 0x80, high = 0xbf;
	u32 n;

	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if (n > room)
		return 0;
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (u32 i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

static void json_ascii(struct buf *b, char c)
{
	static const char plain[] = "\"\\\n\r\t", escaped[] = "\"\\nrt";
	const char *at = c ? strchr(plain, c) : NULL;

	if (at) {
		buf_putc(b, '\\');
		buf_putc(b, escaped[at - plain]);
	} else if ((u8)c < ' ') {
		buf_printf(b, "\\u%04x", (u8)c);
	} else {
		buf_putc(b, c);
	}
}

void json_string(struct buf *b, struct str s)
{
	buf_putc(b, '"');
	for (u32 i = 0, n; i < s.n; i += MAX(n, 1u)) {
		n = utf8_length((const u8 *)s.p + i, s.n - i);
		if (n == 1)
			json_ascii(b, s.p[i]);
		else if (n)
			buf_add(b, s.p + i, n);
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
