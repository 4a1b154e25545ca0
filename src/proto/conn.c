// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * One connection: its two directions, the keys that wait for an answer between them, and what
 * happens when bytes are missing.
 *
 * The idea: a direction is a stream of units (lines, headers) that are looked at, and of values
 * that are only counted down (`skip`). What was not captured does no harm inside a value. Anywhere
 * else the place is lost. In requests, both directions are dropped, and the next piece is tried as
 * a new start (trial.c). In replies, requests go on being reported: those that wait are, without an
 * answer, and no reply is listened to before the next request is read: a server has answered what
 * it read before it reads again.
 *
 * Does not know any protocol; those are tables of functions (struct parser).
 */
#include "proto/conn.h"

#include <stdlib.h>
#include <string.h>

static const struct parser *const parsers[] = {
	[PROTOCOL_TEXT] = &proto_text,
	[PROTOCOL_BINARY] = &proto_binary,
	[PROTOCOL_RESP] = &proto_resp,
	[PROTOCOLS - 1] = NULL,
};

struct proto *proto_new(enum protocol protocol, proto_emit emit, void *ctx)
{
	struct proto *c = calloc(1, sizeof(*c));

	if (!c)
		base_no_memory();
	c->known = c->protocol = protocol;
	c->emit = emit;
	c->ctx = ctx;
	return c;
}

void proto_set_expect(struct proto *c, proto_expect expect)
{
	c->expect = expect;
}

void proto_free(struct proto *c)
{
	if (!c)
		return;
	buf_free(&c->in.held);
	buf_free(&c->out.held);
	buf_free(&c->keys);
	buf_free(&c->trial.commands);
	free(c->queue);
	free(c);
}

enum protocol proto_protocol(const struct proto *c)
{
	return parsers[c->known] ? c->known : PROTOCOL_AUTO;
}

bool proto_has_losses(const struct proto *c)
{
	return c->lost | c->unseen | c->unconfirmed;
}

u64 proto_lost(struct proto *c)
{
	u64 n = c->lost;

	c->lost = 0;
	return n;
}

u64 proto_unseen(struct proto *c)
{
	u64 n = c->unseen;

	c->unseen = 0;
	return n;
}

u64 proto_unconfirmed(struct proto *c)
{
	u64 n = c->unconfirmed;

	c->unconfirmed = 0;
	return n;
}

static void lose_replies(struct proto *c);
static void lose(struct proto *c);

bool proto_is_sure(const struct proto *c)
{
	return c->sure;
}

bool proto_asked(struct proto *c, u64 *n)
{
	*n = c->asked;
	c->asked = 0;
	return c->sure;
}

/* ---- the queue ------------------------------------------------------------------------------ */

struct str conn_key(const struct proto *c, const struct pending *p)
{
	return (struct str){ c->keys.p + p->key, MIN(p->key_size, PROTO_KEY_MAX) };
}

static void queue_grow(struct proto *c)
{
	u32 cap = c->cap ? c->cap * 2 : 8;
	struct pending *queue = calloc(cap, sizeof(*queue));

	if (!queue)
		base_no_memory();
	for (u32 i = 0; i < c->n; i++)
		queue[i] = *conn_at(c, i);
	free(c->queue);
	c->queue = queue;
	c->head = 0;
	c->cap = cap;
}

/* Drops the bytes of keys that are no longer waited for, when they are most of them. */
static void keys_compact(struct proto *c)
{
	u32 gone;

	if (!c->n) {
		buf_reset(&c->keys);
		return;
	}
	gone = conn_head(c)->key;
	if (c->keys.n < 4096 || gone < c->keys.n / 2)
		return;
	memmove(c->keys.p, c->keys.p + gone, c->keys.n - gone);
	c->keys.n -= gone;
	for (u32 i = 0; i < c->n; i++)
		conn_at(c, i)->key -= gone;
}

bool conn_push(struct proto *c, const struct pending *p, struct str key)
{
	struct pending *q;

	if (c->n == PENDING_MAX)
		lose_replies(c);
	if (c->n == PENDING_MAX) {
		lose(c);
		return false;
	}
	if (c->n == c->cap)
		queue_grow(c);
	keys_compact(c);
	q = conn_at(c, c->n++);
	*q = *p;
	q->key = (u32)c->keys.n;
	q->key_size = key.n;
	q->started = c->time;
	q->spent = c->spent;
	c->asked += p->first;
	key.n = MIN(key.n, PROTO_KEY_MAX);
	if (key.n && c->expect)
		q->expected = c->expect(c->ctx, key);
	buf_add(&c->keys, key.p ? key.p : "", key.n);
	return true;
}

/* How the server's counters see it: where the answer is not known, a get was one of two anyway. */
static enum counted counted_as(const struct pending *p, enum outcome outcome)
{
	static const u8 by_outcome[] = {
		[OUTCOME_HIT] = COUNTED_HIT, [OUTCOME_MISS] = COUNTED_MISS
	};

	if (p->counted)
		return p->counted;
	if (outcome != OUTCOME_UNKNOWN)
		return by_outcome[outcome];
	return proto_op_reads(p->op) ? COUNTED_EITHER : COUNTED_MAYBE;
}

static void tell(struct proto *c, const struct pending *p, enum outcome outcome, bool answered)
{
	bool refused = outcome == OUTCOME_ERROR && !p->counted;
	struct command command = {
		.op = p->op,
		.verb = p->verb->name,
		.key = conn_key(c, p),
		.key_size = p->key_size,
		.outcome = p->unsure && outcome != OUTCOME_ERROR ? OUTCOME_UNKNOWN : outcome,
		.sized = p->sized,
		.size = p->size,
		.started = p->started,
		.expected = p->expected,
		.ended = answered ? c->time : 0,
		.answered = answered,
		.cpu = answered ? c->spent - p->spent : 0,
		.first = p->first,
		.unknown = p->unknown && outcome != OUTCOME_ERROR,
		.counter = refused ? COUNTER_NONE : p->counter,
		.counted = refused ? COUNTED_MAYBE : counted_as(p, outcome),
	};

	if (c->sure)
		c->emit(c->ctx, &command);
	else
		trial_keep(c, &command);
}

static void pop(struct proto *c)
{
	c->head = (c->head + 1) & (c->cap - 1);
	c->n--;
	c->storing = MIN(c->storing, c->n);
	c->queued -= c->queued ? 1 : 0;
}

void conn_answer_at(struct proto *c, u32 i, enum outcome outcome, bool sized, u64 size)
{
	struct pending *p = conn_at(c, i);
	u32 queued = c->queued;

	if (!c->sure)
		trial_answer(c, outcome);
	if (sized) {
		p->sized = true;
		p->size = size;
	}
	tell(c, p, outcome, true);
	for (u32 k = i; k; k--)
		*conn_at(c, k) = *conn_at(c, k - 1);
	pop(c);
	c->queued = i ? queued : c->queued;
}

void conn_answer(struct proto *c, enum outcome outcome, bool sized, u64 size)
{
	conn_answer_at(c, 0, outcome, sized, size);
}

void conn_answer_all(struct proto *c, enum outcome outcome)
{
	bool last = false;

	while (c->n && !last) {
		last = conn_head(c)->last;
		conn_answer(c, outcome, false, 0);
	}
}

void conn_settle(struct proto *c)
{
	struct pending *p = conn_head(c);

	tell(c, p, parsers[c->protocol]->untold(p), false);
	pop(c);
}

void conn_settle_quiet(struct proto *c)
{
	while (c->n && conn_head(c)->quiet)
		conn_settle(c);
}

void conn_unasked(struct proto *c)
{
	tell(c, conn_at(c, c->n - 1), OUTCOME_UNKNOWN, false);
	c->n--;
}

void conn_drop(struct proto *c, u32 n)
{
	c->n -= MIN(n, c->n);
	c->storing = MIN(c->storing, c->n);
}

void proto_spend(struct proto *c, u64 time)
{
	c->spent += c->n ? time / c->n : 0;
}

/* ---- losing and finding the place ----------------------------------------------------------- */

static void feed_reset(struct feed *f)
{
	buf_reset(&f->held);
	f->skip = 0;
}

/* Tells those that wait as asked; not those whose request is still coming in. */
static void give_up(struct proto *c)
{
	u32 coming = MIN(c->args.keys + c->storing, c->n);

	while (c->n > coming) {
		*(c->sure ? &c->unseen : &c->trial.unseen) += conn_head(c)->op != OP_OTHER;
		tell(c, conn_head(c), OUTCOME_UNKNOWN, false);
		pop(c);
	}
}

static void lose_replies(struct proto *c)
{
	give_up(c);
	c->trial.unheard = !c->sure;
	c->deaf = true;
	c->queued = 0;
	c->await_end = c->await_number = false;
	memset(&c->reply, 0, sizeof(c->reply));
	feed_reset(&c->out);
}

void conn_forget(struct proto *c)
{
	c->n = c->head = c->storing = c->queued = 0;
	c->replies = 0;
	c->synced = c->sure = c->refused = c->stream = c->deaf = false;
	c->await_end = c->await_number = false;
	memset(&c->args, 0, sizeof(c->args));
	memset(&c->reply, 0, sizeof(c->reply));
	buf_reset(&c->keys);
	feed_reset(&c->in);
	feed_reset(&c->out);
}

/* The place in the requests is lost, and with it that in the replies. */
static void lose(struct proto *c)
{
	if (!c->synced)
		return;
	if (!c->sure) {
		trial_end(c);
		return;
	}
	give_up(c);
	conn_forget(c);
	c->lost++;
}

void conn_deafen(struct proto *c)
{
	c->trial.refuted = !c->sure;
	if (c->refused)
		lose(c); /* it goes on, so it was not refused */
	else if (c->sure)
		lose_replies(c);
}

void conn_stream(struct proto *c)
{
	conn_deafen(c);
	c->deaf = false;
	c->stream = true;
}

void conn_refuse(struct proto *c)
{
	c->trial.refuted = !c->sure;
	c->refused = true;
	c->in.skip = UINT64_MAX;
}

void proto_begin(struct proto *c)
{
	proto_lose(c);
	c->protocol = c->known;
	c->synced = c->sure = true;
}

void proto_lose(struct proto *c)
{
	u64 lost = c->lost;

	lose(c);
	c->lost = lost;
}

void proto_end(struct proto *c)
{
	for (u32 i = 0; i < c->n; i++)
		conn_at(c, i)->counted = COUNTED_MAYBE;
	proto_lose(c);
}

void proto_lose_replies(struct proto *c)
{
	lose_replies(c);
}

/* ---- which protocol ------------------------------------------------------------------------- */

/* By the first bytes that are asked. False: they do not tell. */
static bool choose(struct proto *c, const char *p, size_t n)
{
	static const enum protocol order[] = { PROTOCOL_BINARY, PROTOCOL_RESP, PROTOCOL_TEXT };
	u32 i = 0;

	if (c->protocol == PROTOCOL_MEMCACHED) {
		bool binary = c->sure ? (u8)p[0] == 0x80 : proto_binary.starts(p, n);

		c->protocol = binary ? PROTOCOL_BINARY : PROTOCOL_TEXT;
	} else {
		while (i < ARRAY_SIZE(order) && !parsers[order[i]]->starts(p, n))
			i++;
		if (i == ARRAY_SIZE(order))
			return false;
		c->protocol = order[i];
	}
	if (c->sure)
		c->known = c->protocol;
	return true;
}

/* ---- the streams ---------------------------------------------------------------------------- */

/* Passes over what is to be skipped; returns how many of the n bytes that took. */
static size_t feed_skip(struct proto *c, struct feed *f, u64 n)
{
	u64 k = MIN(f->skip, n);

	f->skip -= k;
	if (f == &c->in && !f->skip && k) {
		/* The value of a store is in: now the request is complete. */
		for (u32 i = 0; i < c->storing; i++)
			conn_at(c, c->n - 1 - i)->started = c->time;
		c->storing = 0;
	}
	return (size_t)k;
}

/* Are the bytes of this direction looked at? */
static bool is_followed(const struct proto *c, const struct feed *f)
{
	return c->synced && !c->trial.refuted && !(f == &c->out && (c->deaf || c->stream));
}

/* Has the parser take what is complete; returns how many bytes that was. */
static size_t feed_parse(struct proto *c, struct feed *f, const char *p, size_t n)
{
	const struct parser *parser = parsers[c->protocol];
	size_t done = 0;

	while (parser && done < n && is_followed(c, f)) {
		size_t took = f->skip       ? feed_skip(c, f, n - done)
		              : f == &c->in ? parser->request(c, p + done, n - done)
		                            : parser->reply(c, p + done, n - done);

		if (!took)
			break;
		done += took;
	}
	return done;
}

static void feed_lose(struct proto *c, struct feed *f)
{
	if (f == &c->in)
		lose(c);
	else if (c->piece && parsers[c->protocol] && parsers[c->protocol]->cut(c))
		buf_reset(&f->held);
	else
		lose_replies(c);
}

/* `whole`: what was held, and what came. */
static void feed_held(struct proto *c, struct feed *f, struct buf *whole)
{
	size_t done;

	if (f == &c->in && !parsers[c->protocol] && whole->n)
		choose(c, whole->p, whole->n);
	done = feed_parse(c, f, whole->p, whole->n);
	if (is_followed(c, f) && done < whole->n)
		buf_add(&f->held, whole->p + done, whole->n - done);
	buf_free(whole);
}

static void feed_add(struct proto *c, struct feed *f, const char *p, size_t n, size_t total)
{
	if (f->held.n || !parsers[c->protocol]) {
		struct buf whole = f->held;

		f->held = (struct buf){ 0 };
		buf_add(&whole, p, n);
		feed_held(c, f, &whole);
	} else {
		size_t done = feed_parse(c, f, p, n);

		if (is_followed(c, f) && done < n)
			buf_add(&f->held, p + done, n - done);
	}
	if (!is_followed(c, f))
		return;
	if ((total > n && (f->held.n || feed_skip(c, f, total - n) < total - n)) ||
	    f->held.n > HELD_MAX)
		feed_lose(c, f);
}

void proto_request(struct proto *c, const void *p, size_t n, size_t total, u64 time)
{
	c->time = c->asked_at = time;
	if (c->synced && !c->sure)
		trial_next_read(c);
	if (!c->synced && n)
		trial_begin(c);
	if (!c->synced)
		return;
	c->deaf = false;
	feed_add(c, &c->in, p, n, total);
	if (c->synced && !c->sure)
		trial_was_asked(c);
}

/* What was asked is held, since nobody could tell which protocol it is: the answer does. None of
 * RESP begins with a letter or a digit; memcached's text does. */
static void choose_by_reply(struct proto *c, u8 first)
{
	struct buf held = c->in.held;
	u64 now = c->time;
	bool text = (first >= '0' && first <= '9') || (first >= 'A' && first <= 'Z');

	c->protocol = text ? PROTOCOL_TEXT : PROTOCOL_RESP;
	if (c->sure)
		c->known = c->protocol;
	c->in.held = (struct buf){ 0 };
	c->time = c->asked_at;
	feed_held(c, &c->in, &held);
	c->time = now;
}

void proto_reply(struct proto *c, const void *p, size_t n, size_t total, u64 time)
{
	c->time = time;
	if (!is_followed(c, &c->out))
		return;
	if (!parsers[c->protocol] && n)
		choose_by_reply(c, *(const u8 *)p);
	feed_add(c, &c->out, p, n, total);
	if (c->synced && !c->sure)
		trial_was_answered(c);
}

void proto_reply_piece(struct proto *c, const void *p, size_t n, size_t total, u64 time)
{
	c->piece = true;
	proto_reply(c, p, n, total, time);
	c->piece = false;
}

/* ---- text in all of them ------------------------------------------------------------------- */

size_t conn_line(const char *p, size_t n, struct str *line)
{
	const char *end = memchr(p, '\n', n);
	size_t size;

	if (!end)
		return 0;
	size = (size_t)(end - p);
	*line = (struct str){ p, (u32)(size && p[size - 1] == '\r' ? size - 1 : size) };
	return size + 1;
}

struct str conn_word(struct str *line)
{
	struct str word;
	u32 i = 0;

	while (i < line->n && line->p[i] == ' ')
		i++;
	word.p = line->p + i;
	while (i < line->n && line->p[i] != ' ')
		i++;
	word.n = (u32)(line->p + i - word.p);
	line->p += i;
	line->n -= i;
	return word;
}

bool conn_cut(struct proto *c)
{
	(void)c;
	return false;
}

bool conn_number(struct str s, u64 *v)
{
	u64 value;

	if (!s.n || conn_digits(s.p, s.n, &value) != s.n)
		return false;
	*v = value;
	return true;
}

/* ---- operations ----------------------------------------------------------------------------- */

static const char *const op_names[OPS] = {
	[OP_GET] = "get",         [OP_SET] = "set",       [OP_ADD] = "add",
	[OP_REPLACE] = "replace", [OP_APPEND] = "append", [OP_PREPEND] = "prepend",
	[OP_CAS] = "cas",         [OP_INCR] = "incr",     [OP_DECR] = "decr",
	[OP_TOUCH] = "touch",     [OP_DELETE] = "delete", [OP_READ] = "read",
	[OP_WRITE] = "write",     [OP_OTHER] = "other",
};

const char *proto_op_name(enum op op)
{
	return op_names[op];
}

enum op proto_op_find(struct str name)
{
	u32 op = 0;

	while (op < OPS &&
	       !(strlen(op_names[op]) == name.n && strncasecmp(op_names[op], name.p, name.n) == 0))
		op++;
	return op;
}

enum counter proto_op_counter(enum op op)
{
	static const u8 counters[OPS] = {
		[OP_GET] = COUNTER_GET,       [OP_SET] = COUNTER_SET,
		[OP_ADD] = COUNTER_SET,       [OP_REPLACE] = COUNTER_SET,
		[OP_APPEND] = COUNTER_SET,    [OP_PREPEND] = COUNTER_SET,
		[OP_CAS] = COUNTER_CAS,       [OP_INCR] = COUNTER_INCR,
		[OP_DECR] = COUNTER_DECR,     [OP_TOUCH] = COUNTER_TOUCH,
		[OP_DELETE] = COUNTER_DELETE,
	};

	return counters[op];
}
