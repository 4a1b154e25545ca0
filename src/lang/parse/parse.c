/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The top of a script, and the small functions the other parse files stand on. Recursive
 * descent with one token of look-ahead; the grammar stands above each function. Between probes
 * no token is held, because attach points and C definitions are read as characters.
 *
 * Names, types and whether an attach point exists are not looked at here.
 */
#include "lang/parse/macro.h"
#include "lang/parse/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- tokens --------------------------------------------------------------------------------- */

static void read_token(struct parser *p)
{
	if (p->peeked_at == p->lex.pos && p->peeked_end) {
		p->tok = p->peeked;
		p->lex.pos = p->peeked_end;
	} else {
		p->tok = lex_next(&p->lex);
	}
	if (p->tok.problem)
		diag_error(p->d, p->tok.problem_loc, "syntax: %s", p->tok.problem);
}

void parse_advance(struct parser *p)
{
	p->last = p->tok.loc;
	read_token(p);
}

bool parse_accept(struct parser *p, enum token_kind kind)
{
	if (p->tok.kind != kind)
		return false;
	parse_advance(p);
	return true;
}

bool parse_expect(struct parser *p, enum token_kind kind)
{
	if (p->tok.kind != kind)
		return parse_error(p, "expected %s", lex_token_name(kind));
	parse_advance(p);
	return true;
}

bool parse_at_word(const struct parser *p, const char *word)
{
	return p->tok.kind == TOKEN_NAME && str_is(p->tok.text, word);
}

struct token parse_peek(struct parser *p)
{
	struct lexer ahead = p->lex;

	if (p->peeked_at != p->lex.pos || !p->peeked_end) {
		p->peeked_at = p->lex.pos;
		p->peeked = lex_next(&ahead);
		p->peeked_end = ahead.pos;
	}
	return p->peeked;
}

bool parse_failed(const struct parser *p)
{
	return p->d->n_errors > p->errors_before;
}

/* The place after the last character that is not blank. */
static struct loc text_end(const struct parser *p)
{
	u32 end = p->lex.source->n;

	while (end && strchr(" \t\r\n", p->lex.source->text[end - 1]))
		end--;
	return (struct loc){ end, 0 };
}

/* What was read last can be the end of a value. */
static bool ends_value(const struct parser *p)
{
	char last = p->last.len ? p->lex.source->text[p->last.off + p->last.len - 1] : 0;

	return lex_is_name(last) || (last && strchr(")]\"@", last));
}

bool parse_error(struct parser *p, const char *fmt, ...)
{
	struct str shown = { p->lex.source->text + p->tok.loc.off, MIN(p->tok.loc.len, 40u) };
	char text[256];
	va_list ap;

	if (p->tok.problem || (p->tok.kind == TOKEN_END && parse_failed(p)))
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->tok.kind == TOKEN_END)
		return diag_error(p->d, text_end(p), "syntax: %s before the end of the script",
		                  text);
	diag_error(p->d, p->tok.loc, "syntax: %s before '%.*s'", text, STR_ARG(shown));
	if (p->tok.kind == TOKEN_SET && (p->depth || p->in_predicate) && ends_value(p))
		diag_hint(p->d, "'==' compares; '=' assigns, in a statement of its own");
	return false;
}

void parse_rewind(struct parser *p)
{
	p->lex.pos = p->tok.loc.off;
}

bool parse_enter(struct parser *p)
{
	if (p->depth >= PARSE_DEPTH_MAX)
		return diag_error(p->d, p->tok.loc, "syntax: nested more than %u levels deep",
		                  PARSE_DEPTH_MAX);
	p->depth++;
	return true;
}

struct loc parse_span(struct loc from, struct loc to)
{
	return (struct loc){ from.off, to.off + to.len - from.off };
}

struct node *parse_node(struct parser *p, enum node_kind kind, struct loc loc)
{
	return ast_node(ast_arena(p->script), kind, loc);
}

void parse_append(struct node ***tail, struct node *n)
{
	**tail = n;
	*tail = &n->next;
}

/* ---- C definitions -------------------------------------------------------------------------- */

static char char_at(const struct parser *p, u32 pos)
{
	return pos < p->lex.source->n ? p->lex.source->text[pos] : 0;
}

/* A '#' line, continued over line ends after a backslash. */
static void skip_hash_line(struct parser *p)
{
	while (char_at(p, p->lex.pos) && char_at(p, p->lex.pos) != '\n')
		p->lex.pos += char_at(p, p->lex.pos) == '\\' && char_at(p, p->lex.pos + 1) ? 2 : 1;
}

/* definition: ('struct' | 'union' | 'enum' | 'typedef') ... '{' ... '}' [';'], or up to ';' */
static bool skip_definition(struct parser *p)
{
	u32 open = 0, start = p->lex.pos;
	bool is_typedef = false;

	for (;;) {
		struct token t = lex_next(&p->lex);

		is_typedef |= t.loc.off == start && str_is(t.text, "typedef");
		if (t.kind == TOKEN_END || (t.kind == TOKEN_RBRACE && !open))
			return diag_error(p->d, (struct loc){ start, 1 },
			                  "syntax: this definition has no end");
		if (t.kind == TOKEN_SEMI && !open)
			return true;
		open += t.kind == TOKEN_LBRACE;
		if (t.kind == TOKEN_RBRACE && --open == 0 && !is_typedef)
			break;
	}
	lex_skip_definition_end(&p->lex);
	return true;
}

/* True when the word at the position is `word`. */
static bool at_word(const struct parser *p, const char *word)
{
	u32 n = (u32)strlen(word);
	struct str rest = { p->lex.source->text + p->lex.pos, p->lex.source->n - p->lex.pos };

	return rest.n && *rest.p == *word && str_starts(rest, word) &&
	       !lex_is_name(char_at(p, p->lex.pos + n));
}

bool parse_at_definition(const struct parser *p)
{
	return char_at(p, p->lex.pos) == '#' || at_word(p, "struct") || at_word(p, "union") ||
	       at_word(p, "enum") || at_word(p, "typedef");
}

bool parse_definition(struct parser *p, struct c_def ***tail)
{
	struct c_def *def = arena_new(p->script->arena, struct c_def);
	u32 start = p->lex.pos;
	bool ok = true;

	if (char_at(p, start) == '#')
		skip_hash_line(p);
	else
		ok = skip_definition(p);
	def->loc = (struct loc){ start, p->lex.pos - start };
	**tail = def;
	*tail = &def->next;
	return ok;
}

/* ---- config and map declarations ------------------------------------------------------------ */

static bool is_getopt(const struct node *n)
{
	return n->kind == NODE_CALL && str_is(n->call.name, "getopt") && n->call.args &&
	       n->call.args->kind == NODE_STRING;
}

/* item: name '=' (number | string | name | getopt(...)) [';'] */
static bool parse_config_item(struct parser *p, struct config_item ***tail)
{
	struct config_item *item = arena_new(p->script->arena, struct config_item);

	item->name = p->tok.text;
	item->loc = p->tok.loc;
	if (!parse_expect(p, TOKEN_NAME) || !parse_expect(p, TOKEN_SET))
		return false;
	if (p->tok.kind != TOKEN_NAME && p->tok.kind != TOKEN_INT && p->tok.kind != TOKEN_STRING)
		return parse_error(p, "expected a number, a string or a name");
	item->value = parse_expr(p);
	if (!item->value)
		return false;
	if (item->value->kind != NODE_INT && item->value->kind != NODE_STRING &&
	    item->value->kind != NODE_IDENT && item->value->kind != NODE_BUILTIN &&
	    !is_getopt(item->value))
		return diag_error(p->d, item->value->loc,
		                  "syntax: expected a number, a string, a name or getopt()");
	**tail = item;
	*tail = &item->next;
	if (p->tok.kind == TOKEN_RBRACE)
		return true;
	return parse_accept(p, TOKEN_SEMI) || parse_error(p, "expected ';' or '}'");
}

/* config: 'config' '=' '{' item* '}' [';'] */
static bool parse_config(struct parser *p)
{
	struct config_item **tail = &p->script->config;

	while (*tail)
		tail = &(*tail)->next;
	parse_advance(p); /* to 'config' */
	parse_advance(p);
	if (!parse_expect(p, TOKEN_SET) || !parse_expect(p, TOKEN_LBRACE))
		return false;
	while (p->tok.kind != TOKEN_RBRACE)
		if (!parse_config_item(p, &tail)) {
			parse_skip_statement(p);
			if (p->tok.kind == TOKEN_END)
				return false;
		}
	p->lex.pos = p->tok.loc.off + p->tok.loc.len;
	return true;
}

/* declaration: 'let' @map '=' name '(' number ')' [';'] */
static bool parse_map_decl(struct parser *p, struct map_decl ***tail)
{
	struct map_decl *decl = arena_new(p->script->arena, struct map_decl);

	parse_advance(p); /* to 'let' */
	parse_advance(p);
	decl->loc = p->tok.loc;
	decl->name = p->tok.text;
	if (!parse_expect(p, TOKEN_MAP) || !parse_expect(p, TOKEN_SET))
		return false;
	decl->kind = p->tok.text;
	if (!parse_expect(p, TOKEN_NAME) || !parse_expect(p, TOKEN_LPAREN))
		return false;
	decl->n = p->tok.value;
	if (!parse_expect(p, TOKEN_INT))
		return false;
	if (p->tok.kind != TOKEN_RPAREN)
		return parse_expect(p, TOKEN_RPAREN);
	p->lex.pos = p->tok.loc.off + p->tok.loc.len;
	decl->loc = parse_span(decl->loc, p->tok.loc);
	**tail = decl;
	*tail = &decl->next;
	return true;
}

/* ---- the script ----------------------------------------------------------------------------- */

/* Moves past the next '{ ... }', or to the end. */
static void skip_probe(struct parser *p)
{
	u32 open = 0;

	for (;;) {
		struct token t = lex_next(&p->lex);

		open += t.kind == TOKEN_LBRACE;
		if (t.kind == TOKEN_END || (t.kind == TOKEN_RBRACE && open <= 1))
			return;
		open -= t.kind == TOKEN_RBRACE;
	}
}

/* fn name($a : type) ... { ... } */
static bool at_subprogram(struct parser *p)
{
	struct loc loc = { p->lex.pos, 2 };

	if (!at_word(p, "fn") || !strchr(" \t", char_at(p, loc.off + loc.len)))
		return false;
	diag_error(p->d, loc, "memtap has no sub-programs: write a macro instead of 'fn'");
	skip_probe(p);
	return true;
}

/* import "path" [';'] */
static bool at_import(struct parser *p)
{
	struct lexer ahead;
	struct token t;

	if (!at_word(p, "import"))
		return false;
	lex_next(&p->lex);
	t = lex_next(&p->lex);
	if (t.kind != TOKEN_STRING) {
		diag_error(p->d, t.loc, "syntax: expected the path of a file in quotes");
		skip_hash_line(p);
		return true;
	}
	ahead = p->lex;
	if (lex_next(&ahead).kind == TOKEN_SEMI)
		p->lex = ahead;
	p->has_imports = true;
	if (p->script->follow_imports && !import_is_library(t.text))
		import_add(&p->imports, p->script, t.text, t.loc, p->d);
	return true;
}

/* True at `word` followed by '='-like text that makes it a declaration and not a probe. */
static bool at_declaration(const struct parser *p, const char *word, enum token_kind next)
{
	struct lexer ahead = p->lex;

	if (!at_word(p, word))
		return false;
	lex_next(&ahead);
	return lex_next(&ahead).kind == next;
}

struct tails {
	struct c_def **defs;
	struct map_decl **decls;
	struct macro **macros;
	struct probe **probes;
};

static void parse_one_macro(struct parser *p, struct tails *t)
{
	struct macro *macro;

	if (!parse_macro(p, &macro)) {
		skip_probe(p);
		return;
	}
	*t->macros = macro;
	t->macros = &macro->next;
}

static void parse_one_probe(struct parser *p, struct tails *t)
{
	struct probe *probe;

	if (!parse_probe(p, &probe))
		return;
	*t->probes = probe;
	t->probes = &probe->next;
}

/* element: definition | config | declaration | macro | probe */
static void parse_element(struct parser *p, struct tails *t)
{
	u32 start = p->lex.pos;

	p->depth = 0;
	if (parse_at_definition(p)) {
		parse_definition(p, &t->defs);
	} else if (at_declaration(p, "config", TOKEN_SET)) {
		if (!parse_config(p))
			skip_probe(p);
	} else if (at_declaration(p, "let", TOKEN_MAP)) {
		if (!parse_map_decl(p, &t->decls))
			skip_hash_line(p);
	} else if (at_declaration(p, "macro", TOKEN_NAME)) {
		parse_one_macro(p, t);
	} else if (char_at(p, start) == ';') {
		p->lex.pos++;
	} else if (char_at(p, start) == '}') {
		diag_error(p->d, (struct loc){ start, 1 }, "syntax: this '}' closes nothing");
		p->lex.pos++;
	} else if (!at_subprogram(p) && !at_import(p)) {
		parse_one_probe(p, t);
	}
}

static void skip_interpreter_line(struct parser *p)
{
	if (char_at(p, p->lex.pos) == '#' && char_at(p, p->lex.pos + 1) == '!')
		while (char_at(p, p->lex.pos) && char_at(p, p->lex.pos) != '\n')
			p->lex.pos++;
}

/* All elements up to the source's end. */
static void parse_elements(struct parser *p, struct tails *t)
{
	bool line_end = false;
	u32 comment;

	skip_interpreter_line(p);
	while (p->d->n_errors < p->errors_before + PARSE_ERRORS_MAX) {
		if (!lex_skip_blanks(&p->lex, &line_end, &comment))
			diag_error(p->d, (struct loc){ comment, 2 },
			           "syntax: unterminated comment");
		if (p->lex.pos >= p->lex.source->n)
			break;
		parse_element(p, t);
	}
}

/* script: ['#!' line] element*, and so each imported file */
bool parse_script(struct script *s, struct diags *d)
{
	struct parser p = {
		.script = s,
		.d = d,
		.lex = { s->source, s->arena, 0 },
		.errors_before = d->n_errors,
	};
	struct tails t = { &s->c_defs, &s->map_decls, &s->macros, &s->probes };
	u32 own = s->source->n; /* bytes of the script itself */

	parse_elements(&p, &t);
	for (u32 i = 0; i < p.imports.n && !parse_failed(&p); i++)
		if (import_take(s, &p.imports.v[i], d)) {
			p.lex.pos = s->source->imports.v[s->source->imports.n - 1].off;
			parse_elements(&p, &t);
		}
	if (!s->probes && !parse_failed(&p) && (s->follow_imports || !p.has_imports))
		diag_error(d, (struct loc){ own, 0 }, "No probes to attach");
	return !parse_failed(&p) && macro_expand(s, d);
}

struct node *parse_text(struct script *s, u32 from, u32 to, struct diags *d)
{
	struct source part = *s->source;
	struct parser p = {
		.script = s,
		.d = d,
		.lex = { &part, s->arena, from },
		.errors_before = d->n_errors,
	};
	struct node *e;

	part.n = to;
	read_token(&p);
	e = parse_expr(&p);
	if (e && p.tok.kind != TOKEN_END)
		parse_error(&p, "expected the end of the macro");
	return parse_failed(&p) ? NULL : e;
}

bool parse_library(struct script *s, const char *text, struct diags *d)
{
	struct source *source = arena_new(s->arena, struct source);
	struct macro **tail = &s->macros;
	struct parser p = {
		.script = s,
		.d = d,
		.lex = { source, s->arena, 0 },
		.errors_before = d->n_errors,
	};
	bool line_end = false;
	u32 comment;

	*source = (struct source){ .name = "library", .text = text, .n = (u32)strlen(text) };
	while (*tail)
		tail = &(*tail)->next;
	while (lex_skip_blanks(&p.lex, &line_end, &comment) && p.lex.pos < source->n) {
		if (!parse_macro(&p, tail))
			return false;
		(*tail)->library = true;
		tail = &(*tail)->next;
	}
	return true;
}
