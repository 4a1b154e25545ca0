/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading the comment at the head of a script into sections; see tool_head.h. Tells sections apart
 * by their titles and indentation, and does not know what a title means.
 */
#include "cmd/tool_head.h"

#include <ctype.h>
#include <string.h>

struct head_reader {
	struct tool_head *head;
	struct arena *arena;
	u32 blank; /* empty lines since the last one with text */
};

static struct str trim(struct str s)
{
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Without the blanks, the star and the one blank that a comment's lines begin with. */
static struct str without_marks(struct str line)
{
	while (line.n && (*line.p == ' ' || *line.p == '\t'))
		line = (struct str){ line.p + 1, line.n - 1 };
	if (line.n && *line.p == '*')
		line = (struct str){ line.p + 1, line.n - 1 };
	if (line.n && *line.p == ' ')
		line = (struct str){ line.p + 1, line.n - 1 };
	return trim(line);
}

/* After lines of `//`, or a text without a beginning. */
static struct str find_comment(struct str text)
{
	struct str none = { NULL, 0 };
	const char *end;

	while (str_starts(text, "//") || str_starts(text, "\n") || str_starts(text, "#!"))
		str_cut(text, '\n', &text);
	if (!str_starts(text, "/*"))
		return none;
	text = (struct str){ text.p + 2, text.n - 2 };
	end = memmem(text.p, text.n, "*/", 2);
	return end ? (struct str){ text.p, (u32)(end - text.p) } : none;
}

/* "COMPACTION TIMES: ..." has a title of capitals, which is returned. */
static struct str title_of(struct str line)
{
	struct str title = { line.p, 0 };

	while (title.n < line.n &&
	       (isupper((unsigned char)line.p[title.n]) || (title.n && line.p[title.n] == ' ')))
		title.n++;
	if (title.n < 2 || title.n == line.n || line.p[title.n] != ':')
		title.n = 0;
	return title;
}

/* There is one. */
static struct head_section *last_section(struct head_reader *r)
{
	return &r->head->sections.v[r->head->sections.n - 1];
}

static void add_section(struct head_reader *r, struct str title)
{
	struct head_section s = { 0 };

	if (title.n)
		s.title = arena_strndup(r->arena, title.p, title.n);
	vec_add(r->arena, &r->head->sections, s);
	r->blank = 0;
}

static void add_line(struct head_reader *r, struct str line)
{
	struct head_section *s = last_section(r);
	struct str empty = { "", 0 };

	for (; r->blank && s->lines.n; r->blank--)
		vec_add(r->arena, &s->lines, empty);
	r->blank = 0;
	vec_add(r->arena, &s->lines, line);
}

static struct str skip_blanks(struct str s)
{
	while (s.n && *s.p == ' ')
		s = (struct str){ s.p + 1, s.n - 1 };
	return s;
}

static void take_line(struct head_reader *r, struct str line)
{
	bool first = !r->head->sections.n;
	struct str title = title_of(line), none = { NULL, 0 };

	if (!line.n) {
		r->blank++;
		return;
	}
	if (title.n) {
		add_section(r, title);
		line = skip_blanks((struct str){ line.p + title.n + 1, line.n - title.n - 1 });
		if (!line.n)
			return;
	} else if (first || (last_section(r)->title && *line.p != ' ')) {
		add_section(r, none);
	}
	add_line(r, line);
}

/* "NAME - what it shows" */
static bool take_first(struct tool_head *h, struct str line)
{
	const char *dash = memmem(line.p, line.n, " - ", 3);

	if (!dash)
		return false;
	h->name = (struct str){ line.p, (u32)(dash - line.p) };
	h->summary = (struct str){ dash + 3, line.n - h->name.n - 3 };
	return h->name.n > 0 && h->summary.n > 0;
}

bool tool_head_parse(struct tool_head *h, struct arena *a, struct str text)
{
	struct str rest = find_comment(text);
	struct head_reader r = { .head = h, .arena = a };
	bool found = false;

	while (rest.p) {
		struct str line = without_marks(str_cut(rest, '\n', &rest));

		if (found)
			take_line(&r, line);
		else if (line.n && !(found = take_first(h, line)))
			return false;
	}
	return found;
}
