/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Getting the text of a script: from a file, from standard input, or from the command line; other
 * texts are put after it. Does not look into the text.
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

static u32 append(struct source *s, struct arena *a, struct usource part, struct str text)
{
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

u32 source_append(struct source *s, struct arena *a, const char *name, struct str text)
{
	return append(s, a, (struct usource){ .name = arena_strdup(a, name), .off = s->n + 1 },
	              text);
}

u32 source_append_typed(struct source *s, struct arena *a, const char *name, struct str text)
{
	struct usource part = { .name = arena_strdup(a, name), .off = s->n + 1, .typed = true };

	return append(s, a, part, text);
}

u32 source_append_made(struct source *s, struct arena *a, const char *name, struct str text,
                       const struct piece *pieces, u32 n)
{
	struct usource part = { .name = arena_strdup(a, name), .off = s->n + 1, .made = true };

	for (u32 i = 0; i < n; i++) {
		struct piece piece = pieces[i];

		piece.off += part.off;
		vec_add(a, &s->pieces, piece);
	}
	return append(s, a, part, text);
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

/* The smallest piece around an offset. */
static const struct piece *piece_at(const struct source *s, u32 off)
{
	const struct piece *best = NULL;

	for (u32 i = 0; i < s->pieces.n; i++) {
		const struct piece *o = &s->pieces.v[i];

		if (off >= o->off && off - o->off < o->len && (!best || o->len < best->len))
			best = o;
	}
	return best;
}

/* From the first piece's place to the last one's, where they are of one text. */
static bool find_piece(const struct source *s, struct loc *loc)
{
	const struct piece *first = piece_at(s, loc->off);
	const struct piece *last = loc->len ? piece_at(s, loc->off + loc->len - 1) : first;
	struct loc from;

	if (!first)
		return false;
	from = first->from;
	if (last && last->from.off > from.off &&
	    import_at(s, last->from.off) == import_at(s, from.off))
		from.len = MAX(from.len, last->from.off + last->from.len - from.off);
	*loc = from;
	return true;
}

bool source_place(const struct source *s, struct loc *loc)
{
	const struct usource *at = import_at(s, loc->off);

	if (at && at->made) {
		if (!find_piece(s, loc))
			return false;
		at = import_at(s, loc->off);
	}
	return !s->hidden || (at && at->typed);
}

bool source_is_typed(const struct source *s, struct loc loc)
{
	const struct usource *at = import_at(s, loc.off);

	if (!at || !at->made || !find_piece(s, &loc))
		return false;
	at = import_at(s, loc.off);
	return at && at->typed;
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
