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
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define ANSWER_MAX (1u << 20) /* bytes; counters are some thousands */
#define ANSWER_MS  5000

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

/* A socket in the server's root, to be closed when it is connected to. */
static int hold_socket(const struct server *s)
{
	char path[300];
	int n = snprintf(path, sizeof(path), "/proc/%u/root%s", s->pid, s->socket ? s->socket : "");

	errno = ENAMETOOLONG;
	return n < (int)sizeof(path) ? file_hold_socket(path) : -1;
}

/* Where it listens, by loopback where that is everywhere. Returns the address's size. */
static socklen_t address_of(const struct server *s, union address *a, int held)
{
	memset(a, 0, sizeof(*a));
	if (!s->n_ports) {
		a->un.sun_family = AF_UNIX;
		snprintf(a->un.sun_path, sizeof(a->un.sun_path), "/proc/self/fd/%d", held);
		return sizeof(a->un);
	}
	if (!IN6_IS_ADDR_V4MAPPED(&s->address)) {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons(s->ports[0]);
		a->in6.sin6_addr = s->address;
		if (IN6_IS_ADDR_UNSPECIFIED(&s->address))
			a->in6.sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
		return sizeof(a->in6);
	}
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons(s->ports[0]);
	memcpy(&a->in.sin_addr, &s->address.s6_addr[12], 4);
	if (a->in.sin_addr.s_addr == INADDR_ANY)
		a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(a->in);
}

/* The names of sockets are anybody's, and one may hold a line of the table in which they are looked
 * up: who listens is the server's user, or root. */
static bool is_of_server(int fd, const struct server *s)
{
	struct ucred listener;
	socklen_t size = sizeof(listener);
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", s->pid);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &size) == 0 &&
	       stat(path, &st) == 0 && (listener.uid == 0 || listener.uid == st.st_uid);
}

static int connect_by(const struct server *s, int held)
{
	union address address;
	socklen_t size = address_of(s, &address, held);
	struct timeval limit = { .tv_sec = ANSWER_MS / 1000 };
	int fd = socket_of(s, address.any.sa_family), code;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, &address.any, size)) {
		if (held < 0 || is_of_server(fd, s))
			return fd;
		errno = EPERM;
	}
	code = errno;
	close(fd);
	errno = code;
	return -1;
}

static int connect_to(const struct server *s)
{
	int held, fd, code;

	if (s->n_ports)
		return connect_by(s, -1);
	held = hold_socket(s);
	if (held < 0)
		return -1;
	fd = connect_by(s, held);
	code = errno;
	close(held);
	errno = code;
	return fd;
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
	u64 until = clock_ms() + ANSWER_MS;
	char bytes[4096];
	bool whole = false;
	ssize_t n;

	if (fd < 0)
		return err_sys(e, errno, "can not ask %s %u for its counters", s->name, s->pid);
	if (send(fd, question, strlen(question), MSG_NOSIGNAL) == (ssize_t)strlen(question))
		while (!whole && b->n < ANSWER_MAX && clock_ms() < until &&
		       (n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
			buf_add(b, bytes, (size_t)n);
			whole = is_whole(b, resp);
		}
	close(fd);
	if (whole)
		return true;
	return err_set(e, "%s %u does not tell its counters", s->name, s->pid);
}
