/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the records of the capturing scripts to the connections of cache/wire.c, and the server that
 * they come from.
 *
 * The map @server holds the process that probes look at, so a server that is started again is
 * followed by writing one number. Until it is found (its program and its port, or socket) what it is
 * asked goes unseen, and that is said.
 */
#include "run/cache_feed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_EVERY 50000000ull /* ns between two looks for a server that is gone */

enum { ASKED, PIECES, CONN, AT, TIME, TOTAL, FAMILY, PORT, FROM, BYTES, N_FIELDS };

static const char *const field_names[N_FIELDS] = { "asked", "pieces", "conn", "at",   "time",
	                                           "total", "family", "port", "from", "bytes" };

bool cache_feed_open(struct cache_feed *f, u32 pid, const struct wire_options *o, struct err *e)
{
	*f = (struct cache_feed){ .fd = -1, .look = UINT64_MAX };
	if (!server_get(&f->arena, pid, &f->server, e))
		return false;
	f->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (f->fd < 0)
		return err_sys(e, errno, "can not watch process %u", pid);
	f->wire = wire_new(o);
	return true;
}

void cache_feed_close(struct cache_feed *f)
{
	wire_free(f->wire);
	if (f->fd >= 0)
		close(f->fd);
	arena_free(&f->arena);
	*f = (struct cache_feed){ .fd = -1 };
}

/* ---- records ---------------------------------------------------------------------------------- */

static bool known_record(struct cache_feed *f, const struct urecord *r)
{
	if (f->record == r)
		return true;
	if (r->action != ACTION_PRINTF || !view_field(r, "asked") || !view_field(r, "bytes"))
		return false;
	for (u32 i = 0; i < N_FIELDS; i++)
		f->fields[i] = view_field(r, field_names[i]);
	f->record = r;
	return true;
}

/* A field that the script does not have is 0. */
static u64 word(const struct cache_feed *f, u32 i, const u8 *bytes)
{
	u64 value = 0;

	if (f->fields[i])
		memcpy(&value, bytes + f->fields[i]->off, 8);
	return value;
}

/* An address rests as a word with its family and 16 bytes. */
static void read_client(const struct cache_feed *f, const u8 *bytes, struct client *c)
{
	const struct field *from = f->fields[FROM];

	c->family = (u32)word(f, FAMILY, bytes);
	c->port = (u32)word(f, PORT, bytes);
	if (!from || from->type->kind != TYPE_INET)
		return;
	if (c->family == AF_INET)
		memcpy(c->address, bytes + from->off + 8, 4);
	else if (c->family == AF_INET6)
		memcpy(c->address, bytes + from->off + 8, 16);
}

bool cache_feed_record(struct cache_feed *f, const struct urecord *r, const u8 *bytes)
{
	struct wire_event e = { 0 };

	if (!known_record(f, r))
		return false;
	e.asked = word(f, ASKED, bytes);
	e.pieces = word(f, PIECES, bytes);
	e.conn = word(f, CONN, bytes);
	e.at = (u32)word(f, AT, bytes);
	e.time = word(f, TIME, bytes);
	e.total = word(f, TOTAL, bytes);
	read_client(f, bytes, &e.from);
	e.placed = f->fields[AT] && (e.from.family == AF_INET || e.from.family == AF_INET6);
	e.bytes = bytes + f->fields[BYTES]->off + 8;
	e.n = (u32)word(f, BYTES, bytes);
	wire_event(f->wire, &e);
	return true;
}

u64 cache_feed_lost(struct cache_feed *f, const struct view_of *v)
{
	u64 lost = view_lost(v);

	if (lost != f->lost) {
		f->lost = lost;
		wire_lose(f->wire);
	}
	return lost;
}

/* ---- the server ------------------------------------------------------------------------------- */

static void watch(const struct view_of *v, u64 pid)
{
	view_map_set(v, "@server", NULL, &pid);
}

void cache_feed_ended(struct cache_feed *f, const struct view_of *v)
{
	char text[128];

	snprintf(text, sizeof(text), "%s %u has ended; waiting for it to be started again",
	         f->server.name, f->server.pid);
	view_say(v, text);
	close(f->fd);
	f->fd = -1;
	f->look = 0;
	watch(v, 0);
	wire_clear(f->wire);
}

u64 cache_feed_when(const struct cache_feed *f)
{
	return f->fd < 0 ? f->look : UINT64_MAX;
}

/* The server is `s` from here on. */
static void follow(struct cache_feed *f, const struct view_of *v, const struct server *s)
{
	char text[160];
	int fd = (int)syscall(SYS_pidfd_open, s->pid, 0);

	if (fd < 0)
		return;
	f->fd = fd;
	f->server = *s;
	f->starts++;
	watch(v, s->pid);
	snprintf(text, sizeof(text),
	         "%s was started again as %u; what it was asked before now was not seen", s->name,
	         s->pid);
	view_say(v, text);
}

void cache_feed_tick(struct cache_feed *f, const struct view_of *v, u64 now)
{
	struct arena a = { 0 };
	server_list list = { 0 };

	if (f->fd >= 0 || now < f->look)
		return;
	servers_find(&a, &list);
	for (u32 i = 0; i < list.n && f->fd < 0; i++) {
		struct server s = list.v[i];

		if (!server_same(&f->server, &s))
			continue;
		s.name = f->server.name;
		s.socket = f->server.socket;
		s.path = arena_printf(&f->arena, "/proc/%u/exe", s.pid);
		follow(f, v, &s);
	}
	arena_free(&a);
	f->look = now + LOOK_EVERY;
}
