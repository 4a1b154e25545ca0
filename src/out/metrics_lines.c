/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "out/metrics_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The text with its escapes done. */
struct str metrics_plain(struct buf *room, struct str s)
{
	if (!s.n || !memchr(s.p, '\\', s.n))
		return s;
	buf_reset(room);
	for (u32 i = 0; i < s.n; i++) {
		bool escape = s.p[i] == '\\' && i + 1 < s.n;

		i += escape;
		buf_putc(room, escape && s.p[i] == 'n' ? '\n' : s.p[i]);
	}
	return (struct str){ buf_text(room), (u32)room->n };
}

/* Where the quoted text that begins at `i` ends: behind its last quote. 0: nowhere. */
static u32 quoted_end(struct str s, u32 i)
{
	const char *end = memchr(s.p + i + 1, '"', s.n - i - 1);

	if (end && !memchr(s.p + i, '\\', (size_t)(end - s.p) - i))
		return (u32)(end - s.p) + 1;
	for (i++; i < s.n; i++) {
		if (s.p[i] == '\\')
			i++;
		else if (s.p[i] == '"')
			return i + 1;
	}
	return 0;
}

/* Takes a label off the front. False: there is none, or no more. */
bool metrics_next_label(struct str *s, struct str *key, struct str *value)
{
	const char *equals = s->n ? memchr(s->p, '=', s->n) : NULL;
	u32 at = equals ? (u32)(equals + 1 - s->p) : 0, end;

	if (!at || at >= s->n || s->p[at] != '"')
		return false;
	end = quoted_end(*s, at);
	if (!end)
		return false;
	*key = (struct str){ s->p, at - 1 };
	*value = (struct str){ s->p + at + 1, end - at - 2 };
	end += end < s->n && s->p[end] == ',';
	s->p += end;
	s->n -= end;
	return true;
}

/* Takes the labels off the front, which begins behind '{'. */
static void read_labels(struct metrics_sample *s, struct str *rest)
{
	const char *from = rest->p;
	struct str key, value;

	s->labels.p = from;
	while (metrics_next_label(rest, &key, &value)) {
		if (str_is_row(key, "le") || str_is_row(key, "quantile"))
			s->last = value;
		else
			s->labels.n = (u32)(value.p + value.n + 1 - from);
	}
}

bool metrics_read_sample(struct str line, struct metrics_sample *s)
{
	struct str rest;
	u32 n = 0;

	*s = (struct metrics_sample){ 0 };
	while (n < line.n && line.p[n] != '{' && line.p[n] != ' ')
		n++;
	s->name = (struct str){ line.p, n };
	rest = (struct str){ line.p + n, line.n - n };
	if (n < line.n && line.p[n] == '{') {
		rest = (struct str){ rest.p + 1, rest.n - 1 };
		read_labels(s, &rest);
		if (!rest.n || rest.p[0] != '}')
			return false;
		rest = (struct str){ rest.p + 1, rest.n - 1 };
	}
	s->value = str_trim(rest, " ");
	return s->name.n && s->value.n;
}

/* Ends at what is no number. */
double metrics_real(struct str s)
{
	char text[40];
	u64 whole = 0;
	u32 n = 0;

	/* So are most, and exact. */
	for (; n < s.n && n < 15 && s.p[n] >= '0' && s.p[n] <= '9'; n++)
		whole = whole * 10 + (u64)(s.p[n] - '0');
	if (n && n == s.n)
		return (double)whole;
	if (!s.n || s.n >= sizeof(text))
		return NAN;
	memcpy(text, s.p, s.n);
	text[s.n] = 0;
	return strtod(text, NULL);
}

u64 metrics_number(struct str s)
{
	u64 n = 0;

	for (u32 i = 0; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
		n = n * 10 + (u64)(s.p[i] - '0');
	return n;
}

s64 metrics_bucket(struct str one, u64 *n)
{
	struct str count, index = str_cut(one, ':', &count);
	bool below = index.n && index.p[0] == '-';

	*n = metrics_number(count);
	index.p += below;
	index.n -= below;
	return below ? -(s64)metrics_number(index) : (s64)metrics_number(index);
}
