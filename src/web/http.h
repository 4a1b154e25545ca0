/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What listens for HTTP and answers GET and HEAD: a thin layer over libmicrohttpd, loaded when it
 * is asked for. Requests are read without threads, from http_run(), whenever http_fd() is readable
 * or http_wait() has passed. At most 64 connections, others wait; of an address 24, others are
 * closed. One that is silent for ten
 * seconds is closed, and one whose request and answer take more than fifteen; a request's line and
 * headers have 32 KiB, a body none.
 */
#ifndef WEB_HTTP_H
#define WEB_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "web/guard.h"

struct http_ask {
	const char *path;   /* "/metrics", without what follows '?' */
	const char *accept; /* "" when it is not said */
	const void *call;   /* for http_argument() */
};

struct http_reply {
	u32 status; /* 200 unless set */
	const char *type;
	const char *policy; /* a Content-Security-Policy, NULL: nothing may be loaded */
	bool gzip;          /* body is so packed */
	bool goes_on;       /* body is the beginning of what http_tell() adds to (web/stream.h) */
	struct buf body;
};

typedef void http_fn(void *ctx, const struct http_ask *ask, struct http_reply *r);

struct http;

/*
 * Listens on "ADDRESS:PORT" or "PORT", which is 127.0.0.1's; the address is a number, an IPv6 one
 * in brackets; port 0 takes a free one. With `fd`, unless -1, that is a TCP socket which listens
 * already, does not block, and becomes its own. `guard` is borrowed, NULL: everybody may ask. NULL
 * and *e.
 */
struct http *http_open(const char *listen, int fd, struct guard *guard, http_fn *fn, void *ctx,
                       struct err *e);
void http_close(struct http *h);
/* Who may ask from now on; neither the old nor the new one has TLS. */
void http_guard(struct http *h, struct guard *guard);
/* A copy of what it listens on, for another one in its place. -1 with errno set. */
int http_copy(const struct http *h);
/*
 * The answer comes later: what is put into `r` now is not sent. Returns its number, with which
 * http_answer() sends it, the body of *r then being taken over; NULL ends the connection without
 * one. http_waits(): is its client still there? An answer that is never given keeps a connection.
 */
u64 http_later(const struct http_ask *ask);
bool http_waits(const struct http *h, u64 number);
void http_answer(struct http *h, u64 number, const struct http_reply *r);
/* What follows '?' as "name=...", "" when it does not. For as long as the question is answered. */
const char *http_argument(const struct http_ask *ask, const char *name);
/* Does the other side take what is packed by gzip? */
bool http_takes_gzip(const struct http_ask *ask);
/* To all whose answers go on; http_listeners() says how many there are. */
void http_tell(struct http *h, struct str text);
u32 http_listeners(const struct http *h);
/* Connections that were closed because their address had enough of them. */
u64 http_refused(const struct http *h);
/* "127.0.0.1:9464", as it turned out. */
const char *http_address(const struct http *h);
int http_fd(const struct http *h);
/* Milliseconds until http_run() has something to do by itself, -1 never. */
int http_wait(const struct http *h);
void http_run(struct http *h);

#endif
