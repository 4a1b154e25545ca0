/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sections of a page in Markdown: from a line "### `NAME...`" to the next heading. Comments of the
 * page, which say how its examples are run, are left out, and what is between them is shown as it
 * stands there.
 */
#include "cmd/help_page.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "cmd/tools.h"

#define HEADING    "### "
#define SEPARATORS " `'\",.:;()@"

struct str help_page(struct arena *a, const char *page)
{
	return tools_text(a, page);
}

static bool starts(struct str line, const char *with)
{
	u32 n = (u32)strlen(with);

	return line.n >= n && memcmp(line.p, with, n) == 0;
}

static struct str after(struct str line, const char *mark)
{
	u32 n = (u32)strlen(mark);

	return (struct str){ line.p + n, line.n - n };
}

/* Does an entry's heading, without its mark, name that word? */
static bool names(struct str heading, struct str word)
{
	struct str rest, part;

	for (u32 i = 0; i < heading.n; i++) {
		if (i && heading.p[i - 1] != ' ' && heading.p[i - 1] != '`')
			continue;
		rest = (struct str){ heading.p + i, heading.n - i };
		part = (struct str){ rest.p, word.n };
		if (rest.n < word.n || !str_eq(part, word))
			continue;
		if (rest.n == word.n ||
		    !(isalnum((unsigned char)rest.p[word.n]) || strchr("_=<>&|+-", rest.p[word.n])))
			return true;
	}
	return false;
}

static bool has_word(struct str text, struct str word)
{
	for (u32 i = 0; i + word.n <= text.n; i++)
		if (strncasecmp(text.p + i, word.p, word.n) == 0)
			return true;
	return false;
}

/* The next word; what quotes and blanks are around it is passed over. */
static bool next_word(struct str *rest, struct str *word)
{
	u32 n = 0;

	while (rest->n && strchr(SEPARATORS, rest->p[0]))
		*rest = (struct str){ rest->p + 1, rest->n - 1 };
	while (n < rest->n && !strchr(SEPARATORS, rest->p[n]))
		n++;
	*word = (struct str){ rest->p, n };
	*rest = (struct str){ rest->p + n, rest->n - n };
	return n > 0;
}

static bool is_placeholder(struct str word)
{
	for (u32 i = 0; i < word.n; i++)
		if (!isupper((unsigned char)word.p[i]))
			return false;
	return true;
}

static bool has_all(struct str text, struct str words)
{
	struct str word;
	bool any = false;

	while (next_word(&words, &word)) {
		if (is_placeholder(word))
			continue;
		if (!has_word(text, word))
			return false;
		any = true;
	}
	return any;
}

static bool is_about(struct str heading, struct str message)
{
	return has_all(heading, message) || has_all(message, heading);
}

/* Without the marks of code. */
static void add_heading(struct buf *b, struct str heading)
{
	for (u32 i = 0; i < heading.n; i++)
		if (heading.p[i] != '`')
			buf_add(b, heading.p + i, 1);
	buf_puts(b, "\n");
}

/* Adds the sections that a heading answers to. */
static bool add_sections(struct buf *b, struct str page, struct str what,
                         bool (*wanted)(struct str heading, struct str what))
{
	struct str line, rest = page;
	bool within = false, any = false;

	while (rest.n) {
		line = str_cut(rest, '\n', &rest);
		if (line.n && line.p[0] == '#') {
			within = starts(line, HEADING) && wanted(after(line, HEADING), what);
			any |= within;
			if (within)
				add_heading(b, after(line, HEADING));
		} else if (within && !starts(line, "<!--")) {
			buf_printf(b, "%.*s\n", STR_ARG(line));
		}
	}
	return any;
}

bool help_page_word(struct buf *b, struct str page, struct str word)
{
	return word.n && add_sections(b, page, word, names);
}

bool help_page_message(struct buf *b, struct str page, struct str message)
{
	return add_sections(b, page, message, is_about);
}
