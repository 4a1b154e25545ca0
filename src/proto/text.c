// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * memcached's text protocol, classic and meta commands in one stream (doc/protocol.txt of
 * memcached 1.6). A request is a line, for stores with a value of given length after it; answers
 * come in the order of the requests.
 *
 * What takes care: a get of many keys is answered by a VALUE for each that was found, in order,
 * then END; those passed over are misses. A quiet meta command (flag q) leaves its most common
 * answer out; it is known to have got that once the answer to a later command comes.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/conn.h"
#include "proto/text.h"

static const struct verb verbs[] = {
	{ .name = "get", .op = OP_GET, .shape = SHAPE_KEYS },
	{ .name = "gets", .op = OP_GET, .shape = SHAPE_KEYS },
	{ .name = "gat", .op = OP_GET, .shape = SHAPE_TIME_KEYS },
	{ .name = "gats", .op = OP_GET, .shape = SHAPE_TIME_KEYS },
	{ .name = "set", .op = OP_SET, .shape = SHAPE_STORE },
	{ .name = "add", .op = OP_ADD, .shape = SHAPE_STORE },
	{ .name = "replace", .op = OP_REPLACE, .shape = SHAPE_STORE },
	{ .name = "append", .op = OP_APPEND, .shape = SHAPE_STORE },
	{ .name = "prepend", .op = OP_PREPEND, .shape = SHAPE_STORE },
	{ .name = "cas", .op = OP_CAS, .shape = SHAPE_STORE },
	{ .name = "incr", .op = OP_INCR, .shape = SHAPE_KEY },
	{ .name = "decr", .op = OP_DECR, .shape = SHAPE_KEY },
	{ .name = "touch", .op = OP_TOUCH, .shape = SHAPE_KEY },
	{ .name = "delete", .op = OP_DELETE, .shape = SHAPE_KEY },
	{ .name = "mg", .op = OP_GET, .shape = SHAPE_META },
	{ .name = "ms", .op = OP_SET, .shape = SHAPE_META_STORE },
	{ .name = "md", .op = OP_DELETE, .shape = SHAPE_META },
	{ .name = "ma", .op = OP_INCR, .shape = SHAPE_META },
	{ .name = "me", .op = OP_OTHER, .shape = SHAPE_META },
	{ .name = "mn", .op = OP_OTHER, .shape = SHAPE_NOOP },
	{ .name = "stats", .op = OP_OTHER, .shape = SHAPE_BLOCK },
	{ .name = "lru_crawler", .op = OP_OTHER, .shape = SHAPE_BLOCK },
	{ .name = "version", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "flush_all", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "verbosity", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "cache_memlimit", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "slabs", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "lru", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "extstore", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "refresh_certs", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "misbehave", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "debugtime", .op = OP_OTHER, .shape = SHAPE_LINE },
	{ .name = "quit", .op = OP_OTHER, .shape = SHAPE_SILENT },
	{ .name = "shutdown", .op = OP_OTHER, .shape = SHAPE_SILENT },
	{ .name = "watch", .op = OP_OTHER, .shape = SHAPE_STREAM },
};
/* Whatever else is answered by a line; mostly what the server does not know either: ERROR. */
static const struct verb unknown = { .name = "other", .op = OP_OTHER, .shape = SHAPE_LINE };
/* "flush_all SECONDS": does nothing now. */
static const struct verb later = { .name = "other", .op = OP_OTHER, .shape = SHAPE_LINE };

static const struct verb *verb_find(struct str word)
{
	for (u32 i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (str_is_row(word, verbs[i].name))
			return &verbs[i];
	}
	return NULL;
}

static bool starts(const char *p, size_t n)
{
	struct str line = { p, (u32)MIN(n, 32u) };
	u32 i = 0;

	while (i < line.n && p[i] != ' ' && p[i] != '\r' && p[i] != '\n')
		i++;
	if (i == line.n)
		return false; /* more of the word may come */
	line.n = i;
	return verb_find(line) != NULL;
}

static enum outcome untold(const struct pending *p)
{
	if (proto_op_reads(p->op))
		return OUTCOME_MISS;
	return p->creates ? OUTCOME_UNKNOWN : OUTCOME_HIT;
}

/* ---- requests ------------------------------------------------------------------------------- */

static struct pending pending_of(const struct verb *verb)
{
	bool touches = verb->shape == SHAPE_TIME_KEYS;

	return (struct pending){ .verb = verb,
		                 .op = verb->op,
		                 .counter = touches ? COUNTER_TOUCH : proto_op_counter(verb->op),
		                 .first = true,
		                 .last = true };
}

static void push_keys(struct proto *c, struct pending p, struct str line)
{
	struct str key = conn_word(&line);

	if (p.verb->shape == SHAPE_TIME_KEYS)
		key = conn_word(&line);
	if (!key.n)
		p = pending_of(&unknown);
	do {
		struct str next = conn_word(&line);

		p.last = !next.n;
		if (!conn_push(c, &p, key))
			return;
		p.first = false;
		key = next;
	} while (key.n);
}

static bool is_noreply(struct str line)
{
	struct str word, last = { 0 };

	while ((word = conn_word(&line)).n)
		last = word;
	return last.n && str_is(last, "noreply");
}

/* A request that the server answers by an error, whatever follows. */
static void push_wrong(struct proto *c)
{
	struct pending p = pending_of(&unknown);

	p.wrong = true;
	conn_push(c, &p, (struct str){ 0 });
}

/* One key, for classic stores with its value after the line. */
static void push_key(struct proto *c, struct pending p, struct str line)
{
	struct str key = conn_word(&line);

	if (!key.n || key.n > PROTO_KEY_MAX) {
		push_wrong(c);
		return;
	}
	if (p.verb->shape == SHAPE_STORE) {
		conn_word(&line);
		conn_word(&line);
		p.sized = conn_number(conn_word(&line), &p.size) && p.size < UINT32_MAX;
		if (!p.sized) {
			push_wrong(c);
			return;
		}
	}
	if (!conn_push(c, &p, key))
		return;
	if (p.sized)
		c->in.skip = p.size + 2;
	if (is_noreply(line))
		conn_unasked(c);
	else if (p.sized)
		c->storing = 1;
}

static bool is_for_later(const struct verb *verb, struct str line)
{
	u64 seconds;

	return strcmp(verb->name, "flush_all") == 0 && conn_number(conn_word(&line), &seconds) &&
	       seconds;
}

static void request_line(struct proto *c, struct str line)
{
	struct str word = conn_word(&line);
	const struct verb *verb = verb_find(word);
	struct pending p = pending_of(verb ? verb : &unknown);

	p.wrong = !verb;
	switch (p.verb->shape) {
	case SHAPE_KEYS:
	case SHAPE_TIME_KEYS:
		push_keys(c, p, line);
		break;
	case SHAPE_STORE:
	case SHAPE_KEY:
		push_key(c, p, line);
		break;
	case SHAPE_META:
	case SHAPE_META_STORE:
		meta_request(c, p, line);
		break;
	default:
		if (is_for_later(p.verb, line))
			p.verb = &later;
		if (strcmp(p.verb->name, "stats") == 0 && str_is(conn_word(&line), "reset"))
			p.counter = COUNTER_RESET;
		if (conn_push(c, &p, (struct str){ 0 }) &&
		    (p.verb->shape == SHAPE_SILENT || is_noreply(line)))
			conn_unasked(c);
		break;
	}
}

/* "get key", which is nearly all that a busy server is asked. False: it is something else. */
static bool request_get(struct proto *c, struct str line)
{
	struct str key = { line.p + 4, line.n - 4 };
	struct pending p;

	if (line.n < 5 || memcmp(line.p, "get ", 4) != 0 || memchr(key.p, ' ', key.n))
		return false;
	p = pending_of(&verbs[0]);
	conn_push(c, &p, key);
	return true;
}

static size_t request(struct proto *c, const char *p, size_t n)
{
	struct str line;
	size_t took = conn_line(p, n, &line);

	if (took && !request_get(c, line))
		request_line(c, line);
	return took;
}

/* ---- replies -------------------------------------------------------------------------------- */

static bool is_error(struct str word)
{
	return str_is_row(word, "ERROR") || str_is_row(word, "CLIENT_ERROR") ||
	       str_is_row(word, "SERVER_ERROR");
}

/* VALUE key flags bytes [cas]: those before it in its command were not found. */
static void reply_value(struct proto *c, struct str line)
{
	struct str key = conn_word(&line);
	u64 size;

	conn_word(&line);
	if (!conn_number(conn_word(&line), &size) || size > UINT32_MAX || c->await_end) {
		conn_deafen(c);
		return;
	}
	while (c->n) {
		const struct pending *p = conn_head(c);
		bool last = p->last;

		if (str_eq(conn_key(c, p), key)) {
			c->trial.proven = true;
			conn_answer(c, OUTCOME_HIT, true, size);
			c->await_end = last;
			c->out.skip = size + 2;
			return;
		}
		if (last)
			break;
		conn_answer(c, OUTCOME_MISS, false, 0);
	}
	conn_deafen(c);
}

static void reply_get(struct proto *c, struct str word, struct str line)
{
	if (str_is(word, "VALUE")) {
		reply_value(c, line);
	} else if (!str_is(word, "END")) {
		conn_deafen(c);
	} else if (c->await_end) {
		c->await_end = false;
	} else {
		conn_answer_all(c, OUTCOME_MISS);
	}
}

#define COUNTS (1u << OP_INCR | 1u << OP_DECR)
#define STORES                                                                                     \
	(1u << OP_SET | 1u << OP_ADD | 1u << OP_REPLACE | 1u << OP_APPEND | 1u << OP_PREPEND |     \
	 1u << OP_CAS)

/* The one line that answers a store, a delete, an arithmetic command. */
static void reply_key(struct proto *c, struct str word)
{
	static const struct {
		const char *word;
		enum outcome outcome;
		u32 ops; /* that may be answered so */
	} lines[] = {
		{ "STORED", OUTCOME_HIT, STORES },
		{ "NOT_STORED", OUTCOME_MISS, STORES },
		{ "EXISTS", OUTCOME_MISS, STORES },
		{ "NOT_FOUND", OUTCOME_MISS,
		  1u << OP_CAS | COUNTS | 1u << OP_TOUCH | 1u << OP_DELETE },
		{ "DELETED", OUTCOME_HIT, 1u << OP_DELETE },
		{ "TOUCHED", OUTCOME_HIT, 1u << OP_TOUCH },
	};
	struct pending *p = conn_head(c);
	u32 op = 1u << p->op, i = 0;
	u64 number;

	while (i < ARRAY_SIZE(lines) && !(str_is_row(word, lines[i].word) && lines[i].ops & op))
		i++;
	if (p->op == OP_CAS && str_is(word, "EXISTS"))
		p->counted = COUNTED_BAD;
	if (i < ARRAY_SIZE(lines))
		conn_answer(c, lines[i].outcome, false, 0);
	else if (op & COUNTS && conn_number(word, &number))
		conn_answer(c, OUTCOME_HIT, false, 0);
	else
		conn_deafen(c);
}

/* Lines up to one of these ends. */
static void reply_block(struct proto *c, struct str word)
{
	static const char *const ends[] = { "END", "OK", "RESET", "BUSY", "BADCLASS", "EN" };

	for (u32 i = 0; i < ARRAY_SIZE(ends); i++) {
		if (str_is(word, ends[i])) {
			conn_answer(c, OUTCOME_UNKNOWN, false, 0);
			return;
		}
	}
}

/* Of a get that is refused the server has counted the keys before the one that was too long, and
 * a value that does not end as it should is counted as stored. */
static void count_refused(struct pending *p, struct str reason)
{
	if (proto_op_reads(p->op))
		p->counted = COUNTED_MAYBE;
	if (p->sized && str_is(reason, " bad data chunk")) {
		p->counter = COUNTER_SET;
		p->counted = COUNTED_MISS;
	}
}

static bool mentions(struct str reason, const char *words)
{
	return memmem(reason.p, reason.n, words, strlen(words)) != NULL;
}

static bool fits(const struct pending *p, struct str reason)
{
	if (mentions(reason, "data chunk") || mentions(reason, "object"))
		return p->sized;
	if (mentions(reason, "increment or decrement"))
		return p->op == OP_INCR || p->op == OP_DECR;
	return p->wrong;
}

/* Errors are never left out, so one is that of the oldest command, but for quiet ones that went
 * well: the first that it fits, if there is one. */
static void find_refused(struct proto *c, struct str reason)
{
	u32 i = 0;

	while (i + 1 < c->n && conn_at(c, i)->quiet && !fits(conn_at(c, i), reason))
		i++;
	if (!fits(conn_at(c, i), reason))
		return;
	while (i--)
		conn_settle(c);
}

static void reply_error(struct proto *c, struct str reason)
{
	bool last = !c->n;

	if (c->await_end) {
		c->await_end = false;
		return;
	}
	if (c->n)
		find_refused(c, reason);
	while (!last) {
		struct pending *p = conn_head(c);

		last = p->last;
		count_refused(p, reason);
		conn_answer(c, OUTCOME_ERROR, false, 0);
	}
}

static void reply_line(struct proto *c, struct str line)
{
	struct str word = conn_word(&line);

	if (c->await_number) {
		meta_number(c, word);
		return;
	}
	if (meta_reply(c, word, line))
		return;
	if (is_error(word)) {
		reply_error(c, line);
		return;
	}
	if (!c->await_end)
		conn_settle_quiet(c);
	if (c->await_end) {
		reply_get(c, word, line);
		return;
	}
	if (!c->n) {
		conn_deafen(c);
		return;
	}
	switch (conn_head(c)->verb->shape) {
	case SHAPE_KEYS:
	case SHAPE_TIME_KEYS:
		reply_get(c, word, line);
		break;
	case SHAPE_STORE:
	case SHAPE_KEY:
		reply_key(c, word);
		break;
	case SHAPE_BLOCK:
		reply_block(c, word);
		break;
	case SHAPE_LINE:
		if (conn_head(c)->verb == &unknown && !c->sure)
			conn_deafen(c); /* not an error */
		else
			conn_answer(c, OUTCOME_UNKNOWN, false, 0);
		break;
	case SHAPE_STREAM:
		conn_stream(c);
		break;
	default:
		conn_deafen(c);
		break;
	}
}

/* The value of the one key of a get, with its END where that is at hand: how long it is. 0: it is
 * something else. */
static size_t reply_found(struct proto *c, const char *p, size_t n)
{
	static const struct str end = STR("\r\nEND\r\n");
	const struct pending *head = conn_head(c);
	const char *at = p + 6, *last = p + n;
	size_t digits;
	struct str key;
	u64 size;

	if (!head || c->await_end || c->await_number || !head->first || !head->last ||
	    head->verb->shape != SHAPE_KEYS || n < 6 || memcmp(p, "VALUE ", 6) != 0)
		return 0;
	key = conn_key(c, head);
	if (n - 6 <= key.n || memcmp(at, key.p, key.n) != 0 || at[key.n] != ' ')
		return 0;
	at += key.n + 1;
	digits = conn_digits(at, (size_t)(last - at), &size); /* its flags */
	at += digits;
	if (!digits || at == last || *at++ != ' ')
		return 0;
	digits = conn_digits(at, (size_t)(last - at), &size);
	at += digits;
	if (!digits || size > UINT32_MAX || last - at < 2 || memcmp(at, "\r\n", 2) != 0)
		return 0;
	at += 2;
	c->trial.proven = true;
	conn_answer(c, OUTCOME_HIT, true, size);
	if ((size_t)(last - at) >= size + end.n && memcmp(at + size, end.p, end.n) == 0)
		return (size_t)(at - p) + size + end.n;
	c->await_end = true;
	c->out.skip = size + 2;
	return (size_t)(at - p);
}

static size_t reply(struct proto *c, const char *p, size_t n)
{
	size_t took = reply_found(c, p, n);
	struct str line;

	if (took)
		return took;
	took = conn_line(p, n, &line);
	if (took)
		reply_line(c, line);
	return took;
}

/* memcached makes all that `stats` says in one buffer. */
static bool cut(struct proto *c)
{
	if (!c->n || c->await_end || conn_head(c)->verb->shape != SHAPE_BLOCK)
		return false;
	conn_answer(c, OUTCOME_UNKNOWN, false, 0);
	return true;
}

const struct parser proto_text = { request, reply, starts, cut, untold };
