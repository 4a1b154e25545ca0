/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who is at the other end of a server's connection. */
#ifndef CACHE_CLIENT_H
#define CACHE_CLIENT_H

#include <string.h>

#include "base/buf.h"

/* Compared as bytes: no padding, and what does not belong to the family is 0. */
struct client {
	u8 address[16]; /* AF_INET: the first 4 */
	u32 port;       /* AF_UNIX: the process's id */
	u32 family;     /* AF_UNSPEC: not known */
};

/* "10.0.0.1", "::1", "unix:PID", "?". */
void client_host(struct buf *b, const struct client *c);
/* With the port: "10.0.0.1:5000", "[::1]:5000". */
void client_print(struct buf *b, const struct client *c);
/* Does it have a port? */
bool client_is_inet(const struct client *c);
/* The same host, whatever the port. */
static inline bool client_same_host(const struct client *a, const struct client *b)
{
	return a->family == b->family && memcmp(a->address, b->address, 16) == 0 &&
	       (a->port == b->port || client_is_inet(a));
}

#endif
