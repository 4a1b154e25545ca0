/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The formatter. It works on tokens and the text between them, not on the tree, so that comments,
 * literals and C definitions come out as they were written:
 *
 *     attach point,            an element is a piece of the top of the script: what it is decides
 *     attach point             how its text is written. Blocks are written token by token; two
 *     /predicate/              tokens and what lies between them decide the blanks.
 *     {
 *     	statement;
 *     }
 *
 * A line break inside of a statement stays. The result is parsed again: it must have the same tree,
 * and the same characters but blanks and ';'.
 */
#include "lang/parse/fmt.h"

#include <string.h>

#include "lang/parse/lex.h"

#define FMT_DEPTH 512u /* deeper blocks lose the count of open brackets, and nothing else */

struct fmt {
	struct buf *out;
	struct lexer lex;       /* after tok */
	struct token prev, tok; /* prev.kind TOKEN_END: tok is the first of its element */
	u32 indent;
	u32 open;             /* brackets open since the innermost '{' */
	u32 opens[FMT_DEPTH]; /* the same for the blocks around */
	u32 control;          /* open when the brackets of an if, for or while close; 0 none do */
	bool line_start;      /* nothing is written on this line yet */
	bool prev_unary;      /* prev is a sign, a dereference, ... */
	bool prev_control;    /* prev closes the brackets of an if, for or while */
};

/* ---- writing -------------------------------------------------------------------------------- */

static void fmt_newline(struct fmt *f)
{
	if (!f->line_start)
		buf_putc(f->out, '\n');
	f->line_start = true;
}

static void fmt_blank_line(struct fmt *f)
{
	size_t n;

	fmt_newline(f);
	n = f->out->n;
	if (n >= 2 && f->out->p[n - 1] == '\n' && f->out->p[n - 2] != '\n')
		buf_putc(f->out, '\n');
}

static void fmt_text(struct fmt *f, struct loc loc, u32 indent)
{
	if (f->line_start)
		buf_fill(f->out, '\t', indent);
	buf_add(f->out, f->lex.source->text + loc.off, loc.len);
	f->line_start = false;
}

static void fmt_space(struct fmt *f)
{
	if (!f->line_start)
		buf_putc(f->out, ' ');
}

/* ---- between tokens ------------------------------------------------------------------------- */

/* A comment, and how it stood. */
struct comment {
	struct loc loc;
	bool own_line, blank_before, ends_line;
};

static char fmt_char(const struct fmt *f, u32 pos)
{
	return pos < f->lex.source->n ? f->lex.source->text[pos] : 0;
}

static u32 comment_end(const struct fmt *f, u32 pos)
{
	bool line = fmt_char(f, pos + 1) == '/';

	for (pos += 2; fmt_char(f, pos); pos++) {
		if (line && fmt_char(f, pos) == '\n')
			return pos;
		if (!line && fmt_char(f, pos) == '*' && fmt_char(f, pos + 1) == '/')
			return pos + 2;
	}
	return pos;
}

/* The next comment from *pos on and before `end`; *lines counts line ends passed on the way. */
static bool next_comment(struct fmt *f, u32 *pos, u32 end, u32 *lines, struct comment *c)
{
	*lines = 0;
	for (; *pos < end && strchr(" \t\r\n\v\f", fmt_char(f, *pos)); ++*pos)
		*lines += fmt_char(f, *pos) == '\n';
	if (*pos >= end || fmt_char(f, *pos) != '/')
		return false;
	c->loc = (struct loc){ *pos, comment_end(f, *pos) - *pos };
	c->own_line = *lines > 0;
	c->blank_before = *lines > 1;
	c->ends_line = fmt_char(f, *pos + 1) == '/';
	*pos += c->loc.len;
	return true;
}

static struct loc trimmed(const struct fmt *f, struct loc loc)
{
	while (loc.len && strchr(" \t\r\n", fmt_char(f, loc.off + loc.len - 1)))
		loc.len--;
	return loc;
}

/* Writes the comments between two places. Returns the line ends after the last one; *any says
 * whether there was one. `first`: a blank line before the first is dropped. */
static u32 fmt_comments(struct fmt *f, u32 from, u32 to, bool first, bool *any)
{
	struct comment c;
	u32 lines;

	*any = false;
	while (next_comment(f, &from, to, &lines, &c)) {
		if (c.own_line)
			fmt_newline(f);
		if (c.blank_before && !(first && !*any))
			fmt_blank_line(f);
		fmt_space(f);
		fmt_text(f, trimmed(f, c.loc), f->indent);
		if (c.ends_line)
			fmt_newline(f);
		*any = true;
	}
	if (*any && lines)
		fmt_newline(f);
	return lines;
}

/* ---- which blanks stand between two tokens -------------------------------------------------- */

static bool is_operand_end(const struct token *t)
{
	switch (t->kind) {
	case TOKEN_NAME:
	case TOKEN_INT:
	case TOKEN_STRING:
	case TOKEN_MAP:
	case TOKEN_VAR:
	case TOKEN_PARAM:
	case TOKEN_PARAM_COUNT:
	case TOKEN_RPAREN:
	case TOKEN_RBRACKET:
		return true;
	default:
		return false;
	}
}

static bool is_operand_start(const struct token *t)
{
	return (is_operand_end(t) && t->kind != TOKEN_RPAREN && t->kind != TOKEN_RBRACKET) ||
	       t->kind == TOKEN_LPAREN;
}

static bool is_word(const struct token *t, const char *const *words, u32 n)
{
	for (u32 i = 0; t->kind == TOKEN_NAME && i < n; i++)
		if (str_is(t->text, words[i]))
			return true;
	return false;
}

static bool is_control(const struct token *t)
{
	static const char *const words[] = { "if", "for", "while" };

	return is_word(t, words, ARRAY_SIZE(words));
}

static bool is_keyword(const struct token *t)
{
	static const char *const words[] = { "return", "else", "let", "in" };

	return is_control(t) || is_word(t, words, ARRAY_SIZE(words));
}

static bool is_step(const struct token *t)
{
	return t->kind == TOKEN_INC || t->kind == TOKEN_DEC;
}

/* A sign, a dereference, an address: no operand stands before it. */
static bool is_unary(const struct fmt *f)
{
	switch (f->tok.kind) {
	case TOKEN_NOT:
	case TOKEN_COMPL:
		return true;
	case TOKEN_SUB:
	case TOKEN_ADD:
	case TOKEN_MUL:
	case TOKEN_AND:
		return !is_operand_end(&f->prev) && !is_step(&f->prev);
	case TOKEN_INC:
	case TOKEN_DEC:
		return !is_operand_end(&f->prev) || f->tok.on_new_line;
	default:
		return false;
	}
}

static struct token fmt_peek(const struct fmt *f)
{
	struct lexer ahead = f->lex;

	return lex_next(&ahead);
}

/* Two signs that would be one token without a blank: "- -x". */
static bool joins(const struct fmt *f)
{
	switch (f->prev.kind) {
	case TOKEN_SUB:
		return f->tok.kind == TOKEN_SUB || f->tok.kind == TOKEN_DEC;
	case TOKEN_ADD:
		return f->tok.kind == TOKEN_ADD || f->tok.kind == TOKEN_INC;
	case TOKEN_AND:
		return f->tok.kind == TOKEN_AND;
	default:
		return false;
	}
}

static bool sticks_to_next(const struct fmt *f)
{
	switch (f->prev.kind) {
	case TOKEN_LPAREN:
	case TOKEN_LBRACKET:
	case TOKEN_DOT:
	case TOKEN_ARROW:
	case TOKEN_DOTDOT:
		return true;
	default:
		return f->prev_unary && !joins(f);
	}
}

static bool opens_call(const struct fmt *f)
{
	if (f->tok.kind == TOKEN_LBRACKET)
		return is_operand_end(&f->prev);
	return is_operand_end(&f->prev) && !is_keyword(&f->prev);
}

/* (type)operand, and not the condition of an if */
static bool is_cast(const struct fmt *f)
{
	return f->prev.kind == TOKEN_RPAREN && !f->prev_control && is_operand_start(&f->tok);
}

static bool sticks_to_prev(const struct fmt *f)
{
	switch (f->tok.kind) {
	case TOKEN_RPAREN:
	case TOKEN_RBRACKET:
	case TOKEN_COMMA:
	case TOKEN_SEMI:
	case TOKEN_DOT:
	case TOKEN_ARROW:
	case TOKEN_DOTDOT:
		return true;
	case TOKEN_LPAREN:
	case TOKEN_LBRACKET:
		return opens_call(f);
	case TOKEN_INC:
	case TOKEN_DEC:
		return is_operand_end(&f->prev);
	case TOKEN_MUL: /* "struct x **" */
		return f->prev.kind == TOKEN_MUL && !f->prev_unary && !is_unary(f);
	default:
		return is_cast(f);
	}
}

/* ---- statements ----------------------------------------------------------------------------- */

/* A line end before this token closes the statement, as the parser has it. */
static bool ends_at_line(const struct fmt *f)
{
	if (!f->tok.on_new_line || f->open)
		return false;
	if (!is_operand_end(&f->prev) && !is_step(&f->prev))
		return false;
	if (is_keyword(&f->prev) || is_cast(f))
		return false;
	return is_operand_start(&f->tok) || f->tok.kind == TOKEN_NOT ||
	       (is_step(&f->tok) && !is_operand_end(&f->prev)) || f->tok.kind == TOKEN_COMPL;
}

static bool starts_statement(const struct fmt *f)
{
	return f->prev.kind == TOKEN_SEMI || f->prev.kind == TOKEN_LBRACE ||
	       f->prev.kind == TOKEN_RBRACE || ends_at_line(f);
}

/* What a '}' may be followed by on its line. */
static bool follows_block(const struct fmt *f)
{
	if (f->open)
		return true;
	switch (f->tok.kind) {
	case TOKEN_SEMI:
	case TOKEN_COMMA:
	case TOKEN_RPAREN:
		return true;
	case TOKEN_NAME:
		return str_is(f->tok.text, "else");
	default:
		return false;
	}
}

/* Writes the line ends and comments before the token. Returns the indent of the token if it
 * begins a line. */
static u32 fmt_between(struct fmt *f)
{
	bool fresh = starts_statement(f), closes = f->tok.kind == TOKEN_RBRACE;
	bool first = f->prev.kind == TOKEN_LBRACE, any;
	u32 lines;

	if (ends_at_line(f))
		buf_putc(f->out, ';');
	lines = fmt_comments(f, f->prev.loc.off + f->prev.loc.len, f->tok.loc.off, first, &any);
	if (closes) {
		f->indent -= f->indent > 0;
		if (!first || any)
			fmt_newline(f); /* else "{ }" */
		return f->indent;
	}
	if (f->prev.kind == TOKEN_RBRACE && follows_block(f))
		return f->indent;
	if (fresh) {
		fmt_newline(f);
		if (lines > 1 && !first)
			fmt_blank_line(f);
		return f->indent;
	}
	if (f->tok.on_new_line && f->tok.kind != TOKEN_LBRACE)
		fmt_newline(f);
	return f->indent + 1;
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* Brackets and braces: what is open changes. */
static void count_brackets(struct fmt *f)
{
	f->prev_control = false;
	switch (f->tok.kind) {
	case TOKEN_LPAREN:
	case TOKEN_LBRACKET:
		f->open++;
		if (is_control(&f->prev) && !f->control)
			f->control = f->open;
		break;
	case TOKEN_RPAREN:
	case TOKEN_RBRACKET:
		f->prev_control = f->control && f->control == f->open;
		if (f->prev_control)
			f->control = 0;
		f->open -= f->open > 0;
		break;
	case TOKEN_LBRACE:
		if (f->indent < FMT_DEPTH)
			f->opens[f->indent] = f->open;
		f->indent++;
		f->open = f->control = 0;
		break;
	case TOKEN_RBRACE: /* the indent was taken back before it was written */
		f->open = f->indent < FMT_DEPTH ? f->opens[f->indent] : 0;
		break;
	default:
		break;
	}
}

/* Reads the next token and writes it. False at the end, and where no token can be read. */
static bool fmt_token(struct fmt *f)
{
	bool unary;
	u32 indent;

	f->prev = f->tok;
	f->tok = lex_next(&f->lex);
	if (f->tok.kind == TOKEN_END || f->tok.problem)
		return false;
	unary = is_unary(f);
	indent = f->prev.kind == TOKEN_END ? f->indent : fmt_between(f);
	if (f->prev.kind != TOKEN_END && !sticks_to_next(f) && !sticks_to_prev(f))
		fmt_space(f);
	fmt_text(f, f->tok.loc, indent);
	count_brackets(f);
	f->prev_unary = unary;
	return true;
}

static void fmt_start(struct fmt *f)
{
	f->tok = (struct token){ .kind = TOKEN_END };
	f->indent = f->open = f->control = 0;
	f->prev_unary = f->prev_control = false;
}

/* Tokens up to the '}' that closes the first '{', to `last` outside of braces, or to the end. */
static void fmt_tokens(struct fmt *f, enum token_kind last)
{
	fmt_start(f);
	while (fmt_token(f))
		if (f->indent == 0 && (f->tok.kind == TOKEN_RBRACE || f->tok.kind == last))
			return;
}

/* ---- elements ------------------------------------------------------------------------------- */

static bool at_word(const struct fmt *f, const char *word)
{
	u32 n = (u32)strlen(word);
	struct str rest = { f->lex.source->text + f->lex.pos, f->lex.source->n - f->lex.pos };

	return str_starts(rest, word) && !lex_is_name(fmt_char(f, f->lex.pos + n));
}

/* '#...' up to the end of the line, with its continuations */
static void fmt_hash_line(struct fmt *f)
{
	u32 start = f->lex.pos, end = start;

	while (fmt_char(f, end) && fmt_char(f, end) != '\n')
		end += fmt_char(f, end) == '\\' && fmt_char(f, end + 1) ? 2 : 1;
	f->lex.pos = end;
	fmt_text(f, trimmed(f, (struct loc){ start, end - start }), 0);
}

/* A C definition, as it was written. */
static void fmt_definition(struct fmt *f)
{
	u32 start = f->lex.pos, open = 0;
	bool is_typedef = at_word(f, "typedef"), ends;
	struct token t;

	do {
		t = lex_next(&f->lex);
		open += t.kind == TOKEN_LBRACE;
		open -= t.kind == TOKEN_RBRACE && open;
		ends = t.kind == TOKEN_SEMI || (t.kind == TOKEN_RBRACE && !is_typedef);
	} while (t.kind != TOKEN_END && !t.problem && !(ends && !open));
	if (t.kind == TOKEN_RBRACE)
		lex_skip_definition_end(&f->lex);
	fmt_text(f, (struct loc){ start, f->lex.pos - start }, 0);
}

/* config, let, macro, fn, import */
static bool fmt_declaration(struct fmt *f)
{
	static const struct {
		const char *word;
		enum token_kind next, last;
	} rows[] = {
		{ "config", TOKEN_SET, TOKEN_END },       { "let", TOKEN_MAP, TOKEN_RPAREN },
		{ "macro", TOKEN_NAME, TOKEN_END },       { "fn", TOKEN_NAME, TOKEN_END },
		{ "import", TOKEN_STRING, TOKEN_STRING },
	};

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lexer ahead = f->lex;

		if (!at_word(f, rows[i].word))
			continue;
		lex_next(&ahead);
		if (lex_next(&ahead).kind != rows[i].next)
			continue;
		fmt_tokens(f, rows[i].last);
		if (fmt_peek(f).kind == TOKEN_SEMI) {
			struct token t = lex_next(&f->lex);

			fmt_text(f, t.loc, 0);
		}
		return true;
	}
	return false;
}

/* The end of the attach point at the position: a blank, ',', '{' or '||' outside of quotes; a '/'
 * only before the first ':'. */
static u32 attach_end(const struct fmt *f)
{
	bool quoted = false, parts = false;
	u32 pos = f->lex.pos;

	for (char c; (c = fmt_char(f, pos)) != 0; pos++) {
		quoted ^= c == '"';
		parts |= c == ':';
		if (c == '\n' || (!quoted && strchr(" \t\r\v\f,{", c)) || (c == '/' && !parts) ||
		    (!quoted && c == '|' && fmt_char(f, pos + 1) == '|'))
			break;
	}
	return pos;
}

/* Moves over blanks; comments between are written, on lines of their own. */
static void fmt_gap(struct fmt *f)
{
	bool line_end = false, any;
	u32 from = f->lex.pos, at;

	lex_skip_blanks(&f->lex, &line_end, &at);
	fmt_comments(f, from, f->lex.pos, true, &any);
}

/* '||' between attach points of which one is taken: they stay on a line. */
static void fmt_or_else(struct fmt *f)
{
	u32 n = fmt_char(f, f->lex.pos + 1) == '|' ? 2 : 1;

	fmt_space(f);
	fmt_text(f, (struct loc){ f->lex.pos, n }, 0);
	f->lex.pos += n;
	fmt_gap(f);
	fmt_space(f);
}

static void fmt_attach_points(struct fmt *f)
{
	u32 end;

	while ((end = attach_end(f)) > f->lex.pos) {
		fmt_text(f, (struct loc){ f->lex.pos, end - f->lex.pos }, 0);
		f->lex.pos = end;
		fmt_gap(f);
		if (fmt_char(f, f->lex.pos) == ',') {
			f->lex.pos++;
			buf_putc(f->out, ',');
			fmt_gap(f);
			fmt_newline(f);
		} else if (fmt_char(f, f->lex.pos) == '|') {
			fmt_or_else(f);
		} else {
			break;
		}
	}
	fmt_newline(f);
}

/* The '/' that ends a predicate stands before '{'. */
static void fmt_predicate(struct fmt *f)
{
	bool first = true;

	fmt_start(f);
	for (;;) {
		struct token t = fmt_peek(f);
		bool ends = false;

		if (t.kind == TOKEN_DIV && !first) {
			struct lexer ahead = f->lex;

			ahead.pos = t.loc.off + t.loc.len;
			ends = lex_next(&ahead).kind == TOKEN_LBRACE;
		}
		if (first || ends) {
			f->lex.pos = t.loc.off + t.loc.len;
			fmt_text(f, t.loc, 0);
			f->tok = (struct token){ .kind = TOKEN_END };
		} else if (!fmt_token(f)) {
			return;
		}
		if (ends)
			break;
		first = false;
	}
	fmt_gap(f);
	fmt_newline(f);
}

static void fmt_probe(struct fmt *f)
{
	fmt_start(f);
	fmt_attach_points(f);
	if (fmt_char(f, f->lex.pos) == '/')
		fmt_predicate(f);
	fmt_tokens(f, TOKEN_RBRACE);
}

static void fmt_element(struct fmt *f)
{
	if (fmt_char(f, f->lex.pos) == '#')
		fmt_hash_line(f);
	else if (at_word(f, "struct") || at_word(f, "union") || at_word(f, "enum") ||
	         at_word(f, "typedef"))
		fmt_definition(f);
	else if (fmt_char(f, f->lex.pos) == ';')
		f->lex.pos++; /* means nothing */
	else if (!fmt_declaration(f))
		fmt_probe(f);
}

/* Elements have a blank line between them; lines that begin with '#' only where there is one. */
static void fmt_elements(struct fmt *f)
{
	bool hash = true, first = true, any, line_end = false;
	u32 from = 0, lines, at;

	while (lex_skip_blanks(&f->lex, &line_end, &at)) {
		bool next_hash = fmt_char(f, f->lex.pos) == '#';

		f->indent = 0;
		lines = fmt_comments(f, from, f->lex.pos, first, &any);
		fmt_newline(f);
		if (f->lex.pos >= f->lex.source->n)
			break;
		if (!first && (any ? lines > 1 : lines > 1 || !(hash && next_hash)))
			fmt_blank_line(f);
		fmt_element(f);
		from = f->lex.pos;
		hash = next_hash;
		first = false;
	}
	fmt_newline(f);
}

/* ---- the check ------------------------------------------------------------------------------ */

static char next_solid(const char **p)
{
	while (**p && strchr(" \t\r\n\v\f;", **p))
		++*p;
	return **p ? *(*p)++ : 0;
}

/* The same but for blanks and ';'. */
static bool same_characters(const char *a, const char *b)
{
	char x, y;

	do {
		x = next_solid(&a);
		y = next_solid(&b);
	} while (x == y && x);
	return x == y;
}

static bool same_meaning(const struct script *was, const char *text)
{
	struct source source = { .name = "formatted", .text = text, .n = (u32)strlen(text) };
	struct script now = { .arena = was->arena, .source = &source };
	struct diags d = { .arena = was->arena, .source = &source };
	struct buf a = { 0 }, b = { 0 };
	bool same = parse_script(&now, &d);

	ast_print(&a, was, false);
	ast_print(&b, &now, false);
	same = same && strcmp(buf_text(&a), buf_text(&b)) == 0;
	buf_free(&a);
	buf_free(&b);
	return same && same_characters(was->source->text, text);
}

bool fmt_script(struct buf *b, struct script *s, struct diags *d)
{
	struct buf out = { 0 };
	struct fmt f = { .out = &out, .lex = { s->source, s->arena, 0 }, .line_start = true };
	bool ok;

	if (!parse_script(s, d))
		return false;
	fmt_elements(&f);
	ok = same_meaning(s, buf_text(&out));
	if (ok)
		buf_add(b, out.p, out.n);
	else
		diag_error(d, (struct loc){ 0, 0 },
		           "the script can not be formatted without changing what it means");
	buf_free(&out);
	return ok;
}
