/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which processes are cache servers: by the name of their program and by what they listen on. A
 * process's descriptors are compared with its network namespace's tables of sockets, so servers in
 * containers are found too.
 */
#include "view/servers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/file.h"
#include "read/procstat.h"

#define TABLE_LIMIT (64u << 20) /* bytes of a socket table */

static const char *const programs[] = { "memcached", "redis-server", "valkey-server",
	                                "keydb-server" };

static bool read_link(const char *path, char *out, size_t room)
{
	ssize_t n = readlink(path, out, room - 1);

	if (n < 0)
		return false;
	out[n] = 0;
	return true;
}

/* False when we may not look. */
static bool read_inodes(struct arena *a, u32 pid, server_inodes *list)
{
	char path[300], target[64];
	struct dirent *d;
	u64 inode;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	bool denied = false;

	dir = opendir(path);
	if (!dir)
		return errno != EACCES;
	while ((d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%u/fd/%s", pid, d->d_name);
		if (!read_link(path, target, sizeof(target)))
			denied |= errno == EACCES;
		else if (sscanf(target, "socket:[%" SCNu64 "]", &inode) == 1)
			vec_add(a, list, inode);
	}
	closedir(dir);
	return !denied;
}

static int by_number(const void *x, const void *y)
{
	u64 a = *(const u64 *)x, b = *(const u64 *)y;

	return a < b ? -1 : a > b;
}

bool server_sockets(struct arena *a, u32 pid, server_inodes *list)
{
	if (!read_inodes(a, pid, list) || !list->n) /* a server listens */
		return false;
	qsort(list->v, list->n, sizeof(*list->v), by_number);
	return true;
}

static bool has_inode(const server_inodes *list, u64 inode)
{
	for (u32 i = 0; i < list->n; i++)
		if (list->v[i] == inode)
			return true;
	return false;
}

/* 8 digits or 32: words as this processor reads those of the address. */
static struct in6_addr address_of(const char *hex)
{
	u32 words[4] = { 0, 0, htonl(0xffff) };
	u32 first = strlen(hex) == 32 ? 0 : 3;
	struct in6_addr address;

	for (u32 i = first; i < 4; i++, hex += 8)
		sscanf(hex, "%8" SCNx32, &words[i]);
	memcpy(&address, words, sizeof(address));
	return address;
}

static void add_port(struct server *s, u32 port, const char *address)
{
	for (u32 i = 0; i < s->n_ports; i++)
		if (s->ports[i] == port)
			return;
	if (!s->n_ports)
		s->address = address_of(address);
	if (s->n_ports < SERVER_PORTS)
		s->ports[s->n_ports++] = (u16)port;
}

/* A line of /proc/net/tcp or tcp6; state 0A is LISTEN. */
static void tcp_line(struct arena *a, const char *line, const server_inodes *inodes,
                     struct server *s)
{
	unsigned port, state;
	char address[33];
	u64 inode;

	(void)a;
	if (sscanf(line,
	           " %*u: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u "
	           "%" SCNu64,
	           address, &port, &state, &inode) == 4 &&
	    state == 0x0a && has_inode(inodes, inode))
		add_port(s, port, address);
}

/* Of /proc/net/unix; the flag says that it accepts connections. */
static void unix_line(struct arena *a, const char *line, const server_inodes *inodes,
                      struct server *s)
{
	unsigned flags;
	char path[110];
	u64 inode;

	if (sscanf(line, "%*x: %*x %*x %x %*x %*x %" SCNu64 " %109s", &flags, &inode, path) == 3 &&
	    flags & 0x10000 && has_inode(inodes, inode) && !s->socket)
		s->socket = arena_strdup(a, path);
}

static void read_table(struct arena *a, const char *table, const server_inodes *inodes,
                       struct server *s,
                       void (*take)(struct arena *a, const char *line, const server_inodes *inodes,
                                    struct server *s))
{
	struct buf b = { 0 };
	struct err ignored = { 0 };
	char path[64];
	char *line, *rest;

	snprintf(path, sizeof(path), "/proc/%u/net/%s", s->pid, table);
	if (file_read(path, &b, TABLE_LIMIT, &ignored) && b.n)
		for (line = strtok_r(b.p, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			take(a, line, inodes, s);
	buf_free(&b);
}

static bool is_cache(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(programs); i++)
		if (strcmp(name, programs[i]) == 0)
			return true;
	return false;
}

/* Without the newline after it: any other one is the name's. */
static const char *line_of(struct arena *a, struct buf *b)
{
	if (b->p[b->n - 1] == '\n')
		b->p[--b->n] = 0;
	escape_from(b, 0, ESCAPE_ALL);
	return arena_strndup(a, b->p, b->n);
}

/* What the process calls itself, "?" when that can not be read. */
static const char *own_name(struct arena *a, u32 pid)
{
	struct buf b = { 0 };
	struct err ignored = { 0 };
	const char *name = "?";
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	if (file_read(path, &b, 4096, &ignored) && b.n)
		name = line_of(a, &b);
	buf_free(&b);
	return name;
}

/* By its own word or by its file, which may be deleted; Debian's redis-server is a link to a file
 * of another name. */
static const char *program_name(struct arena *a, u32 pid, bool *denied)
{
	const char *own = own_name(a, pid), *file;
	char path[64], target[4096];
	char *end, *slash;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	*denied = false;
	if (is_cache(own))
		return own;
	if (!read_link(path, target, sizeof(target))) {
		*denied = errno == EACCES;
		return own;
	}
	end = strstr(target, " (deleted)");
	if (end)
		*end = 0;
	slash = strrchr(target, '/');
	file = slash ? slash + 1 : target;
	return is_cache(file) ? arena_strdup(a, file) : own;
}

/* False when we may not see what it listens on. */
static bool fill(struct arena *a, struct server *s)
{
	server_inodes inodes = { 0 };
	bool seen = read_inodes(a, s->pid, &inodes);

	s->path = arena_printf(a, "/proc/%u/exe", s->pid);
	read_table(a, "tcp", &inodes, s, tcp_line);
	read_table(a, "tcp6", &inodes, s, tcp_line);
	read_table(a, "unix", &inodes, s, unix_line);
	return seen;
}

bool server_get(struct arena *a, u32 pid, struct server *s, struct err *e)
{
	char path[64];
	bool denied;

	*s = (struct server){ .pid = pid };
	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (access(path, F_OK) < 0)
		return err_set(e, "there is no process %u", pid);
	s->name = program_name(a, pid, &denied);
	s->hidden = !fill(a, s);
	return true;
}

static int by_pid(const void *a, const void *b)
{
	u32 x = ((const struct server *)a)->pid, y = ((const struct server *)b)->pid;

	return (x > y) - (x < y);
}

/* Threads of the kernel have none. */
static bool has_command(u32 pid)
{
	struct buf b = { 0 };
	struct err ignored;
	char path[64];
	bool has;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	has = !file_read(path, &b, 1 << 20, &ignored) || b.n;
	buf_free(&b);
	return has;
}

/* NULL: it was not among them, or another process has its number now. */
static const struct server *as_before(const server_list *before, const struct server *s)
{
	for (u32 i = 0; before && i < before->n; i++)
		if (before->v[i].pid == s->pid && before->v[i].started == s->started &&
		    strcmp(before->v[i].name, s->name) == 0)
			return &before->v[i];
	return NULL;
}

static void look_at(struct arena *a, u32 pid, server_list *list, struct servers_hidden *hidden,
                    const server_list *before)
{
	struct server s = { .pid = pid };
	const struct server *old;
	bool denied;

	s.name = program_name(a, pid, &denied);
	if (!is_cache(s.name)) {
		hidden->others += denied && has_command(pid);
		return;
	}
	s.started = procstat_started(pid);
	old = as_before(before, &s);
	if (old) {
		vec_add(a, list, *old);
		return;
	}
	denied = !fill(a, &s);
	if (s.n_ports || s.socket)
		vec_add(a, list, s);
	else if (denied)
		vec_add(a, &hidden->named, s);
}

void servers_find(struct arena *a, server_list *list, struct servers_hidden *hidden,
                  const server_list *before)
{
	struct servers_hidden ignored = { 0 };
	DIR *dir = opendir("/proc");
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (isdigit((u8)d->d_name[0]))
			look_at(a, (u32)atoi(d->d_name), list, hidden ? hidden : &ignored, before);
	if (dir)
		closedir(dir);
	if (list->n)
		qsort(list->v, list->n, sizeof(*list->v), by_pid);
}

bool server_same(const struct server *a, const struct server *b)
{
	if (strcmp(a->name, b->name) != 0)
		return false;
	for (u32 i = 0; i < a->n_ports; i++)
		for (u32 k = 0; k < b->n_ports; k++)
			if (a->ports[i] == b->ports[k])
				return true;
	return a->socket && b->socket && strcmp(a->socket, b->socket) == 0;
}

const char *server_describe(struct arena *a, const struct server *s)
{
	struct buf b = { 0 };
	const char *text;

	buf_printf(&b, "%s %u", s->name, s->pid);
	for (u32 i = 0; i < s->n_ports; i++)
		buf_printf(&b, "%s%u",
		           i                ? ", "
		           : s->n_ports > 1 ? " (ports "
		                            : " (port ",
		           s->ports[i]);
	if (!s->n_ports && s->socket)
		buf_printf(&b, " (%s", s->socket);
	if (s->n_ports || s->socket)
		buf_putc(&b, ')');
	text = arena_strdup(a, buf_text(&b));
	buf_free(&b);
	return text;
}
