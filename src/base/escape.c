/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Foreign text made harmless; see escape.h. Text without anything to escape costs a look at it. */
#include "base/escape.h"

#include <string.h>

/* The character of n bytes at p, which are well-formed. */
static u32 code_point(const u8 *p, u32 n)
{
	u32 c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

	for (u32 i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* As Unicode has it, and Python's splitlines(). */
static bool breaks_line(u32 c)
{
	return (c >= '\n' && c <= '\r') || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
	       c == 0x2029;
}

static bool turns_direction(u32 c)
{
	return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static bool is_escaped(u32 c, enum escape how)
{
	if (how == ESCAPE_LINES)
		return breaks_line(c);
	if (how == ESCAPE_TEXT && (c == '\n' || c == '\t'))
		return false;
	return c < ' ' || (c >= 0x7f && c < 0xa0) || breaks_line(c) || turns_direction(c);
}

/* n is 0 for a byte that begins no character. */
static bool needs_escape(struct str s, u32 i, u32 n, enum escape how)
{
	if (how == ESCAPE_NONE)
		return false;
	return n ? is_escaped(code_point((const u8 *)s.p + i, n), how) : how != ESCAPE_LINES;
}

bool escape_is_needed(struct str s, u32 i, u32 n)
{
	return needs_escape(s, i, n, ESCAPE_ALL);
}

static void add_one(struct buf *b, struct str s, u32 i, u32 n)
{
	static const char plain[] = "\n\t\r", letters[] = "ntr";
	const char *at = strchr(plain, s.p[i]);

	if (at && *at)
		buf_printf(b, "\\%c", letters[at - plain]);
	else if (n > 1)
		buf_printf(b, "\\u%04x", code_point((const u8 *)s.p + i, n));
	else
		buf_printf(b, "\\x%02x", (u8)s.p[i]);
}

/* The first byte from i on that has to be escaped, s.n when there is none. */
static u32 find(struct str s, u32 i, enum escape how)
{
	while (i < s.n) {
		u32 n = str_utf8(s, i);

		if (needs_escape(s, i, n, how))
			break;
		i += MAX(n, 1u);
	}
	return MIN(i, s.n);
}

void escape_add(struct buf *b, struct str s, enum escape how)
{
	for (u32 i = 0; i < s.n;) {
		u32 end = how == ESCAPE_NONE ? s.n : find(s, i, how), n;

		buf_add(b, s.p + i, end - i);
		i = end;
		if (i == s.n)
			break;
		n = str_utf8(s, i);
		add_one(b, s, i, n);
		i += MAX(n, 1u);
	}
}

void escape_from(struct buf *b, size_t from, enum escape how)
{
	struct str s = { buf_text(b) + from, (u32)(b->n - from) };
	struct buf old = { 0 };

	if (how == ESCAPE_NONE || find(s, 0, how) == s.n)
		return;
	buf_add(&old, s.p, s.n);
	b->n = from;
	escape_add(b, (struct str){ old.p, s.n }, how);
	buf_free(&old);
}

void escape_string(char *text, size_t size, enum escape how)
{
	struct str s = str_of(text);
	struct buf b = { 0 };
	size_t n;

	if (find(s, 0, how) == s.n)
		return;
	escape_add(&b, s, how);
	n = MIN(b.n, size - 1);
	memcpy(text, buf_text(&b), n);
	text[n] = 0;
	buf_free(&b);
}
