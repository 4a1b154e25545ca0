/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a service manager and its service tell each other, as systemd does it: sd_notify(3) and
 * sd_listen_fds(3) describe the protocols. Without such a manager nothing is done.
 */
#ifndef CMD_SERVE_SERVICE_H
#define CMD_SERVE_SERVICE_H

#include "base/err.h"

struct service {
	int listening;   /* a socket that the manager listens on for us, -1 none */
	u32 watchdog_ms; /* it wants to hear of us so often; 0: it does not */
	u64 next;        /* ms of CLOCK_MONOTONIC: when to tell it */
	char path[108];  /* where it is told, "" nowhere; '@' in front: not in the file system */
};

/* Reads the environment, and takes it out of it: it is not meant for collectors. False and *e: what
 * was handed over is no TCP socket that listens. */
bool service_open(struct service *s, struct err *e);
/* "READY=1", "STOPPING=1" ... What can not be sent is not. */
void service_tell(const struct service *s, const char *state);
/* The configuration is being read again; READY=1 ends that. */
void service_tell_reloading(const struct service *s);
/* Says that we live, when it is time. Returns the milliseconds until it is time again, -1 never. */
int service_live(struct service *s);

#endif
