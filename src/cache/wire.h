/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connections of a cache server: pieces of bytes as its system calls moved them, and out of
 * them the commands its clients gave.
 *
 *     captured piece --> connection (its place in the stream) --> proto --> command, client
 *
 * Pure: no system call, no clock. Bounded: WIRE_CONNECTIONS at most; the one that was silent for
 * longest goes.
 */
#ifndef CACHE_WIRE_H
#define CACHE_WIRE_H

#include "cache/asked.h"
#include "cache/client.h"
#include "proto/proto.h"

#define WIRE_CONNECTIONS 65536u

/* What one system call moved. Borrowed for the time of the call. */
struct wire_event {
	u64 conn;    /* which connection: never that of another that is open */
	bool asked;  /* read by the server; else written */
	bool pieces; /* `bytes` is a list of pieces, see wire.c */
	/* Pieces only: their list came in several events, of which this is number `chunk`; all have
	 * the `at` and `total` of the whole. */
	u32 chunk;
	bool more;   /* another one follows */
	bool placed; /* `at` is known */
	u32 at;      /* place in the stream after the last byte, modulo 2^32 */
	u32 start;   /* placed, read by the server: where its stream began; `at`: long ago */
	/* It is a packet's: pieces may come out of order, or twice. */
	bool packet;
	u32 acked; /* ... of an answer: place in the requests' stream, before which all is there */
	bool ends; /* ... and the last of its connection */
	u64 time;  /* nanoseconds */
	/* The thread that made the call: what it is not on the processor for adds up in `off`, from
	 * any number on, and of each processor by a clock of its own. tid 0: not known. */
	u32 tid, cpu;
	u64 off;
	u64 total; /* bytes moved; read by the server, 0 is the end of the connection */
	const u8 *bytes;
	u32 n; /* captured */
	struct client from;
};

struct wire_options {
	enum protocol protocol;
	void (*command)(void *ctx, const struct command *c, const struct client *from);
	/* proto_expect(); may be NULL. */
	proto_expect expect;
	/* Most of what is captured on that connection is values: the heads of its pieces will do.
	 * Or not, when it is called with `false`. May be NULL. */
	void (*heads_only)(void *ctx, u64 conn, bool yes);
	void *ctx;
};

struct wire_stats {
	u64 events, bytes; /* taken in: system calls, and bytes captured of them */
	u64 open;          /* of these, known now */
	u64 gaps;          /* places where bytes of a connection are missing */
	u64 gap_bytes;     /* ... of requests: so many, of connections that went on */
	/* at least so many requests were not reported, for want of bytes, but for those in gaps */
	u64 lost;
	u64 unseen;      /* keys that were reported without an answer, for want of bytes */
	u64 unconfirmed; /* keys that were not reported: proto_unconfirmed */
	/* bytes that a replica's master sent; what commands they are is not looked at */
	u64 from_master;
};

struct wire;

struct wire *wire_new(const struct wire_options *o);
/* Calls nobody back. */
void wire_free(struct wire *w);
void wire_event(struct wire *w, const struct wire_event *e);
/* Events are missing, of whatever connection: those that can not tell by themselves start anew. */
void wire_lose(struct wire *w);
/* Forgets connections without an event in the last `ns` that are not open any more: not all ends
 * are seen. */
void wire_forget(struct wire *w, u64 ns, bool (*is_open)(void *ctx, u64 conn), void *ctx);
/* The server is another process now: forgets all connections. */
void wire_clear(struct wire *w);
void wire_stats(const struct wire *w, struct wire_stats *s);
/* How much came with the events that were seen. */
const struct asked *wire_asked(const struct wire *w);
/* What the connections speak: that of the last one that showed it. */
enum protocol wire_protocol(const struct wire *w);

#endif
