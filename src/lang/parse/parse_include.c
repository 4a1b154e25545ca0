/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * #include "file.h": the definitions of headers of the user's own.
 *
 * The one idea: a header's text is put after the script's, as an imported file's is, and its
 * definitions into the script's list after the line that includes it, when the walk over the
 * list comes there (infer_cpp.c) and no condition leaves the line out. So conditions and names
 * mean what they mean to a C preprocessor. Each file is taken once.
 *
 * Of a header only definitions of types and lines that begin with '#' are read: functions and
 * variables are passed over. Headers of the system are not looked for: types come from BTF.
 */
#include "lang/parse/parse.h"

#include <string.h>

#define INCLUDES_MAX 256u

/* The name in an #include line. */
static bool header_name(const struct parser *p, struct loc line, struct str *name, bool *quoted)
{
	const char *c = p->script->source->text + line.off + 1, *end = c + line.len - 1, *close;

	while (c < end && (*c == ' ' || *c == '\t'))
		c++;
	if (!str_starts((struct str){ c, (u32)(end - c) }, "include"))
		return false;
	c += strlen("include");
	while (c < end && (*c == ' ' || *c == '\t'))
		c++;
	if (c == end || (*c != '"' && *c != '<'))
		return false;
	*quoted = *c++ == '"';
	close = memchr(c, *quoted ? '"' : '>', (size_t)(end - c));
	if (close)
		*name = (struct str){ c, (u32)(close - c) };
	return close && close > c;
}

/* What is no definition of a type: up to its ';', the '}' of its body or a line that begins with
 * '#'. `extern "C" {`, and the '}' of that, on their own. */
static void skip_declaration(struct parser *p)
{
	u32 open = 0, n = 0, comment;
	bool linkage = false, line_end = false;

	for (;; n++) {
		struct token t;

		if (!lex_skip_blanks(&p->lex, &line_end, &comment) ||
		    (!open && p->lex.pos < p->lex.source->n &&
		     p->lex.source->text[p->lex.pos] == '#'))
			return;
		t = lex_next(&p->lex);
		linkage = (!n && str_is(t.text, "extern")) || (linkage && n < 3);
		if (t.kind == TOKEN_END || (t.kind == TOKEN_SEMI && !open) ||
		    (t.kind == TOKEN_LBRACE && linkage && n == 2) ||
		    (t.kind == TOKEN_RBRACE && open <= 1))
			return;
		open += t.kind == TOKEN_LBRACE;
		open -= t.kind == TOKEN_RBRACE;
	}
}

/* Puts all definitions from `off` to the source's end before the one at *at. */
static void insert_definitions(struct parser *p, u32 off, struct c_def **at)
{
	struct c_def *rest = *at, **tail = at;
	bool line_end = false;
	u32 comment;

	p->lex.pos = off;
	while (lex_skip_blanks(&p->lex, &line_end, &comment) && p->lex.pos < p->lex.source->n) {
		if (!parse_at_definition(p))
			skip_declaration(p);
		else if (!parse_definition(p, &tail))
			break;
	}
	*tail = rest;
}

static struct parser header_parser(struct script *s, struct diags *d)
{
	return (struct parser){
		.script = s,
		.d = d,
		.lex = { s->source, s->arena, 0 },
		.errors_before = d->n_errors,
	};
}

static bool is_taken(const struct script *s, const char *path)
{
	for (u32 i = 0; i < s->source->imports.n; i++)
		if (strcmp(s->source->imports.v[i].name, path) == 0)
			return true;
	return false;
}

bool parse_include(struct script *s, struct c_def *line, struct diags *d)
{
	struct parser p = header_parser(s, d);
	struct import file = { .loc = line->loc };
	struct str name;
	bool quoted;
	u32 off;

	if (!header_name(&p, line->loc, &name, &quoted))
		return false;
	file.path = import_header(s, name, quoted, line->loc.off);
	if (!file.path) {
		vec_add(s->arena, &s->notes,
		        arena_printf(s->arena, "#include %.*s: not read, types come from BTF",
		                     STR_ARG(name)));
		return false;
	}
	if (is_taken(s, file.path))
		return true;
	if (s->source->imports.n == INCLUDES_MAX) {
		diag_error(d, line->loc, "more than %u files are included", INCLUDES_MAX);
		return true;
	}
	if (!import_take(s, &file, d))
		return true;
	off = s->source->imports.v[s->source->imports.n - 1].off;
	if (!s->source->headers)
		s->source->headers = off;
	insert_definitions(&p, off, &line->next);
	return true;
}

void parse_include_first(struct script *s, struct diags *d)
{
	struct parser p = header_parser(s, d);
	struct buf lines = { 0 };

	if (!s->headers.n_files)
		return;
	for (u32 i = 0; i < s->headers.n_files; i++)
		buf_printf(&lines, "#include \"%s\"\n", s->headers.files[i]);
	insert_definitions(
		&p, source_append_typed(s->source, s->arena, "--include", str_of(buf_text(&lines))),
		&s->c_defs);
	buf_free(&lines);
}
