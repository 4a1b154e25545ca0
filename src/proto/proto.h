/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a cache server is asked and what it answers, from the bytes of its connections: memcached's
 * text and meta commands (doc/protocol.txt and doc/protocol-meta.txt of memcached), its binary
 * protocol (the "BinaryProtocolRevamped" page of its wiki), and RESP2 and RESP3 of Redis.
 *
 *     bytes read by the server  --> proto_request --+
 *                                                   +--> one call of `emit` for each key asked for
 *     bytes written to a client --> proto_reply ----+
 *
 * Pure: no system call, no clock, bounded memory for each connection. Bytes may come in pieces of
 * any size, and pieces may be cut short: what was not captured is passed over where it falls inside
 * a value, whose length is known. Where it does not, the place in the stream is lost, and the loss
 * is counted. Where the place is not known, what is read next is taken for requests, and reported
 * once the answers confirm it (trial.c). Replies that are lost cost no call of a key: it is
 * reported without an answer.
 */
#ifndef PROTO_PROTO_H
#define PROTO_PROTO_H

#include "base/str.h"

/* What a command does; verbs of different protocols share these. */
enum op {
	OP_GET,
	OP_SET,
	OP_ADD,
	OP_REPLACE,
	OP_APPEND,
	OP_PREPEND,
	OP_CAS,
	OP_INCR,
	OP_DECR,
	OP_TOUCH,
	OP_DELETE,
	OP_READ,  /* Redis: reads a part or a property of a value */
	OP_WRITE, /* Redis: changes a value in place */
	OP_OTHER, /* has no key, or none that is known */
	OPS,
};

enum outcome {
	OUTCOME_UNKNOWN, /* no reply was asked for, or it does not say */
	OUTCOME_HIT,     /* found; for writes: done */
	OUTCOME_MISS,    /* not found; for writes: not stored */
	OUTCOME_ERROR,   /* the server refused it */
};

/* Which of its own counters a server moves for a key: those of memcached's `stats` and Redis'
 * INFO. */
enum counter {
	COUNTER_NONE,
	COUNTER_GET,
	COUNTER_TOUCH,
	COUNTER_SET,
	COUNTER_CAS, /* and that of sets */
	COUNTER_DELETE,
	COUNTER_INCR,
	COUNTER_DECR,
	COUNTER_LOOKUP, /* Redis: a key looked for to read it */
	COUNTER_RESET,  /* the server began to count anew */
	COUNTERS,
};

/* ... and how. */
enum counted {
	COUNTED_HIT = 1,
	COUNTED_MISS,
	COUNTED_BAD,    /* had another CAS number */
	COUNTED_EITHER, /* as one of these */
	COUNTED_MAYBE,  /* as one of these, or not at all */
	COUNTED_MORE,   /* as any of these, any number of times */
	COUNTED_WAYS,
};

#define PROTO_KEY_MAX 250u /* bytes kept of a key: memcached's own limit */

/* One key of one command, complete. Everything is borrowed for the time of the call. */
struct command {
	enum op op;
	const char *verb; /* as the protocol spells it: "gets", "mg", "HGET" */
	struct str key;   /* at most PROTO_KEY_MAX bytes, any bytes; of OP_OTHER often empty */
	u32 key_size;     /* its real length */
	enum outcome outcome;
	bool sized;    /* `size` is known */
	u64 size;      /* bytes of the value, without protocol and line ends */
	u64 started;   /* time of the read that completed the request, as the caller gave it */
	u64 ended;     /* time of the write with the answer, 0 when there is none */
	bool answered; /* an answer was seen: `ended` - `started` is the service time */
	u64 expected;  /* what proto_expect said as the key was asked for; 0: it was not called */
	u64 cpu;       /* its part of what proto_spend() said meanwhile; 0: not known */
	bool first;    /* first key of its command: count commands by these */
	bool unknown;  /* it is not known whether it has keys; `key` is empty */
	enum counter counter;
	enum counted counted;
};

enum protocol {
	PROTOCOL_AUTO, /* not known */
	PROTOCOL_TEXT,
	PROTOCOL_BINARY,
	PROTOCOL_RESP,
	PROTOCOL_MEMCACHED, /* text or binary: the first byte tells, to the server too */
	PROTOCOLS,
};

struct proto;

typedef void (*proto_emit)(void *ctx, const struct command *c);
/* A key is asked for, whose command will be told once it is answered. */
typedef u64 (*proto_expect)(void *ctx, struct str key);

/* A connection at an unknown place. Its protocol is known by its bytes if `protocol` is
 * PROTOCOL_AUTO. */
struct proto *proto_new(enum protocol protocol, proto_emit emit, void *ctx);
/* NULL: nobody expects them. With the `ctx` of `emit`. */
void proto_set_expect(struct proto *c, proto_expect expect);
/* The next bytes of requests are the first ones of the connection. */
void proto_begin(struct proto *c);
void proto_free(struct proto *c);

/*
 * The next `total` bytes in that direction, of which the first `n` were captured; `n` is at most
 * `total`. `time` is in any unit and does not run backwards. Bytes are not kept by reference.
 */
void proto_request(struct proto *c, const void *p, size_t n, size_t total, u64 time);
void proto_reply(struct proto *c, const void *p, size_t n, size_t total, u64 time);
/* The same of one buffer of a list that a call wrote: what the server makes ready in one goes ends
 * with it. */
void proto_reply_piece(struct proto *c, const void *p, size_t n, size_t total, u64 time);

/* The server has worked for that time on what waits for an answer: each key has an equal part. */
void proto_spend(struct proto *c, u64 time);
/* Bytes between two calls are missing, in both directions, or in the replies only. */
void proto_lose(struct proto *c);
void proto_lose_replies(struct proto *c);
/* The connection ends: what waits for an answer got none. */
void proto_end(struct proto *c);

/* Is the place in the requests known, and not on trial? */
bool proto_is_sure(const struct proto *c);
/* Commands asked for since the last call, in *n; false when that is not known for sure. */
bool proto_asked(struct proto *c, u64 *n);

/* What the connection is known to speak; PROTOCOL_AUTO as long as it is not known. */
enum protocol proto_protocol(const struct proto *c);
/* Is one of the following three not 0? */
bool proto_has_losses(const struct proto *c);
/* Times since the last call that requests were lost, one each or more, because bytes of them were
 * missing or made no sense. proto_lose() does not count, nor does the start of a connection that
 * was open already. */
u64 proto_lost(struct proto *c);
/* Keys since the last call that looked like asked for, at a place that was not known, and were not
 * reported because no answer confirmed it: of real requests, or of values that look like some. */
u64 proto_unconfirmed(struct proto *c);
/* Keys since the last call that were reported without an answer because it was not seen. */
u64 proto_unseen(struct proto *c);

const char *proto_op_name(enum op op); /* "get", "set", ... */
/* Index of the operation called so, in any case; OPS when there is none. */
enum op proto_op_find(struct str name);
static inline bool proto_op_reads(enum op op)
{
	return op == OP_GET || op == OP_READ;
}
/* The one that memcached moves for it; COUNTER_NONE for what only Redis does. */
enum counter proto_op_counter(enum op op);

#endif
