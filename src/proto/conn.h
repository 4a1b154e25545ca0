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
	SHAPE_ARGS,       /* RESP: see resp.h */
};

struct verb {
	const char *name;
	enum op op;
	enum verb_shape shape;
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
	u64 expected;
	u64 spent;        /* proto->spent at that time */
	u64 initial;      /* value of a counter that is made; RESP: bits of a double */
	u8 counter;       /* enum counter */
	u8 counted;       /* enum counted; 0: as the outcome says */
	u8 opcode;        /* binary */
	u8 flags;         /* meta: bits of its own */
	bool named;       /* RESP: the answer names this key */
	bool simple;      /* RESP: alone in its command; its answer is by resp_quick.c */
	bool unknown;     /* RESP: no command that is known */
	bool sized;       /* the request said the value's size */
	bool first, last; /* of its command */
	bool quiet;       /* some answers to it are left out */
	bool unsure;      /* what the answer means is not known */
	bool wrong;       /* it will be refused */
	bool creates;     /* a key that is not there is made */
};

struct feed {
	struct buf held; /* a started line or header whose end has not come */
	u64 skip;        /* bytes to pass over before the next one is looked at */
};

#define RESP_SPECS 3u

/* RESP: the request whose arguments are coming in. */
struct resp_request {
	const struct resp_row *row; /* NULL before its first argument */
	u64 n, next; /* arguments in all, and the number of the one that comes next */
	u32 keys;    /* queued so far */
	struct {
		u64 first, last; /* 0: not known yet, or none */
	} spans[RESP_SPECS];     /* arguments that are keys, by each of its specifications */
	double step;             /* what a counter is changed by */
	bool unsure;             /* an option makes the answer ambiguous */
	bool patterns;           /* keys are looked for that do not stand here */
	u8 replies;              /* what CLIENT REPLY is to be: enum resp_replies */
};

#define RESP_SHAPES 4u

/* RESP: how a command begins, up to the length of its first key; see resp_quick.c. */
struct resp_shape {
	u8 n;               /* bytes of `head`; 0: none yet */
	char head[19];      /* "*2\r\n$9\r\n", nine letters, "\r\n" */
	bool quick;         /* it is one of those that are taken in one step */
	bool value;         /* ... with a value after the key */
	struct pending key; /* as it will be queued */
};

/* RESP: a line that says how long a string is. As mostly the next one says the same, it is compared
 * before it is read. */
struct resp_length {
	u64 bytes, mask; /* its first, and those of them that are its own; mask 0: none yet */
	size_t n;        /* bytes of it */
	u64 size;        /* of the string */
};

#define RESP_DEPTH 16u

/* RESP: what was seen of the answer that is coming in. */
struct resp_seen {
	char type;
	bool null, many, sized, number;
	s64 n;          /* of a number */
	u64 size;       /* of a string, elements of an array */
	bool absent;    /* an error that says that there is no such key */
	bool none;      /* a word that says so */
	bool unchanged; /* the number by which the counter was to be changed */
	bool more;      /* of a scan: it goes on, or has found something */
	u64 filled;     /* elements that are there, and not 0 */
	u64 present;    /* ... and not -2 */
};

/* RESP: the reply that is coming in. */
struct resp_reply {
	u32 depth; /* open arrays */
	struct {
		u64 n, left; /* elements in all, and those to come */
		bool map;
	} levels[RESP_DEPTH];
	u32 base;       /* arrays around the answer: 1 in that of EXEC */
	u32 aside;      /* attributes, which are no part of it, were opened at this depth; 0 none */
	bool unasked;   /* a push or attributes: it answers nothing */
	bool kind;      /* what comes next says which kind of push it is */
	bool each;      /* the elements answer key by key */
	bool each_done; /* ... and have answered the last one */
	struct resp_seen seen;
};

/* What was read at a place that was not known to be the start of a request; see trial.c. */
struct trial {
	struct buf commands; /* to be reported: of each its struct command, then its key */
	u64 calls, unseen;   /* keys in it, and those whose answer was not seen */
	u32 answers;         /* that fitted */
	u32 reads;           /* in a row that ended with the end of a request */
	u32 rounds;          /* reads, and an answer to them that was not seen */
	bool unheard;        /* such an answer came */
	bool proven;         /* an answer named what it is for */
	bool refuted;
};

struct proto {
	enum protocol protocol; /* PROTOCOL_AUTO or PROTOCOL_MEMCACHED: what comes decides */
	enum protocol known;    /* ... as the caller said, or as it was found for sure */
	proto_emit emit;
	proto_expect expect;
	void *ctx;
	struct feed in, out;
	struct buf keys; /* bytes of the keys of `queue` */
	struct pending *queue;
	u32 head, n, cap; /* ring of pending keys; cap is 0 or a power of two */
	u64 time;         /* of the bytes being looked at */
	u64 asked_at;     /* of the last requests */
	u64 spent;        /* by proto_spend() on a key that waits all the time */
	u64 lost, unseen, unconfirmed;
	u64 asked; /* commands */
	struct trial trial;
	bool synced;    /* the place in the requests is known, and unless `deaf` in the replies */
	bool sure;      /* ... and not on trial */
	bool refused;   /* the server takes no more: what is asked is passed over */
	bool deaf;      /* replies are not looked at before the next request is read */
	bool stream;    /* the server talks unasked: replies are not looked at */
	bool await_end; /* text: each key of the oldest command is answered, its END is to come */
	bool piece;     /* the bytes at hand are a buffer of a list */
	bool await_number; /* text: the next line is the value that the oldest command left */
	u32 storing;       /* youngest keys of the queue whose value is still coming in */
	u32 queued;        /* RESP: oldest keys of the queue that wait for EXEC */
	u8 replies;        /* RESP: enum resp_replies */
	struct resp_request args;
	const struct resp_row *recent; /* RESP: of the last request; mostly the next is the same */
	struct resp_reply reply;
	struct resp_shape shapes[RESP_SHAPES]; /* by a letter of their name */
	struct {
		struct resp_length key, value, answer;
	} lengths; /* as they were last */
};

#define PENDING_MAX 65536u
#define HELD_MAX    (128u << 10)

/* Queues a key that starts now; when too many wait, their answers are given up. False, and the
 * stream is lost, when all of them are of one request that is still coming in. */
bool conn_push(struct proto *c, const struct pending *p, struct str key);
/* The i-th oldest key that waits, i < c->n; valid until the next push. */
static inline struct pending *conn_at(const struct proto *c, u32 i)
{
	return &c->queue[(c->head + i) & (c->cap - 1)];
}
/* The oldest, NULL when none waits. */
static inline struct pending *conn_head(const struct proto *c)
{
	return c->n ? conn_at(c, 0) : NULL;
}
struct str conn_key(const struct proto *c, const struct pending *p);
/* Takes the oldest off the queue and reports it with this outcome. `size` replaces the one of the
 * request when `sized`. */
void conn_answer(struct proto *c, enum outcome outcome, bool sized, u64 size);
/* The same of the i-th oldest, with nothing reported of those before it. */
void conn_answer_at(struct proto *c, u32 i, enum outcome outcome, bool sized, u64 size);
/* The oldest, a quiet one, got the answer that is left out: reports it so. */
void conn_settle(struct proto *c);
/* conn_settle for all quiet ones in front. */
void conn_settle_quiet(struct proto *c);
/* conn_answer for the rest of the oldest command. */
void conn_answer_all(struct proto *c, enum outcome outcome);
/* The youngest of the queue was asked without wanting an answer: reports and forgets it. */
void conn_unasked(struct proto *c);
/* From here on the server talks unasked. */
void conn_stream(struct proto *c);
/* An answer does not fit what was asked. The place in the replies is lost: what waits is reported
 * without an answer. On trial, the requests were none. */
void conn_deafen(struct proto *c);
/* No request is like that: the server will end the connection, after an answer to what is in the
 * queue, if any. */
void conn_refuse(struct proto *c);
/* Takes the n youngest off the queue, untold. */
void conn_drop(struct proto *c, u32 n);
/* The place is not known any more; nothing that waits is reported. */
void conn_forget(struct proto *c);

/* ---- trial.c ---- */

/* The next bytes are taken for the start of a request. */
void trial_begin(struct proto *c);
/* Instead of telling it. */
void trial_keep(struct proto *c, const struct command *command);
/* The oldest that waits is answered. */
void trial_answer(struct proto *c, enum outcome outcome);
/* The server reads again: before that is looked at. */
void trial_next_read(struct proto *c);
/* Requests, or answers, were looked at. */
void trial_was_asked(struct proto *c);
void trial_was_answered(struct proto *c);
/* It was no start, or that will not be known: back to where nothing is. */
void trial_end(struct proto *c);

/* The line at the start of p, without its end, and its length with it; 0 when it has no end. */
size_t conn_line(const char *p, size_t n, struct str *line);
/* Cuts the next word off the line; empty at its end. */
struct str conn_word(struct str *line);
/* parser.cut where nobody knows. */
bool conn_cut(struct proto *c);
/* How many digits p[0..n) begins with, 19 at most; *v is their number. */
static inline size_t conn_digits(const char *p, size_t n, u64 *v)
{
	size_t most = MIN(n, 19), i = 0;
	u64 value = 0;

	for (; i < most; i++) {
		u8 digit = (u8)((u8)p[i] - '0');

		if (digit > 9)
			break;
		value = value * 10 + digit;
	}
	*v = value;
	return i;
}
/* A decimal number of all of s; else *v is left alone. */
bool conn_number(struct str s, u64 *v);

/* The parsers. Each returns the bytes it took of p[0..n), 0 for more; n is at least 1. */
struct parser {
	size_t (*request)(struct proto *c, const char *p, size_t n);
	size_t (*reply)(struct proto *c, const char *p, size_t n);
	/* Is this the start of a request, and of no other protocol's? */
	bool (*starts)(const char *p, size_t n);
	/* The rest of this piece of the answers is missing. True: with it ends the oldest's answer,
	 * and that was reported. */
	bool (*cut)(struct proto *c);
	/* What a quiet command was reported as when no answer came. */
	enum outcome (*untold)(const struct pending *p);
};

extern const struct parser proto_text, proto_binary, proto_resp;

#endif
