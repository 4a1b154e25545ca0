/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the parsers of the single protocols share: the two directions of a connection and the
 * commands that wait for an answer. Private to proto/.
 *
 * A parser is a pair of functions that look at the start of the bytes at hand, do one thing (a
 * line, a header, an element) and return how many bytes that took; 0 asks for more. What has to be
 * passed over unseen goes to `skip`.
 */
#ifndef PROTO_CONN_H
#define PROTO_CONN_H

#include "base/buf.h"
#include "proto/proto.h"

enum verb_shape {
	/* memcached: what follows the verb */
	SHAPE_KEYS,       /* key key ... */
	SHAPE_TIME_KEYS,  /* exptime key key ... */
	SHAPE_STORE,      /* key flags exptime bytes [cas] [noreply], then the value */
	SHAPE_KEY,        /* key ... [noreply] */
	SHAPE_META,       /* key flags ... */
	SHAPE_META_STORE, /* key bytes flags ..., then the value */
	SHAPE_LINE,       /* anything; answered by one line */
	SHAPE_BLOCK,      /* anything; answered by lines up to END */
	SHAPE_NOOP,       /* mn */
	SHAPE_SILENT,     /* anything; no answer */
	SHAPE_STREAM,     /* anything; from here on the server talks unasked */
	SHAPE_PACKET,     /* binary protocol */
	SHAPE_ARGS,       /* RESP: keys at first, first + step, ... up to last */
	SHAPE_SUBSCRIBE, /* RESP3: answered by a push; RESP2: from here on the server talks unasked */
	SHAPE_UNSUBSCRIBE, /* RESP3: answered by a push */
};

struct verb {
	const char *name;
	enum op op;
	enum verb_shape shape;
	/* SHAPE_ARGS: places of the keys, as COMMAND INFO says; first 0: no key. `value` is how far
	 * behind its key the value stands, 0 none. */
	s8 first, last, step, value;
	bool zero_misses; /* SHAPE_ARGS, reads: the number 0 says that there is no such key */
};

/* A key that waits for its answer. */
struct pending {
	const struct verb *verb;
	enum op op;
	u32 key;      /* offset in proto->keys */
	u32 key_size; /* real length; at most PROTO_KEY_MAX bytes are kept */
	u32 opaque;   /* binary: the packet's; meta: hash of the O flag, 0 none */
	u64 size;
	u64 started;
	u8 opcode;        /* binary */
	bool sized;       /* the request said the value's size */
	bool first, last; /* of its command */
	bool quiet;       /* some answers to it are left out */
	bool unsure;      /* what the answer means can not be told */
};

struct feed {
	struct buf held; /* a started line or header whose end has not come */
	u64 skip;        /* bytes to pass over before the next one is looked at */
};

/* RESP: the request whose arguments are coming in. */
struct resp_request {
	const struct verb *verb; /* NULL before its first argument */
	u64 n, next;             /* arguments in all, and the number of the one that comes next */
	u32 keys;                /* queued so far */
	bool unsure;
};

#define RESP_DEPTH 16u

/* RESP: the reply that is coming in. */
struct resp_reply {
	u32 depth;            /* open arrays */
	u64 left[RESP_DEPTH]; /* elements to come in each of them */
	bool unasked;         /* a push or attributes: it answers nothing */
	bool kind;            /* what comes next says which kind of push it is */
	bool by_key;          /* the outermost array answers key by key */
	bool by_key_done;     /* ... and has answered the last one */
};

struct proto {
	enum protocol protocol, told; /* told: what the caller said */
	proto_emit emit;
	void *ctx;
	struct feed in, out;
	struct buf keys; /* bytes of the keys of `queue` */
	struct pending *queue;
	u32 head, n, cap; /* ring of pending keys; cap is 0 or a power of two */
	u64 time;         /* of the bytes being looked at */
	u64 lost, unseen;
	bool synced;    /* the place in the requests is known, and unless `deaf` in the replies */
	bool deaf;      /* replies are not looked at before the next request is read */
	bool stream;    /* the server talks unasked: replies are not looked at */
	bool await_end; /* text: each key of the oldest command is answered, its END is to come */
	u32 storing;    /* youngest keys of the queue whose value is still coming in */
	struct resp_request args;
	struct resp_reply reply;
};

#define PENDING_MAX 65536u
#define HELD_MAX    (128u << 10)

/* Queues a key that starts now; when too many wait, their answers are given up. False, and the stream
 * is lost, when all of them are of one request that is still coming in. */
bool conn_push(struct proto *c, const struct pending *p, struct str key);
/* The oldest key that waits, NULL when none does; valid until the next push. */
struct pending *conn_head(const struct proto *c);
/* The i-th oldest, i < c->n. */
struct pending *conn_at(const struct proto *c, u32 i);
struct str conn_key(const struct proto *c, const struct pending *p);
/* Takes the oldest off the queue and tells it with this outcome. `size` replaces the one of the
 * request when `sized`. */
void conn_answer(struct proto *c, enum outcome outcome, bool sized, u64 size);
/* The oldest, a quiet one, got the answer that is left out: tells it so. */
void conn_settle(struct proto *c);
/* conn_settle for all quiet ones in front. */
void conn_settle_quiet(struct proto *c);
/* conn_answer for the rest of the oldest command. */
void conn_answer_all(struct proto *c, enum outcome outcome);
/* The youngest of the queue was asked without wanting an answer: tells and forgets it. */
void conn_unasked(struct proto *c);
/* From here on the server talks unasked. */
void conn_stream(struct proto *c);
/* The place in the replies is lost: what waits is told without an answer. */
void conn_deafen(struct proto *c);
/* The place in the requests is lost, and with it that in the replies. */
void conn_lose(struct proto *c);

/* The line at the start of p, without its end, and its length with it; 0 when it has no end. */
size_t conn_line(const char *p, size_t n, struct str *line);
/* Cuts the next word off the line; empty at its end. */
struct str conn_word(struct str *line);
/* A decimal number of all of s. */
bool conn_number(struct str s, u64 *v);

/* The parsers. Each returns the bytes it took of p[0..n), 0 for more; n is at least 1. */
struct parser {
	size_t (*request)(struct proto *c, const char *p, size_t n);
	size_t (*reply)(struct proto *c, const char *p, size_t n);
	/* Can a request begin with these bytes? Looks at no more than the first word. `sure`: the
	 * connection speaks this protocol. */
	bool (*starts)(const char *p, size_t n, bool sure);
	/* What a quiet command was told when no answer came. */
	enum outcome (*untold)(const struct pending *p);
};

extern const struct parser proto_text, proto_binary, proto_resp;

#endif
