/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the probes on a cache server send, as commands: the part that mctop and mcsnoop share. It
 * follows the server when it is started again.
 *
 * A script's records are known by the names of their fields (see tools/lib/capture.bt):
 *   sent, asked, pieces, conn, at, start, time, total, chunk, more, family, port, from, bytes
 *                                                                     what one call moved
 *   the same, packet, acked, ends                                     what a packet brought
 *   command, item, time, family, port, from, key                      a command, by a static probe:
 *                                                                     `command` is the probe
 *   found, time, key                                                  the server looked for a key
 */
#ifndef VIEW_CACHE_FEED_H
#define VIEW_CACHE_FEED_H

#include "cache/missed.h"
#include "cache/wire.h"
#include "view/probe_files.h"
#include "view/received.h"
#include "view/servers.h"
#include "run/view.h"

#define FEED_FIELDS 23u

/* Where the fields of one kind of record are. */
struct feed_record {
	const struct urecord *record;
	u32 at[FEED_FIELDS]; /* in its bytes; 0: it has none of that name */
	bool inet;           /* `from` is an address */
};

typedef void cache_command_cb(void *ctx, const struct command *c, const struct client *from);

struct cache_feed {
	struct view *view; /* whose descriptor is the feed's, by cache_feed_callbacks(); or NULL */
	struct view_of of; /* the session, as of the last call that had it */
	struct wire *wire;
	cache_command_cb *command;
	proto_expect expect;
	void *ctx;
	struct arena arena;
	struct server server;
	struct probe_files probed; /* the files that probes are in, when it is not system calls */
	u64 taken;                 /* bytes sent so far, as the probes know them to be taken */
	u64 group;                 /* the control group whose packets are looked at, 0 none */
	const char *group_dir;
	bool whole;          /* the probes know that all bytes of answers are wanted */
	int fd;              /* readable when the server has ended; -1: it has, and is looked for */
	u64 lost;            /* events lost, by the last count */
	u64 unknown;         /* commands that may have keys, or not */
	u64 ended;           /* CLOCK_MONOTONIC nanoseconds at which it had */
	u64 look;            /* ... at which to look for it again */
	u64 judge;           /* ... and at which to judge what it speaks */
	bool tls;            /* it is to speak TLS */
	bool warned;         /* that nobody did so was said */
	u64 heard;           /* records with bytes so far, and with connections that speak TLS */
	u64 wrote, answered; /* of these, what the server wrote; commands with an answer */
	u32 unheard;         /* packets: times that more had come in, and nothing was heard of it */
	received_list
		before; /* tls: what had come in when it was opened; packets: at the last look */
	u64 look_open;  /* so many connections: to look which of them are open still */
	u32 starts;     /* times the server was found again */
	struct feed_record records[64]; /* those that were seen, by address */
};

/* `pid`: the server. Calls `command` for each key of each command. False when there is no such
 * process, or when it can be no cache server. */
bool cache_feed_open(struct cache_feed *f, const struct view_of *v, u32 pid,
                     cache_command_cb *command, void *ctx, struct err *e);
/* Keys are told to `expect`, with the same `ctx`, as they are asked for. Before the first
 * record. */
void cache_feed_expect(struct cache_feed *f, proto_expect expect);
/* CAPS() that it needs once probes are attached: a server that is started again may be in another
 * control group. */
u64 cache_feed_rights(const struct cache_feed *f);
void cache_feed_close(struct cache_feed *f);
/* True when the record was one of the probes'; never before it is open. */
bool cache_feed_record(struct cache_feed *f, const struct view_of *v, const struct urecord *r,
                       const u8 *bytes);
/* The server's descriptor is readable. */
void cache_feed_ended(struct cache_feed *f, const struct view_of *v);
/* To be called when it is time, and cheap otherwise. */
u64 cache_feed_when(const struct cache_feed *f);
void cache_feed_tick(struct cache_feed *f, const struct view_of *v, u64 now);
/* Makes a view look after the server, by the three callbacks that are for that and its descriptor.
 * Its ctx begins with the feed. */
void cache_feed_callbacks(struct cache_feed *f, struct view *view);
/* All was sent: what waits for an answer is reported without. */
void cache_feed_end(struct cache_feed *f, const struct view_of *v);
/* What was not seen so far; connections that can not see a loss by themselves are informed. */
struct missed cache_feed_missed(struct cache_feed *f, const struct view_of *v);

#endif
