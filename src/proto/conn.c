// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * One connection: its two directions, the keys that wait for an answer between them, and what
 * happens when bytes are missing.
 *
 * The idea: a direction is a stream of units (lines, headers) that are looked at, and of values
 * that are only counted down (`skip`). What was not captured does no harm inside a value. Anywhere
 * else the place is lost. In requests, both directions are dropped, and the next piece that begins
 * like one is taken for a new start. In replies, requests go on being told: those that wait are told
 * without an answer, and no reply is listened to before the next request is read: a server has
 * answered what it read before it reads again.
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
};

struct proto *proto_new(enum protocol protocol, proto_emit emit, void *ctx)
{
	struct proto *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	c->told = c->protocol = protocol;
	c->emit = emit;
	c->ctx = ctx;
	return c;
}

void proto_free(struct proto *c)
{
	if (!c)
		return;
	buf_free(&c->in.held);
	buf_free(&c->out.held);
	buf_free(&c->keys);
	free(c->queue);
	free(c);
}

enum protocol proto_protocol(const struct proto *c)
{
	return c->protocol;
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

/* ---- the queue ------------------------------------------------------------------------------ */

struct pending *conn_at(const struct proto *c, u32 i)
{
	return &c->queue[(c->head + i) & (c->cap - 1)];
}

struct pending *conn_head(const struct proto *c)
{
	return c->n ? conn_at(c, 0) : NULL;
}

struct str conn_key(const struct proto *c, const struct pending *p)
{
	return (struct str){ c->keys.p + p->key, MIN(p->key_size, PROTO_KEY_MAX) };
}

static void queue_grow(struct proto *c)
{
	u32 cap = c->cap ? c->cap * 2 : 8;
	struct pending *queue = calloc(cap, sizeof(*queue));

	if (!queue)
		abort();
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
		conn_deafen(c);
	if (c->n == PENDING_MAX) {
		conn_lose(c);
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
	buf_add(&c->keys, key.p ? key.p : "", MIN(key.n, PROTO_KEY_MAX));
	return true;
}

static void tell(struct proto *c, const struct pending *p, enum outcome outcome, bool answered)
{
	struct command command = {
		.op = p->op,
		.verb = p->verb->name,
		.key = conn_key(c, p),
		.key_size = p->key_size,
		.outcome = p->unsure && outcome != OUTCOME_ERROR ? OUTCOME_UNKNOWN : outcome,
		.sized = p->sized,
		.size = p->size,
		.started = p->started,
		.ended = answered ? c->time : 0,
		.answered = answered,
		.first = p->first,
	};

	c->emit(c->ctx, &command);
}

static void pop(struct proto *c)
{
	c->head = (c->head + 1) & (c->cap - 1);
	c->n--;
	c->storing = MIN(c->storing, c->n);
}

void conn_answer(struct proto *c, enum outcome outcome, bool sized, u64 size)
{
	struct pending *p = conn_head(c);

	if (sized) {
		p->sized = true;
		p->size = size;
	}
	tell(c, p, outcome, true);
	pop(c);
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

/* ---- losing and finding the place ------------------------------------------------------------- */

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
		c->unseen += conn_head(c)->op != OP_OTHER;
		tell(c, conn_head(c), OUTCOME_UNKNOWN, false);
		pop(c);
	}
}

void conn_deafen(struct proto *c)
{
	give_up(c);
	c->deaf = true;
	c->await_end = false;
	memset(&c->reply, 0, sizeof(c->reply));
	feed_reset(&c->out);
}

void conn_stream(struct proto *c)
{
	conn_deafen(c);
	c->deaf = false;
	c->stream = true;
}

void conn_lose(struct proto *c)
{
	conn_deafen(c);
	c->n = c->head = c->storing = 0;
	c->synced = c->stream = c->deaf = false;
	memset(&c->args, 0, sizeof(c->args));
	buf_reset(&c->keys);
	feed_reset(&c->in);
}

void proto_lose(struct proto *c)
{
	conn_lose(c);
}

void proto_lose_replies(struct proto *c)
{
	conn_deafen(c);
}

/* Is this the start of a request? Then the protocol is known from here on. */
static bool find_start(struct proto *c, const char *p, size_t n)
{
	static const enum protocol order[] = { PROTOCOL_BINARY, PROTOCOL_RESP, PROTOCOL_TEXT };

	if (c->told != PROTOCOL_AUTO)
		return parsers[c->told]->starts(p, n, true);
	for (u32 i = 0; i < ARRAY_SIZE(order); i++) {
		if (parsers[order[i]]->starts(p, n, c->protocol == order[i])) {
			c->protocol = order[i];
			return true;
		}
	}
	return false;
}

/* ---- the streams ------------------------------------------------------------------------------ */

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
	return c->synced && !(f == &c->out && (c->deaf || c->stream));
}

/* Has the parser take what is complete; returns how many bytes that was. */
static size_t feed_parse(struct proto *c, struct feed *f, const char *p, size_t n)
{
	const struct parser *parser = parsers[c->protocol];
	size_t done = 0;

	while (done < n && is_followed(c, f)) {
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
		conn_lose(c);
	else
		conn_deafen(c);
}

static void feed_add(struct proto *c, struct feed *f, const char *p, size_t n, size_t total)
{
	size_t done;

	if (f->held.n) {
		struct buf whole = f->held;

		f->held = (struct buf){ 0 };
		buf_add(&whole, p, n);
		done = feed_parse(c, f, whole.p, whole.n);
		if (is_followed(c, f))
			buf_add(&f->held, whole.p + done, whole.n - done);
		buf_free(&whole);
	} else {
		done = feed_parse(c, f, p, n);
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
	c->time = time;
	if (!c->synced)
		c->synced = n && find_start(c, p, n);
	if (!c->synced)
		return;
	c->deaf = false;
	feed_add(c, &c->in, p, n, total);
	c->lost += !c->synced;
}

void proto_reply(struct proto *c, const void *p, size_t n, size_t total, u64 time)
{
	c->time = time;
	if (is_followed(c, &c->out))
		feed_add(c, &c->out, p, n, total);
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

bool conn_number(struct str s, u64 *v)
{
	u64 value = 0;

	if (!s.n || s.n > 19)
		return false;
	for (u32 i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		value = value * 10 + (u64)(s.p[i] - '0');
	}
	*v = value;
	return true;
}

/* ---- operations ------------------------------------------------------------------------------- */

static const char *const op_names[OPS] = {
	[OP_GET] = "get",         [OP_SET] = "set",       [OP_ADD] = "add",
	[OP_REPLACE] = "replace", [OP_APPEND] = "append", [OP_PREPEND] = "prepend",
	[OP_CAS] = "cas",         [OP_INCR] = "incr",     [OP_DECR] = "decr",
	[OP_TOUCH] = "touch",     [OP_DELETE] = "delete", [OP_READ] = "read",
	[OP_WRITE] = "write",     [OP_OTHER] = "other",
};

const char *op_name(enum op op)
{
	return op_names[op];
}

enum op op_find(struct str name)
{
	u32 op = 0;

	while (op < OPS &&
	       !(strlen(op_names[op]) == name.n && strncasecmp(op_names[op], name.p, name.n) == 0))
		op++;
	return op;
}

bool op_reads(enum op op)
{
	return op == OP_GET || op == OP_READ;
}
