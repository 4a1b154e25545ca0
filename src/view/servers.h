/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cache servers that run on this machine: processes of known programs that listen. */
#ifndef VIEW_SERVERS_H
#define VIEW_SERVERS_H

#include <netinet/in.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define SERVER_PORTS 8u

struct server {
	u32 pid;
	const char
		*name; /* "memcached"; of a process that was named by the user, what it is called */
	const char *path; /* its program, as it can be opened from here: /proc/PID/exe */
	u16 ports[SERVER_PORTS];
	u32 n_ports;
	struct in6_addr address; /* of the first port; IPv4 as ::ffff:a.b.c.d */
	const char *socket;      /* a unix socket it listens on, NULL none */
	bool hidden;             /* this user may not see what it listens on */
	u64 started;             /* procstat_started() */
};

typedef VEC(struct server) server_list;
typedef VEC(u64) server_inodes;

/* Processes that could not be looked into. */
struct servers_hidden {
	server_list named; /* of a server's name; whether they listen is not known */
	u32 others;        /* of other names, and whose program is not known */
};

/* All of them, by pid; what it could not see is in `hidden`, which may be NULL. Those of `before`
 * (NULL: none) that run still are taken as they were: the kernel takes milliseconds for a table of
 * sockets. */
void servers_find(struct arena *a, server_list *list, struct servers_hidden *hidden,
                  const server_list *before);
/* The process with that id, whatever it is. */
bool server_get(struct arena *a, u32 pid, struct server *s, struct err *e);
/* Inodes of all sockets that a process holds, sorted. False when we may not look, or it has ended.
 */
bool server_sockets(struct arena *a, u32 pid, server_inodes *list);
/* Is `b` what `a` has become when it was started again: the same program and port or socket? */
bool server_same(const struct server *a, const struct server *b);
/* "memcached 1234 (port 11211)". */
const char *server_describe(struct arena *a, const struct server *s);

#endif
