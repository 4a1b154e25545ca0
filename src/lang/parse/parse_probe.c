/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Probes: attach points, predicate, body. An attach point is text up to a blank, ',' or '{',
 * because a path or a symbol may hold nearly any character:
 *
 *     uprobe:/proc/42/root/usr/bin/memcached:process_command /pid == 42/ { ... }
 *     usdt::memcached:command__get,
 *     tracepoint:vmscan:*{ ... }
 *     btftracepoint:mark_victim || tracepoint:oom:mark_victim { ... }   (the first there is)
 *
 * A '/' begins a predicate only where an attach point has ended: after a blank, or after a
 * name without ':'. What the parts mean is targets.c's affair.
 */
#include "lang/parse/parse.h"

#include <string.h>

static char char_at(const struct parser *p, u32 pos)
{
	return pos < p->lex.source->n ? p->lex.source->text[pos] : 0;
}

static bool skip_blanks(struct parser *p)
{
	bool line_end = false;
	u32 comment;

	if (lex_skip_blanks(&p->lex, &line_end, &comment))
		return true;
	return diag_error(p->d, (struct loc){ comment, 2 }, "syntax: unterminated comment");
}

/* The offset after the quoted text that starts at pos, in which \" is a quote of the name itself; 0
 * when it has no end on this line. */
static u32 quote_end(const struct parser *p, u32 pos)
{
	for (pos++; char_at(p, pos) && char_at(p, pos) != '\n'; pos++) {
		if (char_at(p, pos) == '"')
			return pos + 1;
		pos += char_at(p, pos) == '\\' && char_at(p, pos + 1) == '"';
	}
	return 0;
}

/* Finds the end of the part at *pos: at ':' or where the attach point ends. */
static bool part_end(struct parser *p, u32 *pos, bool is_provider)
{
	for (;;) {
		char c = char_at(p, *pos);
		u32 start = *pos;

		if (!c || strchr(" \t\r\n\v\f,{:", c) || (is_provider && strchr("/=;}|", c)) ||
		    (c == '|' && char_at(p, start + 1) == '|'))
			return true;
		*pos = c == '"' ? quote_end(p, start) : start + 1;
		if (!*pos)
			return diag_error(p->d, (struct loc){ start, 1 },
			                  "syntax: unterminated string");
	}
}

/* The text of a part without its quotes. */
static struct str part_text(struct parser *p, struct loc loc)
{
	struct str raw = { p->lex.source->text + loc.off, loc.len };
	bool is_quoted = false;
	char *plain;
	u32 n = 0;

	if (!loc.len || !memchr(raw.p, '"', raw.n))
		return raw;
	plain = arena_alloc(p->script->arena, raw.n);
	for (u32 i = 0; i < raw.n; i++) {
		bool escapes = is_quoted && raw.p[i] == '\\' && i + 1 < raw.n &&
		               raw.p[i + 1] == '"';

		i += escapes;
		if (raw.p[i] == '"' && !escapes)
			is_quoted = !is_quoted;
		else
			plain[n++] = raw.p[i];
	}
	return (struct str){ plain, n };
}

static bool read_part(struct parser *p, struct attach *a, bool is_provider)
{
	struct loc loc = { p->lex.pos, 0 };
	u32 end = p->lex.pos;

	if (!part_end(p, &end, is_provider))
		return false;
	loc.len = end - loc.off;
	p->lex.pos = end;
	if (is_provider) {
		a->provider = part_text(p, loc);
	} else {
		vec_add(p->script->arena, &a->parts, part_text(p, loc));
		vec_add(p->script->arena, &a->part_locs, loc);
	}
	return true;
}

/* [name '='] before an attach point: a label without effect. */
static void skip_label(struct parser *p)
{
	u32 pos = p->lex.pos;

	while (lex_is_name(char_at(p, pos)))
		pos++;
	if (pos > p->lex.pos && char_at(p, pos) == '=')
		p->lex.pos = pos + 1;
}

/* attach: [name '='] provider (':' part)* */
static struct attach *parse_attach(struct parser *p)
{
	struct attach *a = arena_new(p->script->arena, struct attach);
	struct loc here;

	skip_label(p);
	here = (struct loc){ p->lex.pos, 1 };
	a->loc.off = p->lex.pos;
	if (!read_part(p, a, true))
		return NULL;
	while (char_at(p, p->lex.pos) == ':') {
		p->lex.pos++;
		if (!read_part(p, a, false))
			return NULL;
	}
	a->loc.len = p->lex.pos - a->loc.off;
	if (a->provider.n)
		return a;
	if (here.off >= p->lex.source->n)
		diag_error(p->d, here, "syntax: expected a probe before the end of the script");
	else
		diag_error(p->d, here, "syntax: expected a probe");
	return NULL;
}

/* choice: attach ('||' attach)*; *end is after the last. */
static struct attach *parse_choice(struct parser *p, u32 *end)
{
	struct attach *first = parse_attach(p), *a = first;

	while (a) {
		*end = p->lex.pos;
		if (!skip_blanks(p))
			return NULL;
		if (char_at(p, p->lex.pos) != '|' || char_at(p, p->lex.pos + 1) != '|')
			return first;
		p->lex.pos += 2;
		if (!skip_blanks(p))
			return NULL;
		a = a->or_else = parse_attach(p);
	}
	return NULL;
}

/* attaches: choice (',' choice)* [','] */
static bool parse_attaches(struct parser *p, struct probe *probe)
{
	struct attach **tail = &probe->attaches;
	u32 start = p->lex.pos, end;

	do {
		struct attach *a = parse_choice(p, &end);
		char c;

		if (!a)
			return false;
		*tail = a;
		tail = &a->next;
		if (char_at(p, p->lex.pos) != ',')
			break;
		p->lex.pos++;
		if (!skip_blanks(p))
			return false;
		c = char_at(p, p->lex.pos);
		if (c == '{' || c == '/')
			break;
	} while (true);
	probe->loc = (struct loc){ start, end - start };
	return true;
}

/* predicate: '/' expr '/' */
static bool parse_predicate(struct parser *p, struct probe *probe)
{
	struct loc open;
	bool closed;

	parse_advance(p); /* to '/' */
	open = p->tok.loc;
	if (p->tok.kind != TOKEN_DIV)
		return parse_error(p, "expected '{'");
	p->in_predicate = true;
	parse_advance(p);
	probe->pred = parse_expr(p);
	closed = probe->pred && p->tok.kind == TOKEN_DIV;
	if (probe->pred && !closed) {
		parse_error(p, "expected '/' at the end of the predicate");
		if (p->tok.kind == TOKEN_END)
			diag_hint(p->d, "the predicate starts at byte %u of the script", open.off);
	}
	p->in_predicate = false;
	if (!closed)
		return false;
	parse_rewind(p);
	p->lex.pos++;
	return skip_blanks(p);
}

/* Moves to the body's '{' and after its '}', so that the next probe can be read. */
static void skip_body(struct parser *p)
{
	u32 open = 0;
	struct token t;

	do {
		t = lex_next(&p->lex);
		open += t.kind == TOKEN_LBRACE;
		if (t.kind == TOKEN_RBRACE && open <= 1)
			return;
		open -= t.kind == TOKEN_RBRACE;
	} while (t.kind != TOKEN_END);
}

/* head: attaches [predicate], then stands before '{' */
static bool parse_head(struct parser *p, struct probe *probe)
{
	if (!parse_attaches(p, probe))
		return false;
	if (char_at(p, p->lex.pos) == '/' && !parse_predicate(p, probe)) {
		if (p->tok.kind == TOKEN_LBRACE)
			parse_rewind(p);
		return false;
	}
	if (char_at(p, p->lex.pos) == '{')
		return true;
	parse_advance(p);
	parse_error(p, probe->pred ? "expected '{'" : "expected ',', '/' or '{'");
	parse_rewind(p);
	return false;
}

/* probe: attaches [predicate] block */
bool parse_probe(struct parser *p, struct probe **out)
{
	struct probe *probe = arena_new(p->script->arena, struct probe);

	p->operators = 0;
	if (!parse_head(p, probe)) {
		skip_body(p);
		return false;
	}
	parse_advance(p); /* to '{' */
	probe->body = parse_body(p);
	*out = probe;
	return probe->body != NULL;
}
