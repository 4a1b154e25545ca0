// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * memcached's binary protocol (the wiki page "BinaryProtocolRevamped"; deprecated, but spoken by
 * every server): a header of 24 bytes, big endian, then extras, key and value.
 *
 *      0      1      2         4       5     6         8           12        16      24
 *      magic  opcode key size  extras  type  status    body size   opaque    cas     ...
 *
 * magic 0x80 asks, 0x81 answers. A quiet command is answered only when something is to be said: a
 * get when the key was found, all else when it went wrong. An answer names its command by opcode
 * and opaque; the quiet ones in front of that one are settled.
 */
#include <string.h>

#include "proto/conn.h"

#define HEADER 24u

static const struct {
	struct verb verb;
	bool quiet;
} opcodes[] = {
#define ROW(code, text, what, is_quiet)                                                            \
	[code] = { { .name = (text), .op = (what), .shape = SHAPE_PACKET }, is_quiet }
	ROW(0x00, "get", OP_GET, false),         ROW(0x01, "set", OP_SET, false),
	ROW(0x02, "add", OP_ADD, false),         ROW(0x03, "replace", OP_REPLACE, false),
	ROW(0x04, "delete", OP_DELETE, false),   ROW(0x05, "incr", OP_INCR, false),
	ROW(0x06, "decr", OP_DECR, false),       ROW(0x07, "quit", OP_OTHER, false),
	ROW(0x08, "flush", OP_OTHER, false),     ROW(0x09, "getq", OP_GET, true),
	ROW(0x0a, "noop", OP_OTHER, false),      ROW(0x0b, "version", OP_OTHER, false),
	ROW(0x0c, "getk", OP_GET, false),        ROW(0x0d, "getkq", OP_GET, true),
	ROW(0x0e, "append", OP_APPEND, false),   ROW(0x0f, "prepend", OP_PREPEND, false),
	ROW(0x10, "stat", OP_OTHER, false),      ROW(0x11, "setq", OP_SET, true),
	ROW(0x12, "addq", OP_ADD, true),         ROW(0x13, "replaceq", OP_REPLACE, true),
	ROW(0x14, "deleteq", OP_DELETE, true),   ROW(0x15, "incrq", OP_INCR, true),
	ROW(0x16, "decrq", OP_DECR, true),       ROW(0x17, "quitq", OP_OTHER, true),
	ROW(0x18, "flushq", OP_OTHER, true),     ROW(0x19, "appendq", OP_APPEND, true),
	ROW(0x1a, "prependq", OP_PREPEND, true), ROW(0x1b, "verbosity", OP_OTHER, false),
	ROW(0x1c, "touch", OP_TOUCH, false),     ROW(0x1d, "gat", OP_GET, false),
	ROW(0x1e, "gatq", OP_GET, true),         ROW(0x20, "sasl_list_mechs", OP_OTHER, false),
	ROW(0x21, "sasl_auth", OP_OTHER, false), ROW(0x22, "sasl_step", OP_OTHER, false),
	ROW(0x23, "gatk", OP_GET, false),        ROW(0x24, "gatkq", OP_GET, true),
#undef ROW
};

#define OPCODE_STAT 0x10

enum status { STATUS_OK, STATUS_NOT_FOUND, STATUS_EXISTS, STATUS_NOT_STORED = 5 };

struct header {
	u8 magic, opcode, extras;
	u32 key, body, opaque;
	u32 status;
	bool cas;
};

static u32 be16(const char *p)
{
	return (u32)(u8)p[0] << 8 | (u8)p[1];
}

static u32 be32(const char *p)
{
	return be16(p) << 16 | be16(p + 2);
}

static struct header header_read(const char *p)
{
	return (struct header){
		.magic = (u8)p[0],
		.opcode = (u8)p[1],
		.key = be16(p + 2),
		.extras = (u8)p[4],
		.status = be16(p + 6),
		.body = be32(p + 8),
		.opaque = be32(p + 12),
		.cas = be32(p + 16) || be32(p + 20),
	};
}

static bool is_known(u8 opcode)
{
	return opcode < ARRAY_SIZE(opcodes) && opcodes[opcode].verb.name;
}

static bool starts(const char *p, size_t n)
{
	return n && (u8)p[0] == 0x80 && (n == 1 || is_known((u8)p[1]));
}

static enum outcome untold(const struct pending *p)
{
	if (proto_op_reads(p->op))
		return OUTCOME_MISS;
	return p->creates ? OUTCOME_UNKNOWN : OUTCOME_HIT;
}

static bool has_value(enum op op)
{
	return op >= OP_SET && op <= OP_CAS;
}

static bool is_arithmetic(enum op op)
{
	return op == OP_INCR || op == OP_DECR;
}

static u64 be64(const char *p)
{
	return (u64)be32(p) << 32 | be32(p + 4);
}

/* What a request says besides its head; `extras` are h->extras bytes. */
static void read_more(struct pending *q, const struct header *h, const char *extras)
{
	bool store = q->op == OP_SET || q->op == OP_ADD || q->op == OP_REPLACE;
	bool touches = strncmp(q->verb->name, "gat", 3) == 0;

	if (store && h->cas)
		q->op = OP_CAS;
	q->counter = touches ? COUNTER_TOUCH : proto_op_counter(q->op);
	q->sized = has_value(q->op);
	q->size = h->body - h->extras - h->key;
	if (!is_arithmetic(q->op) || h->extras < 20)
		return;
	q->creates = be32(extras + 16) != UINT32_MAX;
	q->initial = be64(extras + 8);
}

static size_t request(struct proto *c, const char *p, size_t n)
{
	struct header h;
	struct pending q = { .first = true, .last = true };
	size_t before;

	if (n < HEADER)
		return 0;
	h = header_read(p);
	before = HEADER + h.extras + h.key;
	if (h.magic != 0x80 || !is_known(h.opcode) || h.body < h.extras + h.key) {
		conn_refuse(c);
		return n;
	}
	if (n < before)
		return 0;
	q.verb = &opcodes[h.opcode].verb;
	q.op = q.verb->op;
	q.quiet = opcodes[h.opcode].quiet;
	q.opcode = h.opcode;
	q.opaque = h.opaque;
	read_more(&q, &h, p + HEADER);
	if (h.opcode == OPCODE_STAT && h.key == 5 && memcmp(p + before - 5, "reset", 5) == 0)
		q.counter = COUNTER_RESET;
	if (!conn_push(c, &q, (struct str){ p + HEADER + h.extras, h.key }))
		return n;
	c->in.skip = h.body - h.extras - h.key;
	c->storing = c->in.skip != 0;
	return before;
}

/* `value`: the counter's, of an answer to what makes counters; else NULL. */
static enum outcome outcome_of(struct pending *p, u32 status, const char *value)
{
	if (p->op == OP_OTHER)
		return OUTCOME_UNKNOWN;
	switch (status) {
	case STATUS_OK:
		return value && be64(value) == p->initial ? OUTCOME_UNKNOWN : OUTCOME_HIT;
	case STATUS_EXISTS:
		if (p->op == OP_CAS)
			p->counted = COUNTED_BAD;
		else if (p->op == OP_DELETE || is_arithmetic(p->op))
			p->counter = COUNTER_NONE;
		return OUTCOME_MISS;
	case STATUS_NOT_FOUND:
	case STATUS_NOT_STORED:
		return OUTCOME_MISS;
	default:
		return OUTCOME_ERROR;
	}
}

/* The answer to the oldest command; `body` is after its head. */
static void take_answer(struct proto *c, const struct header *h, const char *body)
{
	struct pending *p = conn_head(c);
	const char *value = p->creates && h->body >= 8 ? body : NULL;

	if (proto_op_reads(p->op) && h->status == STATUS_OK)
		conn_answer(c, OUTCOME_HIT, true, h->body - h->extras - h->key);
	else
		conn_answer(c, outcome_of(p, h->status, value), false, 0);
}

static size_t reply(struct proto *c, const char *p, size_t n)
{
	struct header h;

	if (n < HEADER)
		return 0;
	h = header_read(p);
	while (c->n && conn_head(c)->quiet &&
	       (conn_head(c)->opcode != h.opcode || conn_head(c)->opaque != h.opaque))
		conn_settle(c);
	if (h.magic != 0x81 || !c->n || conn_head(c)->opcode != h.opcode ||
	    h.body < h.extras + h.key) {
		conn_deafen(c);
		return n;
	}
	if (conn_head(c)->creates && h.status == STATUS_OK && h.body >= 8 && n < HEADER + 8)
		return 0;
	c->trial.proven |= conn_head(c)->opaque == h.opaque;
	c->out.skip = h.body;
	if (h.opcode == OPCODE_STAT && h.key && h.status == STATUS_OK)
		return HEADER; /* one of several; the last has no key */
	take_answer(c, &h, p + HEADER);
	return HEADER;
}

const struct parser proto_binary = { request, reply, starts, conn_cut, untold };
