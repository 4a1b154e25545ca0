/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Cutting the text of an event that was given on the command line:
 *
 *     event: ( '/' regex '/' | probe ) [rest]
 *     probe: part (':' part)*            up to a blank or '('
 *
 * A part may be quoted, for paths and names of C++ that hold blanks, ':' or '('. What the parts
 * mean is the affair of targets_event.c.
 */
#include "lang/parse/event_text.h"

#include <string.h>

static bool is_blank(char c)
{
	return c && strchr(" \t\r\n\v\f", c);
}

static struct str between(struct str s, u32 from, u32 to)
{
	return (struct str){ s.p + from, to - from };
}

/* "/regex/", all of the text: ':' parts it only before the first character that means something to
 * a regular expression, as in "t:vmscan:^mm_[[:alpha:]]". */
static const char *read_regex(struct event_text *e, struct str text)
{
	u32 start = 1, end = text.n - 1;

	e->regex = true;
	e->head = between(text, start, end);
	for (u32 i = start; i < end && e->n_parts < 2 && !strchr("[(^$*+\\|?", text.p[i]); i++)
		if (text.p[i] == ':') {
			e->part[e->n_parts++] = between(text, start, i);
			start = i + 1;
		}
	e->part[e->n_parts++] = between(text, start, end);
	return end > start ? NULL : "the regular expression is empty";
}

/* The end of the part that starts at `at`; `size` when a quote has no end. */
static u32 part_end(struct str s, u32 at)
{
	bool quoted = false;

	for (; at < s.n; at++) {
		if (s.p[at] == '"')
			quoted = !quoted;
		else if (!quoted && (s.p[at] == ':' || s.p[at] == '(' || is_blank(s.p[at])))
			break;
	}
	return at;
}

static struct str unquoted(struct str s)
{
	if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
		return between(s, 1, s.n - 1);
	return s;
}

static const char *read_probe(struct event_text *e, struct str text)
{
	u32 at = 0, end;

	for (;;) {
		if (e->n_parts == EVENT_PARTS_MAX)
			return "it has too many parts";
		end = part_end(text, at);
		e->part[e->n_parts++] = unquoted(between(text, at, end));
		if (end == text.n || text.p[end] != ':')
			break;
		at = end + 1;
	}
	e->head = between(text, 0, end);
	e->rest = str_trim(between(text, end, text.n), STR_BLANKS);
	return e->part[e->n_parts - 1].n ? NULL : "the name of the event is missing";
}

const char *event_text_read(struct event_text *e, struct str text)
{
	memset(e, 0, sizeof(*e));
	text = str_trim(text, STR_BLANKS);
	if (!text.n)
		return "it is empty";
	for (u32 i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < ' ' && !is_blank(text.p[i]))
			return "it holds a control character";
	if (text.n >= 2 && text.p[0] == '/' && text.p[text.n - 1] == '/')
		return read_regex(e, text);
	return read_probe(e, text);
}
