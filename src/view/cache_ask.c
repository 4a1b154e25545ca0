// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * One question to a cache server, over a connection of its own, wherever it listens: in a
 * container, at an IPv6 address, at a unix socket.
 */
#include "view/cache_ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int open_network(const char *of)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/ns/net", of);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* In the server's network, which may be a container's: a socket stays where it was made. */
static int socket_of(const struct server *s, int family)
{
	char pid[16];
	int own = open_network("thread-self"), its, fd;

	snprintf(pid, sizeof(pid), "%u", s->pid);
	its = open_network(pid);
	if (own >= 0 && its >= 0)
		setns(its, CLONE_NEWNET);
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (own >= 0 && its >= 0)
		setns(own, CLONE_NEWNET);
	if (own >= 0)
		close(own);
	if (its >= 0)
		close(its);
	return fd;
}

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

/* Where the server's files are seen from here. */
static void socket_path(const struct server *s, struct sockaddr_un *un)
{
	const char *name = s->socket ? s->socket : "";
	int n = snprintf(un->sun_path, sizeof(un->sun_path), "/proc/%u/root%s", s->pid, name);

	un->sun_family = AF_UNIX;
	if (n < 0 || (size_t)n >= sizeof(un->sun_path))
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", name);
}

/* Where it listens, by loopback where that is everywhere. Returns the address's size. */
static socklen_t address_of(const struct server *s, union address *a)
{
	memset(a, 0, sizeof(*a));
	if (!s->n_ports) {
		socket_path(s, &a->un);
		return sizeof(a->un);
	}
	if (!IN6_IS_ADDR_V4MAPPED(&s->address)) {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons(s->ports[0]);
		a->in6.sin6_addr = s->address;
		if (IN6_IS_ADDR_UNSPECIFIED(&s->address))
			a->in6.sin6_addr = in6addr_loopback;
		return sizeof(a->in6);
	}
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons(s->ports[0]);
	memcpy(&a->in.sin_addr, &s->address.s6_addr[12], 4);
	if (a->in.sin_addr.s_addr == INADDR_ANY)
		a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(a->in);
}

static int connect_to(const struct server *s)
{
	union address address;
	socklen_t size = address_of(s, &address);
	struct timeval limit = { .tv_sec = 5 };
	int fd = socket_of(s, address.any.sa_family);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!connect(fd, &address.any, size))
		return fd;
	close(fd);
	return -1;
}

/* memcached ends with END, or refuses in one line; INFO is a bulk string, whose length comes
 * first. */
static bool is_whole(const struct buf *b, bool resp)
{
	const char *line = resp ? strstr(b->p, "\r\n") : NULL;

	if (!resp && strncmp(b->p, "STAT ", 5) != 0)
		return strchr(b->p, '\n') != NULL;
	if (!resp)
		return b->n >= 5 && strcmp(b->p + b->n - 5, "END\r\n") == 0;
	return b->p[0] == '-' ||
	       (line && b->n >= (size_t)(line - b->p) + 4 + strtoul(b->p + 1, NULL, 10));
}

bool cache_ask(const struct server *s, const char *question, bool resp, struct buf *b,
               struct err *e)
{
	int fd = connect_to(s);
	char bytes[4096];
	ssize_t n = -1;

	if (fd < 0)
		return err_sys(e, errno, "can not ask %s %u for its counters", s->name, s->pid);
	if (send(fd, question, strlen(question), MSG_NOSIGNAL) == (ssize_t)strlen(question))
		while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
			buf_add(b, bytes, (size_t)n);
			if (is_whole(b, resp))
				break;
		}
	close(fd);
	if (n > 0)
		return true;
	return err_set(e, "%s %u does not tell its counters", s->name, s->pid);
}
