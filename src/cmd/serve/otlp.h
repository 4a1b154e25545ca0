/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pages and profiles sent to OpenTelemetry endpoints: OTLP over HTTP, protobuf. A process of its
 * own sends them, so that an endpoint that does not answer holds up nobody; it waits longer after
 * each failure, and keeps what was not sent, up to a limit: then the oldest is dropped.
 */
#ifndef CMD_SERVE_OTLP_H
#define CMD_SERVE_OTLP_H

#include <sys/types.h>

#include "base/buf.h"

/* What is sent; each has an endpoint, and a queue, of its own. */
enum otlp_kind { OTLP_METRICS, OTLP_PROFILES, OTLP_KINDS };

/* What the process says of itself, each time that something changes: an array by kind. */
struct otlp_told {
	u64 sent, dropped, queued;
};

/* Over the socket, each message is a word and so many bytes: their number, and the kind. */
#define OTLP_KIND_SHIFT 31

struct otlp {
	char *to;               /* otlp_to_text(); NULL: nothing is sent */
	bool sends[OTLP_KINDS]; /* is there an endpoint? */
	u32 every;              /* seconds */
	/* What follows is its own. */
	pid_t pid;
	int fd;
	u64 next, asked;                      /* ms of CLOCK_MONOTONIC */
	struct buf page;                      /* messages that are handed over */
	size_t at;                            /* so much of them is */
	u32 held[OTLP_KINDS];                 /* how many they are */
	struct otlp_told told[OTLP_KINDS];    /* of this process */
	struct otlp_told earlier[OTLP_KINDS]; /* of those before */
};

struct serve;
struct otlp_to;

/* Where, from now on. When that is another place, what waits for the old one is dropped. */
void otlp_set(struct otlp *o, const struct otlp_to *to, u32 every);
/* What is to be done when it is time. Returns the milliseconds until it is again, -1 never. */
int otlp_work(struct otlp *o, struct serve *s);
/* To be called when a child may have ended. */
void otlp_reap(struct otlp *o);
void otlp_stop(struct otlp *o);
/* So far, all processes together. */
struct otlp_told otlp_told(struct otlp *o, enum otlp_kind kind);

/* The process: sends what comes over a socket, until that ends. First comes where to. */
int otlp_send(int fd);

#endif
