/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Getting the text of a script: from a file, from standard input, or from the command line; other
 * texts are put behind it. Does not look into the text.
 */
#include "lang/parse/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

bool source_set(struct source *s, struct arena *a, const char *name, struct str text, struct err *e)
{
	if (text.n > SOURCE_MAX)
		return err_set(e, "%s: the script is larger than %u MiB", name, SOURCE_MAX >> 20);
	*s = (struct source){ .name = arena_strdup(a, name),
		              .text = arena_strndup(a, text.p, text.n),
		              .n = text.n };
	return true;
}

static bool read_stdin(struct buf *b, struct err *e)
{
	char chunk[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, errno, "can not read the script from standard input");
		if (b->n + (size_t)n > SOURCE_MAX)
			return err_set(e, "stdin: the script is larger than %u MiB",
			               SOURCE_MAX >> 20);
		buf_add(b, chunk, (size_t)n);
	}
	return true;
}

bool source_read(struct source *s, struct arena *a, const char *path, struct err *e)
{
	bool from_stdin = strcmp(path, "-") == 0, ok;
	struct buf b = { 0 };

	ok = from_stdin ? read_stdin(&b, e) : file_read(path, &b, SOURCE_MAX, e);
	if (ok && str_starts((struct str){ buf_text(&b), (u32)b.n }, "\177ELF")) {
		ok = err_set(e, "%s is a program, not a script",
		             from_stdin ? "standard input" : path);
		err_hint(e, "-c runs programs, -l lists their probes");
	}
	if (ok)
		ok = source_set(s, a, from_stdin ? "stdin" : path,
		                (struct str){ buf_text(&b), (u32)b.n }, e);
	buf_free(&b);
	return ok;
}

u32 source_append(struct source *s, struct arena *a, const char *name, struct str text)
{
	struct usource part = { arena_strdup(a, name), s->n + 1 };
	char *all = arena_alloc(a, s->n + text.n + 2);

	memcpy(all, s->text, s->n);
	all[s->n] = '\n';
	memcpy(all + part.off, text.p, text.n);
	all[part.off + text.n] = 0;
	s->text = all;
	s->n = part.off + text.n;
	vec_add(a, &s->imports, part);
	return part.off;
}

/* The imported file that an offset is in; NULL: the script itself. */
static const struct usource *import_at(const struct source *s, u32 off)
{
	const struct usource *at = NULL;

	for (u32 i = 0; i < s->imports.n && s->imports.v[i].off <= off; i++)
		at = &s->imports.v[i];
	return at;
}

const char *source_name(const struct source *s, u32 off)
{
	const struct usource *at = import_at(s, off);

	return at ? at->name : s->name;
}

void source_line(const struct source *s, u32 off, u32 *line, u32 *column)
{
	const struct usource *at = import_at(s, off);

	*line = 1;
	*column = 1;
	for (u32 i = at ? at->off : 0; i < off && i < s->n; i++) {
		char c = s->text[i];

		if (c == '\n') {
			++*line;
			*column = 1;
		} else if ((c & 0xc0) != 0x80) { /* only the first byte of a UTF-8 character */
			*column += c == '\t' ? 4 : 1;
		}
	}
}
