/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The body of event:$@ for one event. Words in it stand for what the user said about the event:
 *
 *     event_filter()   the filter, true without one      event_name()    its name
 *     v=event_values() fields of a record: a=arg0, ...   event_label()   its text
 *     event_value()    the first value                   "{event}"       the format of the values
 *     @map_event       a map of its own      "{event:rows}"  the same in print()'s rows
 *     v=event_counted(), "{event:counted}"   as event_values() and "{event:rows}", and without
 *                                            values the calls, or what a return returns
 *
 * The one idea: they are replaced in the text, which is then parsed like any other, after the
 * source's own text; so they can stand wherever the text allows it. Of each piece it is kept where
 * it comes from, so that what is wrong is shown there.
 */
#include "lang/parse/event_body.h"

#include <stdio.h>
#include <string.h>

#include "lang/parse/ast_slots.h"
#include "lang/parse/macro.h"
#include "lang/parse/parse.h"

#define TAIL "_event"

enum { WORD_FILTER, WORD_VALUES, WORD_COUNTED, WORD_VALUE, WORD_LABEL, WORD_NAME, N_WORDS };

static struct lexer lexer_at(const struct script *s, u32 off)
{
	return (struct lexer){ s->source, s->arena, off };
}

u32 event_body_end(const struct script *s, u32 off)
{
	struct lexer l = lexer_at(s, off);
	struct token t;
	u32 open = 0;

	do {
		t = lex_next(&l);
		open += t.kind == TOKEN_LBRACE;
		if (t.kind == TOKEN_RBRACE && open-- <= 1)
			break;
	} while (t.kind != TOKEN_END);
	return l.pos;
}

/* ---- words ---------------------------------------------------------------------------------- */

static const char *const words[N_WORDS] = {
	[WORD_FILTER] = "event_filter",   [WORD_VALUES] = "event_values",
	[WORD_COUNTED] = "event_counted", [WORD_VALUE] = "event_value",
	[WORD_LABEL] = "event_label",     [WORD_NAME] = "event_name",
};

static const char *word_text(const struct event_spec *e, u32 word, struct arena *a)
{
	switch (word) {
	case WORD_FILTER:
		return arena_printf(a, "(%s)", e->filter);
	case WORD_VALUES:
		return e->values;
	case WORD_COUNTED:
		return e->counted;
	case WORD_VALUE:
		return e->value;
	case WORD_LABEL:
		return e->label;
	default:
		return e->name;
	}
}

/* The index of a word, or the number of words. */
static u32 word_find(struct str text)
{
	u32 i = 0;

	while (i < N_WORDS && !str_is(text, words[i]))
		i++;
	return i;
}

static struct str raw(const struct script *s, const struct token *t)
{
	return (struct str){ s->source->text + t->loc.off, t->loc.len };
}

static bool is_own_map(const struct token *t, struct str text)
{
	u32 n = sizeof(TAIL) - 1;

	return t->kind == TOKEN_MAP && text.n > n && memcmp(text.p + text.n - n, TAIL, n) == 0;
}

/* What stands in texts for how the values are shown. */
static const struct mark {
	struct str text;
	size_t with; /* a const char * of struct event_spec */
} marks[] = {
	{ STR("{event}"), offsetof(struct event_spec, format) },
	{ STR("{event:rows}"), offsetof(struct event_spec, rows) },
	{ STR("{event:counted}"), offsetof(struct event_spec, counted_rows) },
};

/* Where the first mark is, NULL without one. */
static const char *find_mark(struct str text, const struct mark **which)
{
	const char *first = NULL;

	for (u32 i = 0; i < ARRAY_SIZE(marks); i++) {
		const char *at = memmem(text.p, text.n, marks[i].text.p, marks[i].text.n);

		if (!at || (first && first < at))
			continue;
		first = at;
		*which = &marks[i];
	}
	return first;
}

bool event_body_wants(const struct script *s, u32 off, u32 end)
{
	struct lexer l = lexer_at(s, off);
	const struct mark *mark;

	while (l.pos < end) {
		struct token t = lex_next(&l);
		struct str text = raw(s, &t);

		if (t.kind == TOKEN_END)
			return false;
		if ((t.kind == TOKEN_NAME && word_find(text) < N_WORDS) || is_own_map(&t, text) ||
		    (t.kind == TOKEN_STRING && find_mark(text, &mark)))
			return true;
	}
	return false;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct writer {
	const struct script *s;
	const struct event_spec *e;
	struct lexer l;
	struct buf b;
	/* Where "NAME =" and the ',' before it were written, when they were the last; else the
	 * end. */
	size_t name, comma;
	enum token_kind last[3];  /* kinds of the last tokens, the last first */
	VEC(struct piece) pieces; /* of what was written */
};

#define OPEN UINT32_MAX /* length of a piece whose end is not written */

static void begin_piece(struct writer *w, struct loc from)
{
	struct piece piece = { (u32)w->b.n, OPEN, from };

	vec_add(w->s->arena, &w->pieces, piece);
}

/* The one that was begun last. */
static void end_piece(struct writer *w)
{
	for (u32 i = w->pieces.n; i-- > 0;) {
		struct piece *piece = &w->pieces.v[i];

		if (piece->len != OPEN)
			continue;
		piece->len = (u32)w->b.n - piece->off;
		return;
	}
}

/* Takes back what was written after `size`, which are whole pieces. */
static void cut(struct writer *w, size_t size)
{
	w->b.n = size;
	while (w->pieces.n && w->pieces.v[w->pieces.n - 1].off >= size)
		w->pieces.n--;
}

/* A text with marks. */
static void write_marked(struct writer *w, const char *text)
{
	for (const char *p = text; *p; p++) {
		unsigned off, len;

		if (*p == EVENT_UNMARK) {
			end_piece(w);
		} else if (*p != EVENT_MARK) {
			buf_putc(&w->b, *p);
		} else if (sscanf(p + 1, "%8x%8x", &off, &len) == 2) {
			begin_piece(w, (struct loc){ off, len });
			p += EVENT_MARK_N;
		}
	}
}

static void write_string(struct writer *w, struct str text)
{
	const struct mark *mark;
	const char *at;

	while ((at = find_mark(text, &mark))) {
		buf_add(&w->b, text.p, (size_t)(at - text.p));
		buf_puts(&w->b,
		         *(const char *const *)(const void *)((const char *)w->e + mark->with));
		at += mark->text.n;
		text.n -= (u32)(at - text.p);
		text.p = at;
	}
	buf_add(&w->b, text.p, text.n);
}

/* A word and the "()" after it. Values bring their own names; when there are none they take the ','
 * before them along. */
static void write_word(struct writer *w, u32 word, struct loc from)
{
	const char *text = word_text(w->e, word, w->s->arena);
	struct lexer ahead = w->l;

	struct token opening = lex_next(&ahead), closing = lex_next(&ahead);

	if (opening.kind == TOKEN_LPAREN && closing.kind == TOKEN_RPAREN)
		w->l = ahead;
	if ((word == WORD_VALUES || word == WORD_COUNTED) && w->last[0] == TOKEN_SET &&
	    w->last[1] == TOKEN_NAME)
		cut(w, !*text && w->last[2] == TOKEN_COMMA ? w->comma : w->name);
	begin_piece(w, from);
	write_marked(w, text);
	end_piece(w);
}

static void write_token(struct writer *w, const struct token *t)
{
	struct str text = raw(w->s, t);
	u32 word = t->kind == TOKEN_NAME ? word_find(text) : N_WORDS;
	size_t start = w->b.n;

	if (word < N_WORDS) {
		write_word(w, word, t->loc);
	} else {
		begin_piece(w, t->loc);
		if (t->kind == TOKEN_STRING)
			write_string(w, text);
		else if (is_own_map(t, text))
			buf_printf(&w->b, "%.*s%u", (int)(text.n - sizeof(TAIL) + 2), text.p,
			           w->e->number);
		else
			buf_add(&w->b, text.p, text.n);
		end_piece(w);
	}
	if (t->kind == TOKEN_COMMA)
		w->comma = start;
	if (t->kind == TOKEN_NAME)
		w->name = start;
	w->last[2] = w->last[1];
	w->last[1] = w->last[0];
	w->last[0] = t->kind;
}

static void write_body(struct writer *w, u32 off, u32 end)
{
	u32 last = off;

	w->l = lexer_at(w->s, off);
	while (w->l.pos < end) {
		struct token t = lex_next(&w->l);

		if (t.kind == TOKEN_END)
			break;
		if (t.loc.off > last)
			buf_puts(&w->b, memchr(w->s->source->text + last, '\n', t.loc.off - last)
			                        ? "\n"
			                        : " ");
		write_token(w, &t);
		last = w->l.pos;
	}
}

/* ---- parsing -------------------------------------------------------------------------------- */

static struct probe *parse_again(const struct writer *w, struct script *s, struct diags *d)
{
	const char *name = arena_printf(s->arena, "event %u", w->e->number);
	u32 off = source_append_made(s->source, s->arena, name,
	                             (struct str){ buf_text(&w->b), (u32)w->b.n }, w->pieces.v,
	                             w->pieces.n);
	struct parser p = {
		.script = s,
		.d = d,
		.lex = lexer_at(s, off),
		.errors_before = d->n_errors,
	};
	struct probe *probe;

	return parse_probe(&p, &probe) && !parse_failed(&p) && macro_expand_probe(s, probe, d)
	               ? probe
	               : NULL;
}

/* What is only for this event goes before the last '}'. */
static void write_drop(struct writer *w)
{
	if (!w->e->drop || !w->b.n)
		return;
	cut(w, w->b.n - 1);
	write_marked(w, arena_printf(w->s->arena, " %s }", w->e->drop));
}

struct probe *event_body_make(struct script *s, u32 off, u32 end, const struct event_spec *e,
                              struct diags *d)
{
	struct writer w = { .s = s, .e = e };
	struct probe *probe;

	buf_puts(&w.b, "BEGIN ");
	write_body(&w, off, end);
	write_drop(&w);
	probe = parse_again(&w, s, d);
	buf_free(&w.b);
	return probe;
}

struct probe *event_body_entry(struct script *s, const struct event_spec *e, struct diags *d)
{
	struct writer w = { .s = s, .e = e };
	struct probe *probe;

	write_marked(&w, arena_printf(s->arena, "BEGIN { %s }", e->keep));
	probe = parse_again(&w, s, d);
	buf_free(&w.b);
	return probe;
}

bool event_body_spec(struct script *s, const struct event_text *text, struct event_spec *e,
                     struct diags *d)
{
	struct str at = text->rest;
	const char *problem = event_spec_read(e, s->arena, text, s->source, &at),
		   *all = s->source->text;
	struct loc loc = { (u32)(text->head.p - all), text->head.n };

	if (!problem)
		return true;
	if (at.p >= all && at.p + at.n <= all + s->source->n)
		loc = (struct loc){ (u32)(at.p - all), MAX(at.n, 1) };
	return diag_error(d, loc, "%s", problem);
}

/* ---- unroll (event) ------------------------------------------------------------------------- */

struct unroll {
	struct script *s;
	struct diags *d;
};

/* The option in event("option"). */
static bool names_option(const struct node *n)
{
	return n->kind == NODE_CALL && str_is(n->call.name, "event") && n->call.args &&
	       n->call.args->kind == NODE_STRING;
}

static bool is_unroll(const struct node *n)
{
	return n->kind == NODE_UNROLL &&
	       (names_option(n->loop.cond) ||
	        (n->loop.cond->kind == NODE_IDENT && str_is(n->loop.cond->string, "event")));
}

/* Adds the body for one event to a list. */
static void body_for(const struct unroll *u, struct loc body, u32 number, const char *event,
                     struct node ***tail)
{
	struct event_text text;
	struct event_spec spec;
	struct probe *p = NULL;

	/* What is wrong with the text is reported where its probe is looked for. */
	if (event_text_read(&text, str_of(event)))
		return;
	text.number = number;
	if (event_body_spec(u->s, &text, &spec, &(struct diags){ .arena = u->s->arena })) {
		spec.drop = NULL;
		p = event_body_make(u->s, body.off, body.off + body.len, &spec, u->d);
	}
	if (!p || !p->body)
		return;
	**tail = p->body;
	*tail = &p->body->next;
}

static void unroll(const struct unroll *u, struct node *n)
{
	u32 off = n->loop.cond->loc.off, end = event_body_end(u->s, off);
	bool option = names_option(n->loop.cond);
	struct str name = option ? n->loop.cond->call.args->string : (struct str){ 0 };
	struct node *next = n->next, **tail;
	struct loc body;

	while (off < end && u->s->source->text[off] != '{')
		off++;
	body = (struct loc){ off, end - off };
	*n = (struct node){ .kind = NODE_BLOCK, .loc = n->loc, .next = next };
	tail = &n->stmts;
	for (u32 i = 0; !option && i < u->s->request.n_params; i++)
		body_for(u, body, i + 1, u->s->request.params[i], &tail);
	for (u32 i = 0; option && i < u->s->request.n_options; i++)
		if (str_is(name, u->s->request.options[i].name) && u->s->request.options[i].value)
			body_for(u, body, event_of_option(&u->s->request, i),
			         u->s->request.options[i].value, &tail);
}

static bool unroll_below(void *ctx, struct node *n)
{
	if (!is_unroll(n))
		return true;
	unroll(ctx, n);
	return false;
}

void event_body_unroll(struct script *s, struct probe *p, struct diags *d)
{
	struct unroll u = { s, d };

	ast_walk(p->body, unroll_below, &u);
}
