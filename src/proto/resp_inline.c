// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The words of a line that somebody types into a connection to Redis, with its quotes and escapes.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp_inline.h"

static void word_add(struct word *w, char c)
{
	if (w->n < sizeof(w->p))
		w->p[w->n++] = c;
	w->size++;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || !c;
}

/* "\xNN", "\n" and so on in double quotes; returns the bytes that it took. */
static u32 word_escape(struct word *w, struct str s)
{
	static const char letters[] = "nrtba", bytes[] = "\n\r\t\b\a";
	const char *at;

	if (s.n >= 4 && s.p[1] == 'x' && isxdigit((u8)s.p[2]) && isxdigit((u8)s.p[3])) {
		const char hex[] = { s.p[2], s.p[3], 0 };

		word_add(w, (char)strtoul(hex, NULL, 16));
		return 4;
	}
	at = s.p[1] ? strchr(letters, s.p[1]) : NULL;
	word_add(w, at ? bytes[at - letters] : s.p[1]);
	return 2;
}

/* After an opening quote; returns the bytes up to and with the closing one. */
static u32 word_quoted(struct word *w, struct str s, char quote)
{
	u32 i = 0;

	while (i < s.n && s.p[i] != quote) {
		bool escape = s.p[i] == '\\' && i + 1 < s.n;

		if (escape && quote == '"') {
			i += word_escape(w, (struct str){ s.p + i, s.n - i });
		} else {
			i += escape && s.p[i + 1] == quote;
			word_add(w, s.p[i++]);
		}
	}
	w->wrong |= i >= s.n || (i + 1 < s.n && !is_blank(s.p[i + 1]));
	return MIN(i + 1, s.n);
}

bool resp_word_next(struct str *line, struct word *w)
{
	u32 i = 0;

	w->n = 0;
	w->size = 0;
	while (i < line->n && is_blank(line->p[i]))
		i++;
	if (i == line->n)
		return false;
	while (i < line->n && !is_blank(line->p[i])) {
		char c = line->p[i++];

		if (c == '"' || c == '\'')
			i += word_quoted(w, (struct str){ line->p + i, line->n - i }, c);
		else
			word_add(w, c);
	}
	line->p += i;
	line->n -= i;
	return true;
}
