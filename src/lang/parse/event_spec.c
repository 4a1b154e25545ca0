/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What stands after an event, from BCC's words into this language's:
 *
 *     rest:      [signature] ( print | count )
 *     signature: '(' [type name (',' type name)*] ')'     right after the event
 *     print:     ['(' filter ')'] ['"' format '"' (',' value)*]
 *     count:     [':' types [':' values [':' filter]]] ['#' label]
 *
 * The one idea: expressions are nearly the same in both, so they are read as tokens and a few of
 * those replaced: arg1 is arg0 here, a name of the signature is the argument cast to its type, $pid
 * is tid. What comes out is text that the parser reads like a script's own.
 *
 * $entry(name) and $latency, of returns, are read from a map that a probe at the function's entry
 * fills by thread; a return whose entry was not seen is passed over.
 */
#include "lang/parse/event_spec.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/glob.h"
#include "lang/parse/builtin.h"
#include "lang/parse/lex.h"
#include "unit/format.h"

#define PARAMS_MAX 12u
#define VALUES_MAX 12u

struct param {
	struct str name;
	const char *type;
};

struct reader {
	struct event_spec *s;
	struct arena *arena;
	const struct source *source;
	bool marks; /* what is read is a part of the source */
	struct str rest;
	struct param params[PARAMS_MAX];
	u32 n_params;
	u32 n_values;
	struct buf values, format, rows;
	struct buf entry; /* fields of what is kept at the entry */
	u32 number;       /* of the event */
	bool is_return;
	struct str *at;
};

/* Where `stop` stands outside of brackets and quotes, or the end. */
static u32 find_end(struct str s, char stop)
{
	bool quoted = false;
	u32 open = 0;

	for (u32 i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!quoted && !open && c == stop)
			return i;
		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '(' || c == '['))
			open++;
		else if (!quoted && (c == ')' || c == ']') && open)
			open--;
	}
	return s.n;
}

/* Takes what is before `stop` from *s; *found: it was there. */
static struct str take(struct str *s, char stop, bool *found)
{
	u32 n = find_end(*s, stop);
	struct str first = { s->p, n };

	*found = n < s->n;
	s->p += n + *found;
	s->n -= n + *found;
	return str_trim(first, STR_BLANKS);
}

static const char *wrong(struct reader *r, struct str where, const char *text)
{
	*r->at = where;
	return text;
}

/* ---- marks ---------------------------------------------------------------------------------- */

/* Of a text that is a part of the source. */
static u32 offset_of(const struct reader *r, const char *p)
{
	return r->marks ? (u32)(p - r->source->text) : 0;
}

static void begin_mark(const struct reader *r, struct buf *b, u32 off, u32 n)
{
	if (r->marks)
		buf_printf(b, "%c%08x%08x", EVENT_MARK, off, n);
}

static void end_mark(const struct reader *r, struct buf *b)
{
	if (r->marks)
		buf_putc(b, EVENT_UNMARK);
}

/* before, text, after: all of it stands for what was typed at `from`. */
static const char *marked(struct reader *r, struct str from, const char *before, const char *text,
                          const char *behind)
{
	struct buf b = { 0 };
	const char *all;

	begin_mark(r, &b, offset_of(r, from.p), from.n);
	buf_printf(&b, "%s%s%s", before, text, behind);
	end_mark(r, &b);
	all = arena_strdup(r->arena, buf_text(&b));
	buf_free(&b);
	return all;
}

void event_spec_numbers(char *text, size_t size)
{
	struct buf b = { 0 };

	for (const char *p = text; *p;) {
		char *end;

		if (strncmp(p, "arg", 3) != 0 || !isdigit((unsigned char)p[3]) ||
		    (p > text && lex_is_name(p[-1]))) {
			buf_putc(&b, *p++);
			continue;
		}
		buf_printf(&b, "arg%lu", strtoul(p + 3, &end, 10) + 1);
		p = end;
	}
	snprintf(text, size, "%s", buf_text(&b));
	buf_free(&b);
}

/* A text as a literal of this language. */
static const char *quoted(struct arena *a, struct str text)
{
	struct buf b = { 0 };
	const char *literal;

	buf_putc(&b, '"');
	for (u32 i = 0; i < text.n; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			buf_putc(&b, '\\');
		buf_putc(&b, text.p[i]);
	}
	buf_putc(&b, '"');
	literal = arena_strdup(a, buf_text(&b));
	buf_free(&b);
	return literal;
}

/* ---- types and the signature ---------------------------------------------------------------- */

/* C's types that are several words, or that kernels' types do not name. */
static const char *plain_type(struct str words)
{
	static const struct {
		const char *c, *ours;
	} rows[] = {
		{ "char", "int8" },
		{ "unsigned char", "uint8" },
		{ "short", "int16" },
		{ "unsigned short", "uint16" },
		{ "int", "int32" },
		{ "unsigned", "uint32" },
		{ "unsigned int", "uint32" },
		{ "long", "int64" },
		{ "unsigned long", "uint64" },
		{ "long long", "int64" },
		{ "unsigned long long", "uint64" },
		{ "size_t", "uint64" },
		{ "ssize_t", "int64" },
		{ "bool", "uint8" },
		{ "u8", "uint8" },
		{ "u16", "uint16" },
		{ "u32", "uint32" },
		{ "u64", "uint64" },
		{ "s8", "int8" },
		{ "s16", "int16" },
		{ "s32", "int32" },
		{ "s64", "int64" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_is(words, rows[i].c))
			return rows[i].ours;
	return NULL;
}

static bool is_string_type(struct str type)
{
	return str_is(type, "char*") || str_is(type, "char *") || str_is(type, "const char *") ||
	       str_is(type, "const char*");
}

static struct str without_const(struct str s)
{
	if (str_starts(s, "const "))
		return str_trim((struct str){ s.p + 6, s.n - 6 }, STR_BLANKS);
	return s;
}

/* A type as this language spells it. */
static const char *type_text(struct reader *r, struct str type)
{
	struct str s = str_trim(without_const(str_trim(type, STR_BLANKS)), STR_BLANKS), stars = s;
	const char *plain;

	while (s.n && (s.p[s.n - 1] == '*' || isspace((unsigned char)s.p[s.n - 1])))
		s.n--;
	stars.p += s.n;
	stars.n -= s.n;
	plain = plain_type(s);
	if (!plain)
		plain = arena_strndup(r->arena, s.p, s.n);
	return marked(r, s, "", plain, arena_strndup(r->arena, stars.p, stars.n));
}

static const char *read_param(struct reader *r, struct str text)
{
	u32 n = text.n;
	struct param *p = &r->params[r->n_params];

	while (n && lex_is_name(text.p[n - 1]))
		n--;
	if (!n || n == text.n)
		return wrong(r, text, "a parameter is a type and a name");
	p->name = (struct str){ text.p + n, text.n - n };
	p->type = type_text(r, (struct str){ text.p, n });
	r->n_params++;
	return NULL;
}

static const char *read_signature(struct reader *r)
{
	u32 end = r->rest.n ? find_end((struct str){ r->rest.p + 1, r->rest.n - 1 }, ')') + 1 : 0;
	struct str inner = { r->rest.p + 1, end - 1 };
	bool more = true;

	if (end >= r->rest.n)
		return wrong(r, r->rest, "this bracket is not closed");
	r->rest = (struct str){ r->rest.p + end + 1, r->rest.n - end - 1 };
	inner = str_trim(inner, STR_BLANKS);
	if (!inner.n || str_is(inner, "void"))
		return NULL;
	while (more) {
		const char *problem;

		if (r->n_params == PARAMS_MAX)
			return wrong(r, inner, "there are too many parameters");
		problem = read_param(r, take(&inner, ',', &more));
		if (problem)
			return problem;
	}
	return NULL;
}

/* ---- expressions ---------------------------------------------------------------------------- */

static const struct {
	const char *bcc, *ours;
} words[] = {
	{ "$retval", "retval" }, { "$pid", "tid" }, { "$tgid", "pid" },
	{ "$uid", "uid" },       { "$gid", "gid" }, { "$cpu", "cpu" },
	{ "$task", "curtask" },  { "$PID", "pid" }, { "$COMM", "comm" },
};

static bool put_word(struct reader *r, struct buf *b, struct str word)
{
	for (u32 i = 0; i < ARRAY_SIZE(words); i++)
		if (str_is(word, words[i].bcc)) {
			buf_puts(b, words[i].ours);
			return true;
		}
	for (u32 i = 0; i < r->n_params; i++)
		if (str_eq(word, r->params[i].name)) {
			buf_printf(b, "((%s)arg%u)", r->params[i].type, i);
			return true;
		}
	return false;
}

/* argN counts from 1 there. */
static bool put_argument(struct buf *b, struct str word)
{
	s32 n = builtin_arg(word);

	if (n > 0)
		buf_printf(b, "arg%d", n - 1);
	return n > 0;
}

static const char *put_expression(struct reader *r, struct buf *b, struct str text, u32 off);

/* STRCMP("text", e) -> (str(e) == "text"); `off` is where text is in the source. */
static const char *put_strcmp(struct reader *r, struct buf *b, struct str text, u32 off, u32 *end)
{
	struct str inner = { text.p + 1, find_end((struct str){ text.p + 1, text.n - 1 }, ')') };
	const char *problem;
	struct str literal;
	bool more;

	*end = inner.n + 2;
	literal = take(&inner, ',', &more);
	if (!more || *end > text.n)
		return wrong(r, text, "STRCMP takes a text and a pointer");
	buf_puts(b, "(str(");
	problem = put_expression(r, b, inner, off + (u32)(inner.p - text.p));
	buf_printf(b, ") == %.*s)", STR_ARG(literal));
	return problem;
}

/* A field of what is kept at the entry, once. */
static void keep(struct reader *r, struct str name, const char *value)
{
	const char *field = arena_printf(r->arena, "%.*s=%s, ", STR_ARG(name), value);

	if (!strstr(buf_text(&r->entry), field))
		buf_puts(&r->entry, field);
}

/* $entry(name): an argument as it was when the function was entered. */
static const char *put_entry(struct reader *r, struct buf *b, struct lexer *l, struct str behind)
{
	struct str name = { 0 };
	u32 i = 0, end = behind.n ? find_end((struct str){ behind.p + 1, behind.n - 1 }, ')') : 0;

	if (end + 1 < behind.n && behind.p[0] == '(')
		name = str_trim((struct str){ behind.p + 1, end }, STR_BLANKS);
	while (i < r->n_params && !str_eq(name, r->params[i].name))
		i++;
	if (i == r->n_params)
		return wrong(r, r->rest, "$entry takes a parameter of the signature: $entry(size)");
	l->pos += end + 2;
	name = str_of(arena_printf(r->arena, "%.*s_", STR_ARG(name)));
	keep(r, name, arena_printf(r->arena, "((%s)arg%u)", r->params[i].type, i));
	buf_printf(b, "@entry_%u[tid].%.*s", r->number, STR_ARG(name));
	return NULL;
}

/* `off`: where the lexer's text is in the source. */
static const char *put_token(struct reader *r, struct buf *b, struct lexer *l,
                             const struct token *t, u32 off, bool member)
{
	const char *text = l->source->text, *problem;
	struct str word = { text + t->loc.off, t->loc.len };
	struct str behind = { text + l->pos, l->source->n - l->pos };
	u32 end;

	if (t->problem)
		return wrong(r, r->rest, t->problem);
	if (!r->is_return && (str_is(word, "$entry") || str_is(word, "$latency")))
		return wrong(r, r->rest, "$entry and $latency are of returns, r:...");
	if (str_is(word, "$latency")) {
		keep(r, STR("ns"), "nsecs");
		buf_printf(b, "(nsecs - @entry_%u[tid].ns)", r->number);
		return NULL;
	}
	if (str_is(word, "$entry"))
		return put_entry(r, b, l, behind);
	if (str_is(word, "STRCMP") && behind.n && behind.p[0] == '(') {
		problem = put_strcmp(r, b, behind, off + l->pos, &end);
		l->pos += end;
		return problem;
	}
	if (member || (!put_word(r, b, word) && !put_argument(b, word)))
		buf_add(b, word.p, word.n);
	return NULL;
}

static const char *put_expression(struct reader *r, struct buf *b, struct str text, u32 off)
{
	struct source source = { .name = "expression", .text = NULL };
	struct lexer l = { &source, r->arena, 0 };
	const char *problem = NULL;
	bool member = false;
	struct token t;
	u32 before = 0;

	source.text = arena_strndup(r->arena, text.p, text.n);
	source.n = text.n;
	for (t = lex_next(&l); t.kind != TOKEN_END && !problem; t = lex_next(&l)) {
		if (t.loc.off > before)
			buf_putc(b, ' ');
		begin_mark(r, b, off + t.loc.off, t.loc.len);
		problem = put_token(r, b, &l, &t, off, member);
		end_mark(r, b);
		member = t.kind == TOKEN_DOT || t.kind == TOKEN_ARROW;
		before = l.pos;
	}
	return problem;
}

static const char *expression(struct reader *r, struct str text, const char **out)
{
	struct buf b = { 0 };
	const char *problem = put_expression(r, &b, text, offset_of(r, text.p));

	*out = arena_strdup(r->arena, buf_text(&b));
	buf_free(&b);
	return problem || **out ? problem : wrong(r, r->rest, "an expression is missing");
}

static const char *read_filter(struct reader *r, struct str text)
{
	const char *e, *problem = expression(r, text, &e);

	if (!problem)
		r->s->filter = marked(r, text, "(", e, ")");
	return problem;
}

/* ---- values --------------------------------------------------------------------------------- */

/* "NAME=" in the script: one of its own columns has the name. */
static bool is_column(const struct reader *r, const char *name)
{
	const struct source *s = r->source;
	size_t n = strlen(name), size = s->imports.n ? s->imports.v[0].off : s->n;
	const char *p = s->text, *end = p + size;

	while ((p = memmem(p, (size_t)(end - p), name, n))) {
		const char *behind = p + n;

		while (behind < end && *behind == ' ')
			behind++;
		if ((p == s->text || !lex_is_name(p[-1])) && behind + 1 < end && behind[0] == '=' &&
		    behind[1] != '=')
			return true;
		p += n;
	}
	return false;
}

/* The field's name: the last word of the expression, if nobody has it. */
static const char *field_name(struct reader *r, struct str text)
{
	u32 end = text.n, start;
	const char *name;

	while (end && !lex_is_name(text.p[end - 1]))
		end--;
	start = end;
	while (start && lex_is_name(text.p[start - 1]))
		start--;
	if (start == end || isdigit((unsigned char)text.p[start]))
		return arena_printf(r->arena, "value%u", r->n_values + 1);
	name = arena_strndup(r->arena, text.p + start, end - start);
	if (is_column(r, name) || strstr(buf_text(&r->values), arena_printf(r->arena, "%s=", name)))
		return arena_printf(r->arena, "%s_%u", name, r->n_values + 1);
	return name;
}

/* Where a pointer points to, as BCC's trace has it: arg2@user. */
static const struct {
	const char *suffix, *function;
} spaces[] = { { "@user", "uptr" }, { "@kernel", "kptr" } };

static bool ends_in(struct str s, struct str end)
{
	return s.n >= end.n && memcmp(s.p + s.n - end.n, end.p, end.n) == 0;
}

/* `before` and `behind` are put around the expression; *name is the field's. */
static const char *add_value(struct reader *r, struct str text, const char *before,
                             const char *behind, const char **name)
{
	const char *e, *problem = NULL;
	struct str own = text;

	for (u32 i = 0; i < ARRAY_SIZE(spaces); i++)
		if (ends_in(own, str_of(spaces[i].suffix))) {
			own.n -= (u32)strlen(spaces[i].suffix);
			before = arena_printf(r->arena, "%s%s(", before, spaces[i].function);
			behind = arena_printf(r->arena, ")%s", behind);
		}
	problem = expression(r, own, &e);
	if (problem)
		return problem;
	if (r->n_values == VALUES_MAX)
		return wrong(r, text, "there are too many values");
	*name = field_name(r, own);
	e = marked(r, text, before, e, behind);
	if (!r->n_values++)
		r->s->value = e;
	buf_printf(&r->values, "%s%s=%s", r->n_values > 1 ? ", " : "", *name, e);
	return NULL;
}

/* One value by its directive: %s follows a pointer, %K and %U are names of addresses. */
static const char *add_shown(struct reader *r, char directive, const char **name)
{
	static const struct {
		char directive;
		const char *before;
	} rows[] = { { 's', "__text(" }, { 'K', "ksym(" }, { 'U', "usym(" } };
	bool more;
	struct str text = take(&r->rest, ',', &more);

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (directive == rows[i].directive)
			return add_value(r, text, rows[i].before, ")", name);
	return add_value(r, text, "(", ")", name);
}

/* Copies a directive, %K and %U as %s; returns its letter, 0 for "%%". */
static char put_directive(struct buf *b, struct str format, u32 *i)
{
	char letter;

	buf_putc(b, '%');
	for (++*i; *i < format.n && strchr("-+ #0123456789.lhzjt", format.p[*i]); ++*i)
		if (!strchr("lhzjt", format.p[*i]))
			buf_putc(b, format.p[*i]);
	letter = *i < format.n ? format.p[*i] : '%';
	buf_putc(b, letter == 'K' || letter == 'U' ? 's' : letter);
	return letter == '%' ? 0 : letter;
}

static void put_character(struct reader *r, char c)
{
	buf_putc(&r->format, c);
	if (c == '{' || c == '}')
		buf_putc(&r->rows, c);
	buf_putc(&r->rows, c);
}

/* The directive at *i, for printf and for rows, and its value. */
static const char *put_shown_value(struct reader *r, struct str format, u32 *i)
{
	size_t start = r->format.n;
	char directive = put_directive(&r->format, format, i);
	const char *name, *problem;

	if (!directive) {
		buf_putc(&r->rows, '%');
		return NULL;
	}
	if (!r->rest.n)
		return wrong(r, format, "the format has more directives than values");
	problem = add_shown(r, directive, &name);
	if (!problem)
		buf_printf(&r->rows, "{%s:%s}", name, buf_text(&r->format) + start);
	return problem;
}

/* What printf is going to say of the format, which it knows by another text. */
static const char *check_format(struct reader *r, struct str format)
{
	const char *p = buf_text(&r->format), *problem;
	struct format_part part;

	while (format_next(&p, &part, &problem))
		;
	return problem ? wrong(r, format, problem) : NULL;
}

/* print: the format, then a value for each directive */
static const char *read_print(struct reader *r)
{
	u32 end = 1;
	struct str format;
	bool more;

	while (end < r->rest.n && r->rest.p[end] != '"')
		end += r->rest.p[end] == '\\' ? 2 : 1;
	if (end >= r->rest.n)
		return wrong(r, r->rest, "this text has no end");
	format = (struct str){ r->rest.p + 1, end - 1 };
	r->rest = str_trim((struct str){ r->rest.p + end + 1, r->rest.n - end - 1 }, STR_BLANKS);
	if (r->rest.n && take(&r->rest, ',', &more).n)
		return wrong(r, r->rest, "a ',' must follow the format");
	for (u32 i = 0; i < format.n; i++) {
		const char *problem = NULL;

		if (format.p[i] == '%')
			problem = put_shown_value(r, format, &i);
		else
			put_character(r, format.p[i]);
		if (problem)
			return problem;
	}
	if (r->rest.n)
		return wrong(r, r->rest, "there are more values than directives");
	return check_format(r, format);
}

/* A text inside of a template's quotes. */
static void put_shown(struct buf *b, struct str text)
{
	for (u32 i = 0; i < text.n; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			buf_putc(b, '\\');
		else if (text.p[i] == '{' || text.p[i] == '}')
			buf_putc(b, text.p[i]);
		buf_putc(b, text.p[i]);
	}
}

/* count: types, values, and what is shown of them: "size = {size}, n = {n}" */
static const char *read_values(struct reader *r, struct str types, struct str values)
{
	bool more_types = true, more = values.n > 0;

	while (more) {
		struct str type, text = take(&values, ',', &more);
		const char *name, *problem;

		if (!more_types)
			return wrong(r, text, "there are more values than types");
		type = take(&types, ',', &more_types);
		problem = add_value(r, text,
		                    is_string_type(type) ? "__text("
		                    : type.n ? arena_printf(r->arena, "(%s)(", type_text(r, type))
		                             : "(",
		                    ")", &name);
		if (problem)
			return problem;
		buf_puts(&r->format, r->n_values > 1 ? ", " : "");
		put_shown(&r->format, text);
		buf_printf(&r->format, " = {%s}", name);
	}
	return NULL;
}

static const char *read_count(struct reader *r)
{
	struct str head, label, types, values;
	const char *problem;
	bool more;

	label = r->rest;
	head = take(&label, '#', &more);
	if (more)
		r->s->label = quoted(r->arena, str_trim(label, STR_BLANKS));
	if (head.n)
		take(&head, ':', &more);
	types = take(&head, ':', &more);
	values = take(&head, ':', &more);
	problem = read_values(r, types, values);
	head = str_trim(head, STR_BLANKS);
	if (!problem && head.n)
		problem = read_filter(r, head);
	return problem;
}

static const char *read_rest(struct reader *r, bool adjacent)
{
	const char *problem;

	if (adjacent && r->rest.n && r->rest.p[0] == '(') {
		problem = read_signature(r);
		if (problem)
			return problem;
	}
	r->rest = str_trim(r->rest, STR_BLANKS);
	if (r->rest.n && (r->rest.p[0] == ':' || r->rest.p[0] == '#'))
		return read_count(r);
	if (r->rest.n && r->rest.p[0] == '(') {
		struct str inner = { r->rest.p + 1, r->rest.n - 1 };
		bool closed;

		inner = take(&inner, ')', &closed);
		if (!closed)
			return wrong(r, r->rest, "this bracket is not closed");
		problem = read_filter(r, inner);
		if (problem)
			return problem;
		r->rest.n -= (u32)(inner.p + inner.n - r->rest.p);
		r->rest.p = inner.p + inner.n;
		while (r->rest.p[0] != ')') {
			r->rest.p++;
			r->rest.n--;
		}
		r->rest = str_trim((struct str){ r->rest.p + 1, r->rest.n - 1 }, STR_BLANKS);
	}
	if (r->rest.n && r->rest.p[0] == '"')
		return read_print(r);
	return r->rest.n ? wrong(r, r->rest, "after the event come (FILTER), \"FORMAT\" and values")
	                 : NULL;
}

static void set_counted(struct reader *r)
{
	struct event_spec *s = r->s;

	s->counted = s->values;
	s->counted_rows = s->rows;
	if (r->n_values)
		return;
	s->counted = r->is_return ? "retval=retval" : "calls=1";
	s->counted_rows = r->is_return ? "$retval = {retval}" : "calls";
	s->value = r->is_return ? "retval" : "1";
}

/* A tuple of one has a ',' after it, so all have. */
static void set_entry(struct reader *r)
{
	const char *fields = buf_text(&r->entry);

	r->s->keep = arena_printf(r->arena, "@entry_%u[tid] = (%s);", r->number, fields);
	r->s->drop = arena_printf(r->arena, "delete(@entry_%u, tid);", r->number);
	r->s->filter = arena_printf(r->arena, "has_key(@entry_%u, tid) && (%s)", r->number,
	                            r->s->filter);
}

const char *event_spec_read(struct event_spec *s, struct arena *a, const struct event_text *text,
                            const struct source *source, struct str *at)
{
	const char *first = text->head.p;
	struct reader r = { .s = s,
		            .arena = a,
		            .source = source,
		            .marks = first >= source->text &&
		                     first<source->text + source->n, .rest = text->rest,
		                           .number = text->number, .is_return = text->n_parts> 1 &&
		                     str_is(text->part[0], "r"),
		            .at = at };
	struct str last = text->part[text->n_parts - 1];
	u32 n = text->rest.n ? (u32)(text->rest.p + text->rest.n - text->head.p) : text->head.n;
	bool adjacent = text->rest.n && text->rest.p == text->head.p + text->head.n;
	const char *problem;

	*s = (struct event_spec){
		.filter = "1", .value = "1", .number = text->number, .given = text->rest.n > 0
	};
	s->label = quoted(a, (struct str){ text->head.p, n });
	s->name = text->regex || glob_is(last) ? "probe" : quoted(a, last);
	problem = read_rest(&r, adjacent);
	s->values = arena_strdup(a, buf_text(&r.values));
	s->format = arena_strdup(a, buf_text(&r.format));
	s->rows = r.rows.n ? arena_strdup(a, buf_text(&r.rows)) : s->format;
	if (r.entry.n)
		set_entry(&r);
	set_counted(&r);
	buf_free(&r.values);
	buf_free(&r.format);
	buf_free(&r.rows);
	buf_free(&r.entry);
	return problem;
}
