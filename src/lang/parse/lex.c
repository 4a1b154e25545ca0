/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lexer. It knows blanks, comments, numbers, strings and operators, and never gives up: a
 * token that is wrong (a number too large, a string without end) is returned with its problem
 * in it, so that the parser can report it once and go on. It does not know keywords, which are
 * ordinary names here: `args.config` is a field.
 */
#include "lang/parse/lex.h"

#include <string.h>

static char at(const struct lexer *l, u32 pos)
{
	return pos < l->source->n ? l->source->text[pos] : 0;
}

static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool lex_is_name(char c)
{
	return is_name_start(c) || is_digit(c);
}

const char *lex_token_name(enum token_kind kind)
{
	static const char *const names[] = { [TOKEN_END] = "the end of the script",
		                             [TOKEN_BAD] = "an unexpected character",
		                             [TOKEN_NAME] = "a name",
		                             [TOKEN_INT] = "a number",
		                             [TOKEN_STRING] = "a string",
		                             [TOKEN_MAP] = "a map",
		                             [TOKEN_VAR] = "a variable",
		                             [TOKEN_PARAM] = "a positional parameter",
		                             [TOKEN_PARAM_COUNT] = "'$#'",
#define X(name, text) [TOKEN_##name] = "'" text "'",
		                             PUNCTUATION(X)
#undef X
	};

	return names[kind];
}

/* Moves over a comment that starts here. False when it has no end. */
static bool skip_comment(struct lexer *l, bool *line_end)
{
	u32 p = l->pos + 2;

	if (at(l, l->pos + 1) == '/') {
		while (p < l->source->n && at(l, p) != '\n')
			p++;
		l->pos = p;
		return true;
	}
	for (; p + 1 < l->source->n; p++) {
		if (at(l, p) == '*' && at(l, p + 1) == '/') {
			l->pos = p + 2;
			return true;
		}
		*line_end |= at(l, p) == '\n';
	}
	return false;
}

bool lex_skip_blanks(struct lexer *l, bool *saw_line_end, u32 *where)
{
	while (l->pos < l->source->n) {
		char c = at(l, l->pos), next = at(l, l->pos + 1);

		if (c == '/' && (next == '/' || next == '*')) {
			*where = l->pos;
			if (!skip_comment(l, saw_line_end)) {
				l->pos = l->source->n;
				return false;
			}
		} else if (c == ' ' || (c >= '\t' && c <= '\r')) {
			*saw_line_end |= c == '\n';
			l->pos++;
		} else if (c == '\\' && next == '\n') { /* a line goes on */
			l->pos += 2;
		} else {
			break;
		}
	}
	return true;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static const char out_of_range[] = "integer literal out of range";
static const char not_a_number[] = "invalid number";

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Reads digits of `base` with '_' between them; returns how many characters. */
static u32 read_digits(struct str s, u32 base, u64 *value, const char **problem)
{
	u32 i;

	*value = 0;
	for (i = 0; i < s.n; i++) {
		u64 digit;

		if (s.p[i] == '_')
			continue;
		digit = (u64)digit_value(s.p[i]);
		if (digit >= base)
			break;
		if (__builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, digit, value))
			*problem = out_of_range;
	}
	return i;
}

static void scale(u64 *value, u64 by, const char **problem)
{
	if (__builtin_mul_overflow(*value, by, value))
		*problem = out_of_range;
}

/* "e6" after the digits. */
static u32 read_exponent(struct str s, u64 *value, const char **problem)
{
	u64 exponent;
	u32 n;

	if (s.n < 2 || (s.p[0] != 'e' && s.p[0] != 'E') || !is_digit(s.p[1]))
		return 0;
	n = read_digits((struct str){ s.p + 1, s.n - 1 }, 10, &exponent, problem);
	if (*value && exponent > 19)
		*problem = out_of_range;
	for (u64 i = 0; *value && i < MIN(exponent, 20); i++)
		scale(value, 10, problem);
	return n + 1;
}

/* What may follow the digits: a size (without effect but for the sign) or a unit of time. */
static bool read_suffix(struct str s, struct token *t)
{
	static const struct {
		const char *text;
		u64 ns;
		bool is_unsigned;
	} suffixes[] = {
		{ "", 0, false },
		{ "u", 0, true },
		{ "l", 0, false },
		{ "ul", 0, true },
		{ "ll", 0, false },
		{ "ull", 0, true },
		{ "U", 0, true },
		{ "L", 0, false },
		{ "UL", 0, true },
		{ "LL", 0, false },
		{ "ULL", 0, true },
		{ "ns", 1, false },
		{ "us", 1000, false },
		{ "ms", 1000000, false },
		{ "s", 1000000000, false },
		{ "m", 60000000000, false },
		{ "h", 3600000000000, false },
		{ "d", 86400000000000, false },
	};

	for (u32 i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (!str_is(s, suffixes[i].text))
			continue;
		t->is_unsigned = suffixes[i].is_unsigned;
		if (suffixes[i].ns)
			scale(&t->value, suffixes[i].ns, &t->problem);
		return true;
	}
	return false;
}

/* number: decimal | octal | hex, ['e' digits], [suffix] */
static void lex_number(struct lexer *l, struct token *t)
{
	u32 end = l->pos, skip = 0, base = 10, n;
	struct str s;

	while (lex_is_name(at(l, end)))
		end++;
	s = (struct str){ l->source->text + l->pos, end - l->pos };
	l->pos = end;
	t->kind = TOKEN_INT;
	if (s.n > 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X')) {
		base = 16;
		skip = 2;
	} else if (s.n > 1 && s.p[0] == '0' && is_digit(s.p[1])) {
		base = 8;
		skip = 1;
	}
	s = (struct str){ s.p + skip, s.n - skip };
	n = read_digits(s, base, &t->value, &t->problem);
	s = (struct str){ s.p + n, s.n - n };
	if (n && base == 10) {
		n = read_exponent(s, &t->value, &t->problem);
		s = (struct str){ s.p + n, s.n - n };
	} else if (!n) {
		t->problem = not_a_number;
	}
	if (!read_suffix(s, t))
		t->problem = not_a_number;
	t->is_unsigned |= t->value > INT64_MAX;
}

/* ---- strings -------------------------------------------------------------------------------- */

/* The escape after a backslash at pos - 1; returns the number of characters read, 0 when bad. */
static u32 read_escape(const struct lexer *l, u32 pos, char *out)
{
	static const char letters[] = "ntr\"\\", values[] = "\n\t\r\"\\";
	char c = at(l, pos);
	const char *hit = c ? strchr(letters, c) : NULL;
	u32 n = 0, value = 0;

	if (hit) {
		*out = values[hit - letters];
		return 1;
	}
	if (c == 'x') {
		for (; n < 2 && digit_value(at(l, pos + 1 + n)) < 16; n++)
			value = value * 16 + (u32)digit_value(at(l, pos + 1 + n));
		n += n ? 1 : 0;
	} else {
		for (; n < 3 && digit_value(at(l, pos + n)) < 8; n++)
			value = value * 8 + (u32)digit_value(at(l, pos + n));
	}
	*out = (char)value;
	return value < 256 ? n : 0;
}

static void lex_string(struct lexer *l, struct token *t)
{
	u32 p = l->pos + 1, end = p, n = 0;
	char *value;

	t->kind = TOKEN_STRING;
	while (end < l->source->n && at(l, end) != '"' && at(l, end) != '\n')
		end += at(l, end) == '\\' && at(l, end + 1) != '\n' ? 2 : 1;
	end = MIN(end, l->source->n);
	value = arena_alloc(l->arena, end - p + 1);
	while (p < end) {
		u32 used;

		if (at(l, p) != '\\') {
			value[n++] = at(l, p++);
			continue;
		}
		used = read_escape(l, p + 1, &value[n++]);
		if (!used && !t->problem) {
			t->problem = "unknown escape sequence in a string";
			t->problem_loc = (struct loc){ p, 2 };
		}
		p += MAX(used, 1) + 1;
	}
	t->text = (struct str){ value, n };
	if (at(l, end) == '"') {
		l->pos = end + 1;
		return;
	}
	t->problem = "unterminated string";
	t->problem_loc = (struct loc){ l->pos, 1 };
	l->pos = end;
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* $name, $1, $# */
static void lex_dollar(struct lexer *l, struct token *t)
{
	u32 p = l->pos + 1;

	if (at(l, p) == '#') {
		t->kind = TOKEN_PARAM_COUNT;
		l->pos = p + 1;
		return;
	}
	t->kind = is_digit(at(l, p)) ? TOKEN_PARAM : TOKEN_VAR;
	if (t->kind == TOKEN_PARAM)
		p += read_digits((struct str){ l->source->text + p, l->source->n - p }, 10,
		                 &t->value, &t->problem);
	while (t->kind == TOKEN_VAR && lex_is_name(at(l, p)))
		p++;
	if (p == l->pos + 1)
		t->problem = "a name or a number must follow '$'";
	else if (t->kind == TOKEN_PARAM && (t->value == 0 || t->value > 65535))
		t->problem = "positional parameters count from $1 to $65535";
	l->pos = p;
}

static void lex_name(struct lexer *l, struct token *t, enum token_kind kind)
{
	t->kind = kind;
	l->pos++;
	while (lex_is_name(at(l, l->pos)))
		l->pos++;
}

/* True for what can stand nowhere outside a string. */
static bool is_foreign(char c)
{
	u8 u = (u8)c; /* plain char has a sign on some machines only */

	return u >= 0x7f || (u < ' ' && !(u >= '\t' && u <= '\r')) || strchr("`\\#", c);
}

/* One token for 'text' or for a run of bytes that belong to nothing: they are one mistake. */
static void lex_bad(struct lexer *l, struct token *t)
{
	u32 end = l->pos + 1;

	t->kind = TOKEN_BAD;
	t->problem = "unexpected character";
	if (at(l, l->pos) == '\'') {
		while (end < l->source->n && at(l, end) != '\'' && at(l, end) != '\n')
			end++;
		if (at(l, end) == '\'') {
			t->problem = "text goes in double quotes";
			l->pos = end + 1;
			return;
		}
		end = l->pos + 1;
	}
	while (end < l->source->n && is_foreign(at(l, end)))
		end++;
	l->pos = end;
}

static void lex_punctuation(struct lexer *l, struct token *t)
{
	/* The text lies in the row: every third token goes through the rows, and most differ at
	 * once. */
	static const struct {
		char text[4];
		u8 n, kind;
	} rows[] = {
#define X(name, text) { text, sizeof(text) - 1, TOKEN_##name },
		PUNCTUATION(X)
#undef X
	};
	const char *here = l->source->text + l->pos;
	u32 left = l->source->n - l->pos;

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		if (here[0] != rows[i].text[0] || left < rows[i].n ||
		    memcmp(here, rows[i].text, rows[i].n) != 0)
			continue;
		t->kind = rows[i].kind;
		l->pos += rows[i].n;
		return;
	}
	lex_bad(l, t);
}

static void lex_token(struct lexer *l, struct token *t)
{
	char c = at(l, l->pos);

	if (is_digit(c))
		lex_number(l, t);
	else if (is_name_start(c))
		lex_name(l, t, TOKEN_NAME);
	else if (c == '@')
		lex_name(l, t, TOKEN_MAP);
	else if (c == '$')
		lex_dollar(l, t);
	else if (c == '"')
		lex_string(l, t);
	else
		lex_punctuation(l, t);
}

struct token lex_next(struct lexer *l)
{
	struct token t = { .kind = TOKEN_END };
	u32 comment;

	if (!lex_skip_blanks(l, &t.on_new_line, &comment)) {
		t.problem = "unterminated comment";
		t.problem_loc = (struct loc){ comment, 2 };
	}
	t.loc.off = l->pos;
	if (l->pos < l->source->n)
		lex_token(l, &t);
	t.loc.len = l->pos - t.loc.off;
	if (t.kind != TOKEN_STRING)
		t.text = (struct str){ l->source->text + t.loc.off, t.loc.len };
	if (t.problem && !t.problem_loc.len)
		t.problem_loc = t.loc;
	return t;
}

void lex_skip_definition_end(struct lexer *l)
{
	struct lexer ahead = *l;
	struct token t = lex_next(&ahead);
	u32 open = 0;

	while (t.kind == TOKEN_NAME && str_is(t.text, "__attribute__")) {
		do {
			t = lex_next(&ahead);
			open += t.kind == TOKEN_LPAREN;
			open -= t.kind == TOKEN_RPAREN && open;
		} while (open && t.kind != TOKEN_END);
		if (open) /* without its end it is none */
			return;
		*l = ahead;
		t = lex_next(&ahead);
	}
	if (t.kind == TOKEN_SEMI)
		*l = ahead;
}
