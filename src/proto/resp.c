// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * RESP2 and RESP3, the protocol of Redis and its relatives ("Redis serialization protocol
 * specification"). A request is an array of strings, or a line of words as typed by hand; a reply
 * is one value, which may be an array of values. Replies come in the order of the requests, pushes
 * (>) between them answer nothing, but for those that RESP3 has in place of an answer to SUBSCRIBE.
 *
 * The idea: a request is taken argument by argument, so that a long value is passed over by its
 * length and only keys are looked at (resp_keys.c). A reply is taken value by value; what it means
 * is up to the command (resp_answer.c).
 *
 * Between MULTI and EXEC commands are answered QUEUED and stay in the queue, in front: the array
 * that answers EXEC has an element for each. `queued` is where those begin that wait for an answer
 * of their own.
 *
 * Streamed strings and arrays, which Redis does not send, are not understood.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/resp_inline.h"
#include "proto/resp_quick.h"
#include "proto/resp_rules.h"

static bool begins_name(const char *p, size_t n)
{
	for (u32 i = 0; i < RESP_COMMANDS; i++)
		if (strncmp(resp_rows[i].verb.name, p, n) == 0)
			return true;
	return false;
}

/* A line of words begins with a verb, of which little may have come yet. Capitals tell it from
 * memcached's. */
static bool starts_line(const char *p, size_t n)
{
	size_t k = 0;

	while (k < n && p[k] >= 'A' && p[k] <= 'Z')
		k++;
	if (k == n)
		return k && begins_name(p, k);
	return k && strchr(" \t\r\n", p[k]) && resp_find((struct str){ p, (u32)k }) != RESP_OTHER;
}

static bool starts(const char *p, size_t n)
{
	if (n > 1 && p[0] == '*')
		return p[1] >= '1' && p[1] <= '9';
	return starts_line(p, n);
}

static enum outcome untold(const struct pending *p)
{
	(void)p;
	return OUTCOME_UNKNOWN;
}

/* ---- requests ------------------------------------------------------------------------------- */

/* A counter is changed by one where the command does not say by what. */
static void set_step(const struct resp_request *r, struct pending *p)
{
	double step = resp_rule_of(r->row)->step ? r->step : 1;

	if (resp_looked(p) != LOOKED_NUMBER)
		return;
	if (r->row == &resp_rows[RESP_DECR] || r->row == &resp_rows[RESP_DECRBY])
		step = -step;
	memcpy(&p->initial, &step, sizeof(step));
	p->creates = true;
}

/* Is the request that came in one without an answer? */
static bool is_silent(struct proto *c)
{
	const struct resp_request *r = &c->args;
	bool chooses = r->row == &resp_rows[RESP_CLIENT_REPLY];
	bool silent = c->stream || c->replies != REPLIES_ON;

	if (chooses && r->replies == REPLIES_ON)
		silent = c->stream;
	if (chooses && r->replies != REPLIES_ON)
		silent = true;
	if (chooses && !(r->replies == REPLIES_SKIP && c->replies == REPLIES_OFF))
		c->replies = r->replies;
	else if (c->replies == REPLIES_SKIP)
		c->replies = REPLIES_ON;
	return silent;
}

/* All arguments are in. */
static void request_end(struct proto *c)
{
	struct resp_request *r = &c->args;
	bool silent = is_silent(c);

	if (!r->keys && r->row && !c->stream) {
		struct pending p = { .verb = NULL };

		resp_pending(r, NULL, &p);
		if (!conn_push(c, &p, (struct str){ 0 }))
			return;
		r->keys = 1;
	}
	for (u32 i = 0; i < r->keys; i++) {
		struct pending *p = conn_at(c, c->n - 1 - i);

		p->started = c->time;
		p->last = i == 0;
		p->unsure = r->unsure;
		p->counter = r->unsure || r->patterns ? COUNTER_LOOKUP : p->counter;
		p->counted = r->patterns ? COUNTED_MORE : p->counted;
		set_step(r, p);
	}
	c->storing = c->in.skip ? r->keys : 0;
	if (silent) {
		while (r->keys--)
			conn_unasked(c);
	}
	memset(r, 0, sizeof(*r));
}

/* Options that change what an answer, or a counter, means. Returns whether the bytes of an argument
 * of that size may be one. */
static bool may_be_option(const struct resp_request *r, u64 i, u64 size)
{
	if (r->row == &resp_rows[RESP_SET])
		return i > 2 && size == 3;
	if (r->row == &resp_rows[RESP_CLIENT_REPLY])
		return i == 2 && size < 5;
	if (r->row == &resp_rows[RESP_SORT] || r->row == &resp_rows[RESP_SORT_RO])
		return i > 1 && (size == 2 || size == 3);
	return false;
}

static bool is_word(struct str p, const char *word)
{
	return p.n == strlen(word) && strncasecmp(p.p, word, p.n) == 0;
}

static void take_option(struct resp_request *r, struct str p)
{
	bool get = is_word(p, "GET");

	if (r->row == &resp_rows[RESP_SET])
		r->unsure |= get; /* the answer is the old value, whether it was done or not */
	else if (r->row == &resp_rows[RESP_CLIENT_REPLY])
		r->replies = is_word(p, "OFF")    ? REPLIES_OFF
		             : is_word(p, "SKIP") ? REPLIES_SKIP
		                                  : REPLIES_ON;
	else
		r->patterns |= get || is_word(p, "BY");
}

/* An argument that is no key. */
static void take_other(struct proto *c, u64 i, struct str p, u64 size)
{
	struct resp_request *r = &c->args;
	const struct resp_rule *rule = resp_rule_of(r->row);
	char text[48] = "";

	resp_keys_look(r, i, p, size);
	if (may_be_option(r, i, size))
		take_option(r, p);
	if (rule->step && i == rule->step) {
		memcpy(text, p.p, MIN(p.n, sizeof(text) - 1));
		r->step = strtod(text, NULL);
	}
	if (rule->value && r->keys && resp_keys_at(r, i - rule->value)) {
		conn_at(c, c->n - 1)->sized = true;
		conn_at(c, c->n - 1)->size = size;
	}
}

/* Are the bytes of that argument needed? */
static bool is_wanted(const struct resp_request *r, u64 i, u64 size)
{
	return !i || (i == 1 && r->row->container) || resp_keys_at(r, i) ||
	       resp_keys_wanted(r, i, size) || may_be_option(r, i, size) ||
	       i == resp_rule_of(r->row)->step;
}

/* One argument; p holds what is at hand of its `size` bytes: enough, where they are wanted. False
 * when the stream was lost. */
static bool argument(struct proto *c, struct str p, u64 size)
{
	struct resp_request *r = &c->args;
	struct pending key = { .verb = NULL };
	const struct resp_keys *k;
	u64 i = r->next++;

	if (!i) {
		if (!c->recent || !resp_is(c->recent, p))
			c->recent = resp_find(p);
		resp_keys_begin(r, c->recent);
		return true;
	}
	if (i == 1 && r->row->container) {
		resp_keys_begin(r, resp_find_sub(r->row, p));
		return true;
	}
	k = resp_keys_at(r, i);
	if (!k || (!size && r->row == &resp_rows[RESP_MIGRATE])) { /* "": the keys are after KEYS */
		take_other(c, i, p, size);
		return true;
	}
	resp_pending(r, k, &key);
	if (!conn_push(c, &key, p))
		return false;
	conn_at(c, c->n - 1)->key_size = (u32)MIN(size, UINT32_MAX);
	r->keys++;
	return true;
}

/* Redis says so and ends the connection. */
static void refuse(struct proto *c)
{
	struct pending p = {
		.verb = &RESP_OTHER->verb, .op = OP_OTHER, .first = true, .last = true
	};

	conn_drop(c, c->args.keys);
	memset(&c->args, 0, sizeof(c->args));
	if (conn_push(c, &p, (struct str){ 0 }))
		conn_refuse(c);
}

/* $size, then so many bytes. */
static size_t request_string(struct proto *c, const char *p, size_t n)
{
	struct resp_request *r = &c->args;
	size_t took, want;
	struct str line;
	u64 size;

	took = conn_line(p, n, &line);
	if (!took)
		return 0;
	if (!line.n || line.p[0] != '$' ||
	    !conn_number((struct str){ line.p + 1, line.n - 1 }, &size) || size > UINT32_MAX) {
		refuse(c);
		return n;
	}
	want = is_wanted(r, r->next, size) ? (size_t)MIN(size, PROTO_KEY_MAX) : 0;
	if (n - took < want)
		return 0;
	if (!argument(c, (struct str){ p + took, (u32)want }, size))
		return n;
	/* What was looked at is passed over again, with the rest of it and its line end. */
	c->in.skip = size + 2;
	if (r->next == r->n)
		request_end(c);
	return took;
}

/* A line of words, as typed by hand. */
static void request_inline(struct proto *c, struct str line)
{
	struct pending refused = {
		.verb = &RESP_OTHER->verb, .op = OP_OTHER, .first = true, .last = true
	};
	struct word w = { .wrong = false };
	struct str words = line;

	while (resp_word_next(&words, &w))
		c->args.n++;
	if (w.wrong) {
		c->args.n = 0;
		conn_push(c, &refused, (struct str){ 0 });
		return;
	}
	while (resp_word_next(&line, &w)) {
		if (!argument(c, (struct str){ w.p, w.n }, w.size))
			return;
	}
	request_end(c);
}

/* The line that a request begins with. As one function with request(), which mostly needs none of
 * this, that would save registers for it each time. */
__attribute__((noinline)) static size_t request_line(struct proto *c, const char *p, size_t n)
{
	struct str line;
	size_t took = conn_line(p, n, &line);
	bool none;

	if (!took || !line.n)
		return took;
	none = line.n > 1 && line.p[1] == '-'; /* as *0: Redis passes over it */
	if (line.p[0] != '*')
		request_inline(c, line);
	else if (!none && (!conn_number((struct str){ line.p + 1, line.n - 1 }, &c->args.n) ||
	                   c->args.n > INT32_MAX))
		refuse(c);
	return took;
}

static size_t request(struct proto *c, const char *p, size_t n)
{
	size_t took;

	if (c->args.n)
		return request_string(c, p, n);
	took = resp_quick_request(c, p, n);
	return took ? took : request_line(c, p, n);
}

/* ---- replies -------------------------------------------------------------------------------- */

/* The oldest command that is answered on its own, NULL when there is none. */
static struct pending *current(const struct proto *c)
{
	return c->queued < c->n ? conn_at(c, c->queued) : NULL;
}

/* Where the command that is being answered is in the queue. */
static u32 place(const struct proto *c)
{
	return c->reply.base ? 0 : c->queued;
}

static enum resp_talk talk_of(const struct pending *p)
{
	return p ? resp_rule_of(resp_row_of(p))->talk : TALK_NONE;
}

static bool is(const struct pending *p, enum resp_command what)
{
	return p && p->verb == &resp_rows[what].verb;
}

/* Can that be an answer to it? */
static bool fits(const struct pending *p, const struct resp_value *v)
{
	bool stores = p->op == OP_SET || p->op == OP_WRITE || p->op == OP_OTHER;

	if (resp_rule_of(resp_row_of(p))->says == SAYS_NOTHING)
		return true;
	if (v->type == '+')
		return stores || is(p, RESP_TYPE) || str_is(v->text, "QUEUED");
	return v->type != ':' || is(p, RESP_MSETEX) || (p->op != OP_GET && p->op != OP_SET);
}

/* It is done when EXEC is. */
static void queue(struct proto *c)
{
	bool last = false;

	if (!c->sure)
		trial_answer(c, OUTCOME_UNKNOWN);
	while (!last && c->queued < c->n)
		last = conn_at(c, c->queued++)->last;
}

/* What was queued is not carried out. */
static void drop_queued(struct proto *c, enum outcome outcome)
{
	while (c->queued) {
		conn_head(c)->counter = COUNTER_NONE;
		conn_answer(c, outcome, false, 0);
	}
}

/* The array that answers EXEC begins. */
static void begin_exec(struct proto *c, u64 elements)
{
	u64 commands = 0;

	for (u32 i = 0; i < c->queued; i++) {
		commands += conn_at(c, i)->last;
		conn_at(c, i)->started = current(c)->started;
	}
	c->reply.base = 1;
	if (commands != elements)
		conn_deafen(c);
}

/* An answer is complete. */
static void end_answer(struct proto *c)
{
	struct resp_reply *r = &c->reply;
	bool each = r->each, done = r->each_done;

	if (each && !done)
		conn_deafen(c); /* fewer elements than keys */
	else if (!each)
		resp_answer(c, place(c));
	r->each = r->each_done = false;
}

/* An answer, at the depth of answers, is one value, or begins with it. */
static void first_value(struct proto *c, const struct resp_value *v)
{
	struct pending *p = conn_at(c, place(c));
	bool elements = v->many && !v->null && v->size;

	if (!c->sure && !fits(p, v))
		conn_deafen(c);
	memset(&c->reply.seen, 0, sizeof(c->reply.seen));
	c->reply.each = elements && resp_answers_each(p);
	resp_see(c, p, 0, 0, false, v);
}

/* A value in an array of the answer. */
static void element(struct proto *c, u32 depth, const struct resp_value *v)
{
	struct resp_reply *r = &c->reply;
	u64 index = r->levels[r->depth - 1].n - r->levels[r->depth - 1].left;

	if (!r->each)
		resp_see(c, conn_at(c, place(c)), depth, index, r->levels[r->depth - 1].map, v);
}

/* The outermost value is complete. */
static void reply_end(struct proto *c)
{
	struct resp_reply *r = &c->reply;

	if (r->unasked) {
		r->unasked = false;
	} else {
		if (r->base)
			memset(&r->seen, 0, sizeof(r->seen));
		r->base = 0;
		end_answer(c);
	}
}

/* An element of the answer is complete. */
static void element_end(struct proto *c, const struct resp_value *v)
{
	struct resp_reply *r = &c->reply;

	if (!r->each || r->each_done || r->depth != r->base + 1)
		return;
	r->each_done = conn_at(c, place(c))->last;
	resp_answer_one(c, place(c), v);
}

/* A value is complete, at any depth, and with it the arrays that it is the last element of. */
static void value_end(struct proto *c, const struct resp_value *v)
{
	struct resp_reply *r = &c->reply;

	while (r->depth) {
		if (r->depth < r->aside)
			r->aside = 0; /* the attributes themselves: no element */
		else if (!r->unasked && !r->aside && r->base && r->depth == 1)
			end_answer(c);
		else if (!r->unasked && !r->aside)
			element_end(c, v);
		if (--r->levels[r->depth - 1].left)
			return;
		r->depth--;
	}
	reply_end(c);
}

/* The place that a value has in the answer: at its start, in it, or aside. */
static void look(struct proto *c, const struct resp_value *v)
{
	struct resp_reply *r = &c->reply;

	if (r->unasked || r->aside || v->type == '|' || v->type == '>')
		return;
	if (r->depth == r->base)
		first_value(c, v);
	else if (r->depth > r->base)
		element(c, r->depth - r->base, v);
}

static void array_begin(struct proto *c, const struct resp_value *v)
{
	struct resp_reply *r = &c->reply;

	if (r->depth == RESP_DEPTH || v->size > UINT32_MAX) {
		conn_deafen(c);
		return;
	}
	if (!r->depth) {
		r->unasked = v->type == '>' || v->type == '|';
		r->kind = v->type == '>';
	} else if (v->type == '|') {
		r->levels[r->depth - 1].left++; /* they stand before an element and are none */
		r->aside = r->aside ? r->aside : r->depth + 1;
	}
	r->levels[r->depth].map = v->type == '%' || v->type == '|';
	r->levels[r->depth].n = v->size * (r->levels[r->depth].map ? 2 : 1);
	r->levels[r->depth].left = r->levels[r->depth].n;
	r->depth++;
}

static bool is_many(char type)
{
	return type && strchr("*~>%|", type);
}

static bool signed_number(struct str s, s64 *n)
{
	bool minus = s.n && s.p[0] == '-';
	u64 number = 0;

	if (minus)
		s = (struct str){ s.p + 1, s.n - 1 };
	if (!conn_number(s, &number))
		return false;
	*n = minus ? -(s64)number : (s64)number;
	return true;
}

/* The line that every value begins with. False when it is none. */
static bool value_read(struct str line, struct resp_value *v)
{
	struct str rest = { line.p + 1, line.n - 1 };

	*v = (struct resp_value){ .type = line.n ? line.p[0] : 0, .text = rest };
	switch (v->type) {
	case '+':
	case '-':
	case ',':
	case '(':
		return true;
	case '#':
		v->number = true;
		v->n = str_is(rest, "t");
		return true;
	case '_':
		v->null = true;
		return true;
	case ':':
		v->number = true;
		return signed_number(rest, &v->n);
	case '$':
	case '=':
	case '!':
		v->sized = true;
		break;
	default:
		if (!is_many(v->type))
			return false;
		v->many = true;
		break;
	}
	v->null = str_is(rest, "-1");
	return v->null || conn_number(rest, &v->size);
}

/* A push of that kind, such as "subscribe" or "message"; the former are answers. */
static void push_kind(struct proto *c, struct str kind)
{
	enum resp_talk talk = talk_of(current(c));

	if ((talk == TALK_SUBSCRIBE || talk == TALK_UNSUBSCRIBE) && kind.n >= 9 &&
	    memcmp(kind.p + kind.n - 9, "subscribe", 9) == 0)
		conn_answer_at(c, c->queued, OUTCOME_UNKNOWN, false, 0);
}

/* How many bytes of a string are looked at. */
static size_t wanted(const struct proto *c, const struct resp_value *v)
{
	const struct resp_reply *r = &c->reply;
	u32 depth = r->depth - MIN(r->base, r->depth);
	enum resp_looked looked;
	bool first;

	if (r->kind)
		return v->size <= RESP_NAME_MAX ? (size_t)v->size : 0;
	if (r->unasked || r->aside || r->each || r->depth < r->base)
		return 0;
	first = r->depth && r->levels[r->depth - 1].n == r->levels[r->depth - 1].left;
	looked = resp_looked(conn_at(c, place(c)));
	if ((looked == LOOKED_NUMBER && !depth) ||
	    ((looked == LOOKED_CURSOR || looked == LOOKED_FIRST_KEY) && depth == 1 && first) ||
	    (looked == LOOKED_KEYS && (depth == 1 || (depth == 2 && first))))
		return (size_t)MIN(v->size, PROTO_KEY_MAX);
	return 0;
}

/* What is not an answer to one command, or not only. True when it was taken. */
static bool take_special(struct proto *c, const struct resp_value *v)
{
	struct pending *p = current(c);
	bool answer = !c->reply.depth && v->type != '>' && v->type != '|';

	if (!answer)
		return false;
	if (v->type == '+' && str_is(v->text, "QUEUED")) {
		queue(c);
		return true;
	}
	if (c->queued && is(p, RESP_EXEC) && v->many && !v->null)
		begin_exec(c, v->size);
	else if (c->queued && is(p, RESP_EXEC))
		drop_queued(c, OUTCOME_ERROR);
	else if (c->queued && (is(p, RESP_DISCARD) || is(p, RESP_RESET)) && v->type == '+')
		drop_queued(c, OUTCOME_UNKNOWN);
	return false;
}

static bool nothing_was_asked(const struct proto *c, const struct resp_value *v)
{
	bool answers = !c->reply.depth && v->type != '>' && v->type != '|';

	return answers && !current(c);
}

/* A value whose line is read, with what is wanted of it after the line. */
static void take_value(struct proto *c, const struct resp_value *v)
{
	if (nothing_was_asked(c, v)) {
		conn_deafen(c);
		return;
	}
	if (!c->reply.depth && v->type == '*' && talk_of(current(c)) == TALK_SUBSCRIBE) {
		conn_stream(c);
		return;
	}
	if (v->sized && !v->null)
		c->out.skip = v->size + 2;
	if (c->reply.kind) {
		push_kind(c, v->text);
		c->reply.kind = false;
	}
	if (take_special(c, v) || c->deaf || c->trial.refuted)
		return;
	look(c, v);
	if (v->many && !v->null && v->size)
		array_begin(c, v);
	else
		value_end(c, v);
}

/* The line that a value begins with, and what is wanted after it. */
__attribute__((noinline)) static size_t reply_value(struct proto *c, const char *p, size_t n)
{
	struct resp_value v;
	struct str line;
	size_t took = conn_line(p, n, &line);

	if (!c->reply.depth && talk_of(current(c)) == TALK_STREAM) {
		conn_stream(c);
		return n;
	}
	if (!took)
		return 0;
	if (!value_read(line, &v)) {
		conn_deafen(c);
		return n;
	}
	if ((v.type == '|' || v.type == '>') && !v.size)
		return took; /* nothing, before what is meant */
	if (v.sized && !v.null) {
		size_t want = c->reply.depth || current(c) ? wanted(c, &v) : 0;

		if (n - took < want)
			return 0;
		v.text = (struct str){ p + took, (u32)want };
	}
	take_value(c, &v);
	return took;
}

static size_t reply(struct proto *c, const char *p, size_t n)
{
	size_t took = resp_quick_reply(c, p, n);

	return took ? took : reply_value(c, p, n);
}

const struct parser proto_resp = { request, reply, starts, conn_cut, untold };
