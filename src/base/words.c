/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/words.h"

#include "base/buf.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Adds what stands between quotes; *p is after the opening one. False without a closing one. */
static bool quoted(struct buf *word, const char **p, char quote)
{
	for (; **p && **p != quote; ++*p) {
		if (quote == '"' && **p == '\\' && ((*p)[1] == '"' || (*p)[1] == '\\'))
			++*p;
		buf_putc(word, **p);
	}
	if (!**p)
		return false;
	++*p;
	return true;
}

static bool next_word(struct buf *word, const char *what, const char **p, struct err *e)
{
	buf_reset(word);
	while (**p && !is_blank(**p)) {
		char c = *(*p)++;

		if (c == '\'' || c == '"') {
			if (!quoted(word, p, c))
				return err_set(e, "%s has a %c that is not closed", what, c);
			continue;
		}
		if (c == '\\' && **p)
			c = *(*p)++;
		buf_putc(word, c);
	}
	return true;
}

bool words_split(struct arena *a, const char *what, const char *text, char ***words, u32 *n,
                 struct err *e)
{
	VEC(char *) all = { 0 };
	struct buf word = { 0 };
	bool ok = true;

	for (;;) {
		while (is_blank(*text))
			text++;
		if (!*text || !ok)
			break;
		ok = next_word(&word, what, &text, e);
		vec_add(a, &all, arena_strdup(a, buf_text(&word)));
	}
	buf_free(&word);
	if (ok && !all.n)
		ok = err_set(e, "%s is empty", what);
	*n = all.n;
	vec_add(a, &all, NULL);
	*words = all.v;
	return ok;
}
