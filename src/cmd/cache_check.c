/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a tool counted, compared with the server's own counters: `stats` of memcached, `INFO stats` of
 * Redis and Valkey. A table says which of our counts each of theirs should be.
 *
 * Commands under way at the start or the end are counted by one side only: a server that was asked
 * nothing at these moments must give the same numbers, when nothing was lost.
 */
#include "view/cache_check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "out/json.h"

/* Which outcomes make one of the server's counters. */
enum what { ALL, HITS, MISSES, STORED };

struct counter {
	const char *name;
	enum what what;
	const char *verbs; /* " get mg "; NULL: those that do `op` */
	enum op op;
};

/* Names of the binary protocol too: k asks for the key in the answer, q for none when there is nothing
 * to say. */
#define GETS    " get gets mg getq getk getkq "
#define TOUCHES " gat gats gatq gatk gatkq "
#define SETS    " set add replace append prepend cas ms setq addq replaceq appendq prependq "

static const struct counter memcached[] = {
	{ .name = "cmd_get", .what = ALL, .verbs = GETS TOUCHES },
	{ .name = "get_hits", .what = HITS, .verbs = GETS },
	{ .name = "get_misses", .what = MISSES, .verbs = GETS },
	{ .name = "cmd_set", .what = STORED, .verbs = SETS },
	{ .name = "cmd_touch", .what = ALL, .verbs = " touch " TOUCHES },
	{ .name = "touch_hits", .what = HITS, .verbs = " touch " TOUCHES },
	{ .name = "delete_hits", .what = HITS, .verbs = " delete deleteq md " },
	{ .name = "delete_misses", .what = MISSES, .verbs = " delete deleteq md " },
	{ .name = "incr_hits", .what = HITS, .op = OP_INCR },
	{ .name = "incr_misses", .what = MISSES, .op = OP_INCR },
	{ .name = "decr_hits", .what = HITS, .op = OP_DECR },
	{ .name = "decr_misses", .what = MISSES, .op = OP_DECR },
};

/* Redis counts a lookup of each key that a command reads. */
static const struct counter redis[] = {
	{ .name = "keyspace_hits",
	  .what = HITS,
	  .verbs = " GET MGET HGET EXISTS STRLEN GETRANGE TTL LRANGE " },
	{ .name = "keyspace_misses",
	  .what = MISSES,
	  .verbs = " GET MGET HGET EXISTS STRLEN GETRANGE TTL LRANGE " },
};

_Static_assert(ARRAY_SIZE(memcached) <= CACHE_CHECKS, "counters fit");

/* ---- asking ----------------------------------------------------------------------------------- */

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

/* memcached ends with END; INFO is a bulk string, whose length comes first. */
static bool is_whole(const struct buf *b, bool resp)
{
	const char *line = resp ? strstr(b->p, "\r\n") : NULL;

	if (!resp)
		return b->n >= 5 && strcmp(b->p + b->n - 5, "END\r\n") == 0;
	return b->p[0] == '-' ||
	       (line && b->n >= (size_t)(line - b->p) + 4 + strtoul(b->p + 1, NULL, 10));
}

static bool ask(const struct server *s, bool resp, struct buf *b, struct err *e)
{
	const char *question = resp ? "*2\r\n$4\r\nINFO\r\n$5\r\nstats\r\n" : "stats\r\n";
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

/* "STAT name N" or "name:N", at the start of a line. */
static u64 number_of(const struct buf *b, const char *name, bool resp)
{
	const char *at = b->p;
	size_t n = strlen(name);

	while (at && *at) {
		if (!resp && strncmp(at, "STAT ", 5) == 0)
			at += 5;
		if (strncmp(at, name, n) == 0 && (at[n] == ' ' || at[n] == ':'))
			return strtoull(at + n + 1, NULL, 10);
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return 0;
}

static const struct counter *counters(const struct cache_check *c, u32 *n)
{
	*n = c->redis ? ARRAY_SIZE(redis) : ARRAY_SIZE(memcached);
	return c->redis ? redis : memcached;
}

static bool read_counters(const struct cache_check *c, const struct server *s, u64 *values,
                          struct err *e)
{
	struct buf b = { 0 };
	const struct counter *of;
	u32 n;

	if (!ask(s, c->redis, &b, e)) {
		buf_free(&b);
		return false;
	}
	of = counters(c, &n);
	for (u32 i = 0; i < n; i++)
		values[i] = number_of(&b, of[i].name, c->redis);
	buf_free(&b);
	return true;
}

bool cache_check_begin(struct cache_check *c, const struct server *s, struct err *e)
{
	c->redis = strcmp(s->name, "memcached") != 0;
	c->pid = s->pid;
	return read_counters(c, s, c->before, e);
}

/* ---- comparing -------------------------------------------------------------------------------- */

static bool is_word(const char *words, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = words; (at = strcasestr(at, name)); at += n)
		if (at[-1] == ' ' && at[n] == ' ')
			return true;
	return false;
}

/* A meta command's mode says what it does, so its name is not enough. */
static bool is_counted(const struct counter *c, const struct hot_verb *v)
{
	return c->verbs ? is_word(c->verbs, v->name) : v->op == c->op;
}

static u64 ours(const struct hot_totals *t, const struct counter *c)
{
	u64 sum = 0;

	for (u32 i = 0; i < t->n_verbs; i++) {
		const u64 *n = t->verbs[i].n;

		if (!is_counted(c, &t->verbs[i]))
			continue;
		if (c->what == HITS)
			sum += n[OUTCOME_HIT];
		else if (c->what == MISSES)
			sum += n[OUTCOME_MISS];
		else if (c->what == STORED)
			sum += n[OUTCOME_HIT] + n[OUTCOME_MISS] + n[OUTCOME_UNKNOWN];
		else
			sum += n[OUTCOME_HIT] + n[OUTCOME_MISS] + n[OUTCOME_UNKNOWN] +
			       n[OUTCOME_ERROR];
	}
	return sum;
}

static void print_text(struct buf *b, const char *name, u64 server, u64 own)
{
	buf_printf(b, "check: %s: the server says %" PRIu64 ", seen were %" PRIu64 "%s\n", name,
	           server, own, server == own ? "" : ", a difference");
}

static void print_json(struct buf *b, const char *comma, const char *name, u64 server, u64 own)
{
	buf_printf(b, "%s\"%s\":{\"server\":", comma, name);
	json_unsigned(b, server);
	buf_puts(b, ",\"seen\":");
	json_unsigned(b, own);
	buf_putc(b, '}');
}

void cache_check_end(struct cache_check *c, const struct server *s, const struct report_of *r,
                     bool json, struct buf *b)
{
	u64 after[CACHE_CHECKS] = { 0 };
	const struct counter *of;
	struct err e = { 0 };
	u32 n, differ = 0;

	if (s->pid != c->pid || !read_counters(c, s, after, &e)) {
		if (!json)
			buf_printf(b, "check: %s\n",
			           e.text[0] ? e.text : "the server was started again");
		return;
	}
	of = counters(c, &n);
	if (json)
		buf_puts(b, "{\"check\":{");
	for (u32 i = 0; i < n; i++) {
		u64 server = after[i] - c->before[i], own = ours(hot_totals(r->hot), &of[i]);

		differ += server != own;
		if (json)
			print_json(b, i ? "," : "", of[i].name, server, own);
		else if (server || own)
			print_text(b, of[i].name, server, own);
	}
	if (json) {
		buf_printf(b, "},\"equal\":%s,", differ ? "false" : "true");
		report_missed_json(b, r);
		buf_puts(b, "}\n");
	} else {
		buf_printf(b, "check: %s, ", differ ? "not equal" : "equal");
		report_missed(b, r);
		buf_puts(b, "\n");
	}
}
