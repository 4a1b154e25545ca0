// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * RESP2 and RESP3, the protocol of Redis and its relatives ("Redis serialization protocol
 * specification"). A request is an array of strings, or a line of words as typed by hand; a reply is
 * one value, which may be an array of values. Replies come in the order of the requests, pushes (>)
 * between them answer nothing, but for those that RESP3 has in place of an answer to SUBSCRIBE.
 *
 * The idea: a request is taken argument by argument, so that a long value is passed over by its
 * length and only keys are looked at. Which arguments are keys, verbs say (a table; the numbers
 * are those that COMMAND INFO gives). The reply to MGET answers key by key, all others at once.
 *
 * Does not know what happened inside MULTI: commands are told as they are queued, without outcome.
 * Streamed strings and arrays, which Redis does not send, are not understood.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "proto/conn.h"

/* Which keys a command has: first, last (-1: to the end), step; how far behind is the value. */
#define VERB(text, what, ...)                                                                      \
	{                                                                                          \
		.name = (text), .op = (what), .shape = SHAPE_ARGS, __VA_ARGS__                     \
	}
#define ONE  .first = 1, .last = 1, .step = 1
#define MANY .first = 1, .last = -1, .step = 1

static const struct verb verbs[] = {
	VERB("GET", OP_GET, ONE),
	VERB("MGET", OP_GET, MANY),
	VERB("GETEX", OP_GET, ONE),
	VERB("GETSET", OP_SET, ONE, .value = 1),
	VERB("GETDEL", OP_DELETE, ONE),
	VERB("SET", OP_SET, ONE, .value = 1),
	VERB("SETNX", OP_ADD, ONE, .value = 1),
	VERB("SETEX", OP_SET, ONE, .value = 2),
	VERB("PSETEX", OP_SET, ONE, .value = 2),
	VERB("MSET", OP_SET, .first = 1, .last = -1, .step = 2, .value = 1),
	VERB("MSETNX", OP_ADD, .first = 1, .last = -1, .step = 2, .value = 1),
	VERB("APPEND", OP_APPEND, ONE, .value = 1),
	VERB("SETRANGE", OP_WRITE, ONE),
	VERB("INCR", OP_INCR, ONE),
	VERB("INCRBY", OP_INCR, ONE),
	VERB("INCRBYFLOAT", OP_INCR, ONE),
	VERB("DECR", OP_DECR, ONE),
	VERB("DECRBY", OP_DECR, ONE),
	VERB("DEL", OP_DELETE, MANY),
	VERB("UNLINK", OP_DELETE, MANY),
	VERB("TOUCH", OP_TOUCH, MANY),
	VERB("EXPIRE", OP_TOUCH, ONE),
	VERB("PEXPIRE", OP_TOUCH, ONE),
	VERB("EXPIREAT", OP_TOUCH, ONE),
	VERB("PEXPIREAT", OP_TOUCH, ONE),
	VERB("PERSIST", OP_TOUCH, ONE),
	VERB("EXISTS", OP_READ, MANY, .zero_misses = true),
	VERB("TTL", OP_READ, ONE, .zero_misses = true),
	VERB("PTTL", OP_READ, ONE, .zero_misses = true),
	VERB("TYPE", OP_READ, ONE),
	VERB("STRLEN", OP_READ, ONE, .zero_misses = true),
	VERB("GETRANGE", OP_READ, ONE),
	VERB("GETBIT", OP_READ, ONE),
	VERB("BITCOUNT", OP_READ, ONE),
	VERB("BITPOS", OP_READ, ONE),
	VERB("SETBIT", OP_WRITE, ONE),
	VERB("BITFIELD", OP_WRITE, ONE),
	VERB("DUMP", OP_READ, ONE),
	VERB("RESTORE", OP_WRITE, ONE),
	VERB("RENAME", OP_WRITE, .first = 1, .last = 2, .step = 1),
	VERB("COPY", OP_WRITE, .first = 1, .last = 2, .step = 1),
	VERB("HGET", OP_READ, ONE),
	VERB("HMGET", OP_READ, ONE),
	VERB("HGETALL", OP_READ, ONE),
	VERB("HKEYS", OP_READ, ONE),
	VERB("HVALS", OP_READ, ONE),
	VERB("HLEN", OP_READ, ONE, .zero_misses = true),
	VERB("HEXISTS", OP_READ, ONE, .zero_misses = true),
	VERB("HSTRLEN", OP_READ, ONE, .zero_misses = true),
	VERB("HSCAN", OP_READ, ONE),
	VERB("HSET", OP_WRITE, ONE),
	VERB("HMSET", OP_WRITE, ONE),
	VERB("HSETNX", OP_WRITE, ONE),
	VERB("HDEL", OP_WRITE, ONE),
	VERB("HINCRBY", OP_WRITE, ONE),
	VERB("HINCRBYFLOAT", OP_WRITE, ONE),
	VERB("LPUSH", OP_WRITE, ONE),
	VERB("RPUSH", OP_WRITE, ONE),
	VERB("LPUSHX", OP_WRITE, ONE),
	VERB("RPUSHX", OP_WRITE, ONE),
	VERB("LPOP", OP_WRITE, ONE),
	VERB("RPOP", OP_WRITE, ONE),
	VERB("LREM", OP_WRITE, ONE),
	VERB("LSET", OP_WRITE, ONE),
	VERB("LTRIM", OP_WRITE, ONE),
	VERB("LINSERT", OP_WRITE, ONE),
	VERB("LLEN", OP_READ, ONE, .zero_misses = true),
	VERB("LRANGE", OP_READ, ONE),
	VERB("LINDEX", OP_READ, ONE),
	VERB("LPOS", OP_READ, ONE),
	VERB("LMOVE", OP_WRITE, .first = 1, .last = 2, .step = 1),
	VERB("RPOPLPUSH", OP_WRITE, .first = 1, .last = 2, .step = 1),
	VERB("BLPOP", OP_WRITE, .first = 1, .last = -2, .step = 1),
	VERB("BRPOP", OP_WRITE, .first = 1, .last = -2, .step = 1),
	VERB("SADD", OP_WRITE, ONE),
	VERB("SREM", OP_WRITE, ONE),
	VERB("SPOP", OP_WRITE, ONE),
	VERB("SMOVE", OP_WRITE, .first = 1, .last = 2, .step = 1),
	VERB("SCARD", OP_READ, ONE, .zero_misses = true),
	VERB("SISMEMBER", OP_READ, ONE, .zero_misses = true),
	VERB("SMISMEMBER", OP_READ, ONE),
	VERB("SMEMBERS", OP_READ, ONE),
	VERB("SRANDMEMBER", OP_READ, ONE),
	VERB("SSCAN", OP_READ, ONE),
	VERB("SINTER", OP_READ, MANY),
	VERB("SUNION", OP_READ, MANY),
	VERB("SDIFF", OP_READ, MANY),
	VERB("ZADD", OP_WRITE, ONE),
	VERB("ZREM", OP_WRITE, ONE),
	VERB("ZINCRBY", OP_WRITE, ONE),
	VERB("ZPOPMIN", OP_WRITE, ONE),
	VERB("ZPOPMAX", OP_WRITE, ONE),
	VERB("ZREMRANGEBYSCORE", OP_WRITE, ONE),
	VERB("ZREMRANGEBYRANK", OP_WRITE, ONE),
	VERB("ZCARD", OP_READ, ONE, .zero_misses = true),
	VERB("ZCOUNT", OP_READ, ONE),
	VERB("ZSCORE", OP_READ, ONE),
	VERB("ZMSCORE", OP_READ, ONE),
	VERB("ZRANK", OP_READ, ONE),
	VERB("ZREVRANK", OP_READ, ONE),
	VERB("ZRANGE", OP_READ, ONE),
	VERB("ZREVRANGE", OP_READ, ONE),
	VERB("ZRANGEBYSCORE", OP_READ, ONE),
	VERB("ZREVRANGEBYSCORE", OP_READ, ONE),
	VERB("ZSCAN", OP_READ, ONE),
	VERB("PFADD", OP_WRITE, ONE),
	VERB("PFCOUNT", OP_READ, MANY),
	VERB("GEOADD", OP_WRITE, ONE),
	VERB("GEOPOS", OP_READ, ONE),
	VERB("GEODIST", OP_READ, ONE),
	VERB("GEOSEARCH", OP_READ, ONE),
	VERB("XADD", OP_WRITE, ONE),
	VERB("XDEL", OP_WRITE, ONE),
	VERB("XTRIM", OP_WRITE, ONE),
	VERB("XACK", OP_WRITE, ONE),
	VERB("XLEN", OP_READ, ONE),
	VERB("XRANGE", OP_READ, ONE),
	VERB("XREVRANGE", OP_READ, ONE),
	VERB("FLUSHALL", OP_OTHER, .first = 0),
	VERB("FLUSHDB", OP_OTHER, .first = 0),
	{ .name = "SUBSCRIBE", .op = OP_OTHER, .shape = SHAPE_SUBSCRIBE },
	{ .name = "PSUBSCRIBE", .op = OP_OTHER, .shape = SHAPE_SUBSCRIBE },
	{ .name = "SSUBSCRIBE", .op = OP_OTHER, .shape = SHAPE_SUBSCRIBE },
	{ .name = "UNSUBSCRIBE", .op = OP_OTHER, .shape = SHAPE_UNSUBSCRIBE },
	{ .name = "PUNSUBSCRIBE", .op = OP_OTHER, .shape = SHAPE_UNSUBSCRIBE },
	{ .name = "SUNSUBSCRIBE", .op = OP_OTHER, .shape = SHAPE_UNSUBSCRIBE },
	/* After these the server talks unasked. */
	{ .name = "MONITOR", .op = OP_OTHER, .shape = SHAPE_STREAM },
	{ .name = "SYNC", .op = OP_OTHER, .shape = SHAPE_STREAM },
	{ .name = "PSYNC", .op = OP_OTHER, .shape = SHAPE_STREAM },
};
/* All that has no key, or whose keys stand behind a count (EVAL, ZUNION, XREAD ...). */
static const struct verb other = VERB("other", OP_OTHER, .first = 0);

#define VERB_MAX 32u

static const struct verb *verb_find(struct str word)
{
	for (u32 i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strlen(verbs[i].name) == word.n &&
		    strncasecmp(verbs[i].name, word.p, word.n) == 0)
			return &verbs[i];
	}
	return &other;
}

/* A line of words begins with a verb, of which little may have come yet. Where the protocol is not
 * known, capitals tell it from memcached's. */
static bool starts_line(const char *p, size_t n, bool sure)
{
	static const char *const others[] = {
		"PING",   "INFO",   "HELLO",   "AUTH",    "SELECT",  "QUIT",     "ECHO",
		"CONFIG", "CLIENT", "COMMAND", "DBSIZE",  "FLUSHDB", "FLUSHALL", "KEYS",
		"SCAN",   "MULTI",  "EXEC",    "DISCARD", "CLUSTER", "LASTSAVE"
	};
	size_t k = 0;

	while (k < n && ((p[k] >= 'A' && p[k] <= 'Z') || (sure && p[k] >= 'a' && p[k] <= 'z')))
		k++;
	if (!k || k > VERB_MAX || (k < n && !strchr(" \t\r\n", p[k])))
		return false;
	if (k < n && verb_find((struct str){ p, (u32)k }) != &other)
		return true;
	for (u32 i = 0; k == n && i < ARRAY_SIZE(verbs); i++)
		if (strncasecmp(verbs[i].name, p, k) == 0)
			return true;
	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		if (strncasecmp(others[i], p, k) == 0 && (k == n || !others[i][k]))
			return true;
	return false;
}

static bool starts(const char *p, size_t n, bool sure)
{
	if (n > 1 && p[0] == '*')
		return p[1] >= '1' && p[1] <= '9';
	return starts_line(p, n, sure);
}

static enum outcome untold(const struct pending *p)
{
	(void)p;
	return OUTCOME_UNKNOWN;
}

/* ---- requests --------------------------------------------------------------------------------- */

/* Is argument i of n a key? The verb itself is argument 0. */
static bool is_key(const struct verb *v, u64 i, u64 n)
{
	u64 last = v->last < 0 ? n - MIN(n, (u64)-v->last) : (u64)v->last;

	return v->first > 0 && i >= (u64)v->first && i <= last &&
	       (i - (u64)v->first) % (u64)v->step == 0;
}

/* All arguments are in. */
static void request_end(struct proto *c)
{
	struct resp_request *r = &c->args;

	if (!r->keys && r->verb && !c->stream) {
		struct pending p = { .verb = r->verb, .op = OP_OTHER, .first = true };

		if (!conn_push(c, &p, (struct str){ 0 }))
			return;
		r->keys = 1;
	}
	for (u32 i = 0; i < r->keys; i++) {
		struct pending *p = conn_at(c, c->n - 1 - i);

		p->started = c->time;
		p->last = i == 0;
		p->unsure = r->unsure;
	}
	c->storing = c->in.skip ? r->keys : 0;
	if (c->stream) {
		while (r->keys--)
			conn_unasked(c);
	}
	memset(r, 0, sizeof(*r));
}

/* One argument; p holds what is at hand of its `size` bytes. False when the stream was lost. */
static bool argument(struct proto *c, struct str p, u64 size)
{
	struct resp_request *r = &c->args;
	u64 i = r->next++;
	struct pending key = { .verb = r->verb, .first = !r->keys };

	if (i == 0) {
		r->verb = verb_find(p);
	} else if (is_key(r->verb, i, r->n)) {
		key.op = r->verb->op;
		if (!conn_push(c, &key, p))
			return false;
		conn_at(c, c->n - 1)->key_size = (u32)MIN(size, UINT32_MAX);
		r->keys++;
	} else if (r->keys && r->verb->value && is_key(r->verb, i - (u64)r->verb->value, r->n)) {
		conn_at(c, c->n - 1)->sized = true;
		conn_at(c, c->n - 1)->size = size;
	} else if (size == 3 && strncasecmp(p.p, "GET", MIN(p.n, 3u)) == 0) {
		r->unsure = true; /* SET ... GET answers the old value, done or not */
	}
	return true;
}

/* $size, then so many bytes. */
static size_t request_string(struct proto *c, const char *p, size_t n)
{
	struct resp_request *r = &c->args;
	bool looked_at = !r->next || is_key(r->verb, r->next, r->n);
	size_t took, at_hand;
	struct str line;
	u64 size, want;

	took = conn_line(p, n, &line);
	if (!took)
		return 0;
	if (!line.n || line.p[0] != '$' ||
	    !conn_number((struct str){ line.p + 1, line.n - 1 }, &size) || size > UINT32_MAX) {
		conn_lose(c);
		return n;
	}
	want = looked_at ? MIN(size, PROTO_KEY_MAX) : MIN(size, 3u);
	at_hand = (size_t)MIN((u64)(n - took), want);
	if (at_hand < want && (looked_at || size == 3))
		return 0;
	if (!argument(c, (struct str){ p + took, (u32)at_hand }, size))
		return n;
	/* What was looked at is passed over again, with the rest of it and its line end. */
	c->in.skip = size + 2;
	if (r->next == r->n)
		request_end(c);
	return took;
}

/* A word of a line. */
struct word {
	char p[PROTO_KEY_MAX];
	u32 n;    /* bytes in p */
	u64 size; /* all of them */
	bool wrong;
};

static void word_add(struct word *w, char c)
{
	if (w->n < sizeof(w->p))
		w->p[w->n++] = c;
	w->size++;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || !c;
}

/* "\xNN", "\n" and so on in double quotes; returns the bytes that it took. */
static u32 word_escape(struct word *w, struct str s)
{
	static const char letters[] = "nrtba", bytes[] = "\n\r\t\b\a";
	const char *at;

	if (s.n >= 4 && s.p[1] == 'x' && isxdigit((u8)s.p[2]) && isxdigit((u8)s.p[3])) {
		const char hex[] = { s.p[2], s.p[3], 0 };

		word_add(w, (char)strtoul(hex, NULL, 16));
		return 4;
	}
	at = s.p[1] ? strchr(letters, s.p[1]) : NULL;
	word_add(w, at ? bytes[at - letters] : s.p[1]);
	return 2;
}

/* Behind an opening quote; returns the bytes up to and with the closing one. */
static u32 word_quoted(struct word *w, struct str s, char quote)
{
	u32 i = 0;

	while (i < s.n && s.p[i] != quote) {
		bool escape = s.p[i] == '\\' && i + 1 < s.n;

		if (escape && quote == '"') {
			i += word_escape(w, (struct str){ s.p + i, s.n - i });
		} else {
			i += escape && s.p[i + 1] == quote;
			word_add(w, s.p[i++]);
		}
	}
	w->wrong |= i >= s.n || (i + 1 < s.n && !is_blank(s.p[i + 1]));
	return MIN(i + 1, s.n);
}

/* Cuts the next word off the line, as Redis does it. False at its end. */
static bool word_next(struct str *line, struct word *w)
{
	u32 i = 0;

	w->n = 0;
	w->size = 0;
	while (i < line->n && is_blank(line->p[i]))
		i++;
	if (i == line->n)
		return false;
	while (i < line->n && !is_blank(line->p[i])) {
		char c = line->p[i++];

		if (c == '"' || c == '\'')
			i += word_quoted(w, (struct str){ line->p + i, line->n - i }, c);
		else
			word_add(w, c);
	}
	line->p += i;
	line->n -= i;
	return true;
}

/* A line of words, as typed by hand. */
static void request_inline(struct proto *c, struct str line)
{
	struct pending refused = { .verb = &other, .op = OP_OTHER, .first = true, .last = true };
	struct word w = { .wrong = false };
	struct str words = line;

	while (word_next(&words, &w))
		c->args.n++;
	if (w.wrong) {
		c->args.n = 0;
		conn_push(c, &refused, (struct str){ 0 });
		return;
	}
	while (word_next(&line, &w)) {
		if (!argument(c, (struct str){ w.p, w.n }, w.size))
			return;
	}
	request_end(c);
}

static size_t request(struct proto *c, const char *p, size_t n)
{
	struct str line;
	size_t took;
	bool none;

	if (c->args.n)
		return request_string(c, p, n);
	took = conn_line(p, n, &line);
	if (!took || !line.n)
		return took;
	none = line.n > 1 && line.p[1] == '-'; /* as *0: Redis passes over it */
	if (line.p[0] != '*')
		request_inline(c, line);
	else if (!none && (!conn_number((struct str){ line.p + 1, line.n - 1 }, &c->args.n) ||
	                   c->args.n > (1u << 20)))
		conn_lose(c);
	return took;
}

/* ---- replies ---------------------------------------------------------------------------------- */

struct value {
	char type;
	bool null;
	bool number; /* `n` is its value */
	bool sized;  /* `n` is the length of a string */
	u64 n;       /* else the count of an array */
	bool queued; /* +QUEUED: inside MULTI */
};

static bool is_many(char type)
{
	return type && strchr("*~>%|", type);
}

static enum outcome outcome_of(const struct pending *p, const struct value *v)
{
	bool zero = (v->number || is_many(v->type)) && !v->n;

	if (v->type == '-' || v->type == '!')
		return OUTCOME_ERROR;
	if (v->queued || p->op == OP_OTHER)
		return OUTCOME_UNKNOWN;
	if (v->null)
		return OUTCOME_MISS;
	if (p->op == OP_READ && v->number && zero && !p->verb->zero_misses)
		return OUTCOME_UNKNOWN; /* a bit, a rank: 0 is one of its values */
	if (p->op == OP_READ || p->op == OP_DELETE || p->op == OP_TOUCH || p->op == OP_ADD)
		return zero ? OUTCOME_MISS : OUTCOME_HIT;
	return OUTCOME_HIT;
}

static void answer(struct proto *c, const struct value *v)
{
	const struct pending *p = conn_head(c);
	bool sized = p->op == OP_GET && v->sized && !v->null && v->type != '!';

	conn_answer(c, outcome_of(p, v), sized, v->n);
}

/* One reply for all keys of a command. A number of keys says what happened to each of several only
 * when it is none or all of them. */
static void answer_keys(struct proto *c, const struct value *v)
{
	u32 keys = 1;

	while (keys < c->n && !conn_at(c, keys - 1)->last)
		keys++;
	for (u32 i = 0; i < keys; i++) {
		struct pending *p = conn_head(c);

		p->unsure |= keys > 1 && v->number && v->n && v->n != keys && p->op != OP_ADD;
		answer(c, v);
	}
}

/* The outermost value is complete. */
static void reply_end(struct proto *c, const struct value *v)
{
	struct resp_reply *r = &c->reply;

	if (r->unasked)
		r->unasked = false;
	else if (r->by_key_done)
		r->by_key = r->by_key_done = false;
	else if (!c->n || r->by_key)
		conn_deafen(c); /* fewer elements than keys, or nothing was asked */
	else
		answer_keys(c, v);
}

/* A value is complete, at any depth, and with it the arrays that it is the last element of. */
static void value_end(struct proto *c, const struct value *v)
{
	struct resp_reply *r = &c->reply;
	struct value array = { .type = '*', .n = 1 };

	if (!r->depth) {
		reply_end(c, v);
		return;
	}
	if (r->depth == 1 && r->by_key && !r->by_key_done) {
		r->by_key_done = conn_head(c)->last;
		answer(c, v);
	}
	while (r->depth && --r->left[r->depth - 1] == 0)
		r->depth--;
	if (!r->depth)
		reply_end(c, &array);
}

static void array_begin(struct proto *c, const struct value *v)
{
	struct resp_reply *r = &c->reply;

	if (r->depth == RESP_DEPTH || v->n > UINT32_MAX) {
		conn_deafen(c);
		return;
	}
	if (!r->depth && v->type == '*' && c->n && conn_head(c)->verb->shape == SHAPE_SUBSCRIBE) {
		conn_stream(c);
		return;
	}
	if (!r->depth) {
		r->unasked = v->type == '>' || v->type == '|';
		r->kind = v->type == '>';
		r->by_key = !r->unasked && c->n && conn_head(c)->op == OP_GET &&
		            conn_head(c)->verb->last < 0;
	} else if (v->type == '|') {
		r->left[r->depth - 1]++; /* attributes stand before an element and are none */
	}
	r->left[r->depth++] = v->type == '%' || v->type == '|' ? v->n * 2 : v->n;
}

/* The line that every value begins with. False when it is none. */
static bool value_read(struct str line, struct value *v)
{
	struct str rest = { line.p + 1, line.n - 1 };

	*v = (struct value){ .type = line.n ? line.p[0] : 0 };
	switch (v->type) {
	case '+':
		v->queued = str_is(rest, "QUEUED");
		return true;
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
		/* TTL says -2 for no key and -1 for no limit. */
		v->number = true;
		v->n = !str_is(rest, "-2");
		return (rest.n && rest.p[0] == '-') || conn_number(rest, &v->n);
	case '$':
	case '=':
	case '!':
		v->sized = true;
		break;
	case '*':
	case '~':
	case '>':
	case '%':
	case '|':
		break;
	default:
		return false;
	}
	v->null = str_is(rest, "-1");
	return v->null || conn_number(rest, &v->n);
}

/* A push of that kind, such as "subscribe" or "message"; the former are answers. */
static void push_kind(struct proto *c, struct str kind)
{
	const struct pending *p = conn_head(c);

	if (p && (p->verb->shape == SHAPE_SUBSCRIBE || p->verb->shape == SHAPE_UNSUBSCRIBE) &&
	    kind.n >= 9 && memcmp(kind.p + kind.n - 9, "subscribe", 9) == 0)
		conn_answer(c, OUTCOME_UNKNOWN, false, 0);
}

static bool is_stream(const struct proto *c)
{
	return c->n && !c->reply.depth && conn_head(c)->verb->shape == SHAPE_STREAM;
}

static size_t reply(struct proto *c, const char *p, size_t n)
{
	struct str line;
	struct value v;
	size_t took = conn_line(p, n, &line);

	if (is_stream(c)) {
		conn_stream(c);
		return n;
	}
	if (!took)
		return 0;
	if (!value_read(line, &v)) {
		conn_deafen(c);
		return n;
	}
	if (c->reply.kind) {
		if (v.sized && v.n <= VERB_MAX && n - took < v.n)
			return 0;
		if (v.sized && v.n <= VERB_MAX)
			push_kind(c, (struct str){ p + took, (u32)v.n });
		c->reply.kind = false;
	}
	if ((v.type == '|' || v.type == '>') && !v.n)
		return took; /* nothing, before what is meant */
	if (v.sized && !v.null)
		c->out.skip = v.n + 2;
	if (is_many(v.type) && !v.null && v.n)
		array_begin(c, &v);
	else
		value_end(c, &v);
	return took;
}

const struct parser proto_resp = { request, reply, starts, untold };
