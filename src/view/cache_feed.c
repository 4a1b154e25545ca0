/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the records of the capturing scripts to the connections of cache/wire.c, and the server that
 * they come from.
 *
 * The map @server holds the process that probes look at, so a server that is started again is
 * followed by writing one number. Until it is found (its program and its port, or socket) what it
 * is asked goes unseen, and that is said.
 */
#include "view/cache_feed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "cache/item.h"
#include "view/cache_view.h"
#include "world/cgroup.h"

#define TAKEN_STEP   (1u << 20)
#define JUDGE_EVERY  2000000000ull  /* ns between two looks at what the server speaks */
#define UNHEARD_MOST 2u             /* such looks at which more had come in, and no packet of it */
#define JUDGE_WROTE  32u            /* writes, of which one would have answered a command */
#define OPEN_LEAST   256u           /* connections before it is asked which are open */
#define OPEN_SILENT  10000000000ull /* ns; of one that is closed no event waits any more */
#define LOOK_FIRST   50000000ull    /* ns between two looks for a server that is just gone */
#define LOOK_LAST    2000000000ull  /* ... and for one long gone: each reads all of /proc */
#define LOOK_SHARE   8u             /* of the time for which it is gone, in between */

enum {
	ASKED,
	PIECES,
	CONN,
	AT,
	TIME,
	TOTAL,
	FAMILY,
	PORT,
	FROM,
	BYTES,
	COMMAND,
	ITEM,
	KEY,
	FOUND,
	CHUNK,
	MORE,
	SENT,
	START,
	THREAD,
	OFF,
	PACKET,
	ACKED,
	ENDS,
};

static const char *const field_names[FEED_FIELDS] = {
	"asked", "pieces", "conn",    "at",   "time",   "total", "family", "port",
	"from",  "bytes",  "command", "item", "key",    "found", "chunk",  "more",
	"sent",  "start",  "thread",  "off",  "packet", "acked", "ends"
};

static void on_command(void *ctx, const struct command *c, const struct client *from)
{
	struct cache_feed *f = ctx;

	f->unknown += c->unknown;
	f->answered += c->answered;
	f->command(f->ctx, c, from);
}

static u64 on_key(void *ctx, struct str key)
{
	struct cache_feed *f = ctx;

	return f->expect ? f->expect(f->ctx, key) : 0;
}

/* How much of a connection's bytes the probes send. */
static void on_heads_only(void *ctx, u64 conn, bool yes)
{
	struct cache_feed *f = ctx;
	u64 one = 1;

	if (yes)
		view_map_set(&f->of, "@heads_only", &conn, &one);
	else
		view_map_delete(&f->of, "@heads_only", &conn);
}

/* Redis' answers may begin anywhere in the pieces of a writev. */
static void want_whole(struct cache_feed *f)
{
	u64 yes = 1;

	if (!f->whole && wire_protocol(f->wire) == PROTOCOL_RESP)
		f->whole = view_map_set(&f->of, "@whole", NULL, &yes);
}

/* Of a program by another name, its connections tell. */
static enum protocol protocol_of(const struct server *s)
{
	const struct item_kind *kind = item_of(s->name);

	if (!kind)
		return PROTOCOL_AUTO;
	return kind == item_find("redis") ? PROTOCOL_RESP : PROTOCOL_MEMCACHED;
}

/* Of a server by any other name its connections tell; but one has to listen. */
static bool may_be_cache(const struct server *s, struct err *e)
{
	if (item_of(s->name) || s->n_ports || s->socket || s->hidden)
		return true;
	err_set(e, "%s %u is no cache server: it listens on no port and on no unix socket", s->name,
	        s->pid);
	return err_hint(e, "without -p the memcached, Redis or Valkey that runs here is taken");
}

static bool has_packets(const struct unit *u)
{
	for (u32 i = 0; i < u->progs.n; i++)
		if (attach_kind_has(u->progs.v[i].kind, KIND_PACKET))
			return true;
	return false;
}

/* That whose sockets the process's are, and its directory. */
static bool find_group(u32 pid, struct arena *a, const char **dir, u64 *group, struct err *e)
{
	*dir = cgroup_dir(a, arena_printf(a, "/proc/%u/cgroup", pid), e);
	return *dir && cgroup_id(*dir, group, e);
}

/* Packets are told apart by their port. Of several the probes look each up. */
static bool tell_ports(struct cache_feed *f, struct err *e)
{
	const struct server *s = &f->server;
	u64 one = s->n_ports == 1 ? s->ports[0] : 0, yes = 1;

	if (!s->n_ports) {
		err_set(e, "%s %u listens on no port, so no packets tell what it is asked", s->name,
		        s->pid);
		return err_hint(e, "--via syscalls sees unix sockets as well");
	}
	for (u32 i = 0; i < s->n_ports; i++) {
		u64 port = s->ports[i];

		view_map_set(&f->of, "@ports", &port, &yes);
	}
	view_map_set(&f->of, "@port", NULL, &one);
	if (s->socket)
		view_say(&f->of, "it listens on a unix socket as well, of which no packets come");
	return true;
}

/* False when no probe in OpenSSL's library can hit. */
static bool expect_tls(struct cache_feed *f, const struct view_of *v, struct err *e)
{
	f->tls = cache_view_has_probe(v->unit, "SSL_read");
	if (f->tls || f->group || !item_of(f->server.name))
		f->judge = clock_ns(CLOCK_MONOTONIC) + JUDGE_EVERY;
	if (!f->tls)
		return true;
	received_read(&f->arena, f->server.pid, f->fd, &f->before);
	if (probe_files_mapped(&f->probed, f->server.pid))
		return true;
	err_set(e, "%s %u does not use OpenSSL's library, and its program has no symbol SSL_read",
	        f->server.name, f->server.pid);
	return err_hint(
		e, "it speaks no TLS; or OpenSSL is in its own program and that is stripped, so "
		   "that nothing says where");
}

static void say_what_is_not_known(const struct cache_feed *f)
{
	char text[160];

	if (item_of(f->server.name))
		return;
	snprintf(text, sizeof(text),
	         "%s is no server that memtap knows by name; keys are shown once its connections\n"
	         "      speak memcached's protocols or Redis'",
	         f->server.name);
	view_say(&f->of, text);
}

static void keep_descriptor(struct cache_feed *f)
{
	if (f->view)
		f->view->fd = f->fd;
}

u64 cache_feed_rights(const struct cache_feed *f)
{
	return f->group ? CAPS_PACKETS : 0;
}

bool cache_feed_open(struct cache_feed *f, const struct view_of *v, u32 pid,
                     cache_command_cb *command, void *ctx, struct err *e)
{
	struct wire_options o = {
		.command = on_command, .expect = on_key, .heads_only = on_heads_only, .ctx = f
	};

	*f = (struct cache_feed){ .view = f->view,
		                  .of = *v,
		                  .command = command,
		                  .ctx = ctx,
		                  .fd = -1,
		                  .look = UINT64_MAX,
		                  .judge = UINT64_MAX };
	if (!server_get(&f->arena, pid, &f->server, e) || !may_be_cache(&f->server, e))
		return false;
	f->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (f->fd < 0)
		return err_sys(e, errno, "can not watch process %u", pid);
	probe_files_read(&f->arena, v->unit, &f->probed);
	if (has_packets(v->unit) &&
	    (!find_group(pid, &f->arena, &f->group_dir, &f->group, e) || !tell_ports(f, e)))
		return false;
	if (f->view)
		f->view->rights |= cache_feed_rights(f);
	if (!expect_tls(f, v, e))
		return false;
	say_what_is_not_known(f);
	o.protocol = protocol_of(&f->server);
	f->wire = wire_new(&o);
	want_whole(f);
	keep_descriptor(f);
	return true;
}

void cache_feed_expect(struct cache_feed *f, proto_expect expect)
{
	f->expect = expect;
}

void cache_feed_close(struct cache_feed *f)
{
	wire_free(f->wire);
	if (f->fd >= 0)
		close(f->fd);
	arena_free(&f->arena);
	*f = (struct cache_feed){ .fd = -1 };
}

/* ---- records -------------------------------------------------------------------------------- */

static void find_fields(struct feed_record *k, const struct urecord *r)
{
	*k = (struct feed_record){ .record = r };
	for (u32 i = 0; i < FEED_FIELDS; i++) {
		const struct field *field = view_field(r, field_names[i]);

		k->at[i] = field ? field->off : 0;
		k->inet |= field && i == FROM && field->type->kind == TYPE_INET;
	}
}

/* Of a packet all are needed, so that nobody has to ask for each one. */
static bool is_whole(const struct feed_record *k)
{
	static const u8 needed[] = { ASKED, CONN,   AT,    START, ACKED, ENDS,
		                     TIME,  FAMILY, TOTAL, PORT,  FROM,  SENT };

	for (u32 i = 0; k->at[PACKET] && i < ARRAY_SIZE(needed); i++)
		if (!k->at[needed[i]])
			return false;
	return true;
}

/* NULL when it is not one of the probes'. */
static const struct feed_record *known_record(struct cache_feed *f, const struct urecord *r)
{
	struct feed_record *k = &f->records[(uintptr_t)r / sizeof(*r) % ARRAY_SIZE(f->records)];

	if (k->record == r)
		return k;
	if (r->action != ACTION_PRINTF || !view_field(r, "time") ||
	    !view_field(r, view_field(r, "asked") ? "bytes" : "key"))
		return NULL;
	find_fields(k, r);
	if (is_whole(k))
		return k;
	k->record = NULL;
	return NULL;
}

/* One that the script has. */
static u64 there(const struct feed_record *k, u32 i, const u8 *bytes)
{
	u64 value;

	memcpy(&value, bytes + k->at[i], 8);
	return value;
}

/* A field that the script does not have is 0. */
static u64 word(const struct feed_record *k, u32 i, const u8 *bytes)
{
	return k->at[i] ? there(k, i, bytes) : 0;
}

/* An address rests as a word with its family and 16 bytes. */
static void read_client(const struct feed_record *k, const u8 *bytes, struct client *c)
{
	*c = (struct client){ .port = (u32)word(k, PORT, bytes),
		              .family = (u32)word(k, FAMILY, bytes) };
	if (k->inet && c->family == AF_INET)
		memcpy(c->address, bytes + k->at[FROM] + 8, 4);
	else if (k->inet && c->family == AF_INET6)
		memcpy(c->address, bytes + k->at[FROM] + 8, 16);
}

/* The probes leave out answers when too much was sent that is not taken. */
static void tell_taken(struct cache_feed *f, u64 sent)
{
	if (sent - f->taken < TAKEN_STEP)
		return;
	f->taken = sent;
	view_map_set(&f->of, "@taken", NULL, &sent);
}

static int by_number(const void *x, const void *y)
{
	u64 a = *(const u64 *)x, b = *(const u64 *)y;

	return a < b ? -1 : a > b;
}

static bool is_open(void *ctx, u64 conn)
{
	const server_inodes *open = ctx;

	return bsearch(&conn, open->v, open->n, sizeof(*open->v), by_number);
}

/* A connection that the server closes, or that is reset, has no end here. Those that system calls
 * know are numbered by their sockets; looked for when there are twice as many as before. */
static void forget_closed(struct cache_feed *f)
{
	struct arena a = { 0 };
	server_inodes open = { 0 };
	struct wire_stats s;

	if (f->probed.n || f->group)
		return;
	wire_stats(f->wire, &s);
	if (s.open < MAX(f->look_open, OPEN_LEAST))
		return;
	if (server_sockets(&a, f->server.pid, &open))
		wire_forget(f->wire, OPEN_SILENT, is_open, &open);
	arena_free(&a);
	wire_stats(f->wire, &s);
	f->look_open = s.open * 2;
}

/* To clear an event before takes as long as to read it. */
static void read_packet(const struct feed_record *k, const u8 *bytes, struct wire_event *e)
{
	e->packet = true;
	e->conn = there(k, CONN, bytes);
	e->asked = there(k, ASKED, bytes);
	e->at = (u32)there(k, AT, bytes);
	e->placed = e->at;
	e->start = (u32)there(k, START, bytes);
	e->acked = (u32)there(k, ACKED, bytes);
	e->ends = there(k, ENDS, bytes);
	e->time = there(k, TIME, bytes);
	e->total = there(k, TOTAL, bytes);
	e->pieces = e->more = false;
	e->chunk = e->tid = e->cpu = 0;
	e->off = 0;
}

/* What a call moved. */
static void read_call(const struct feed_record *k, const u8 *bytes, struct wire_event *e)
{
	u64 at = word(k, AT, bytes), thread = word(k, THREAD, bytes),
	    family = word(k, FAMILY, bytes);

	*e = (struct wire_event){
		.conn = word(k, CONN, bytes),
		.asked = word(k, ASKED, bytes),
		.pieces = word(k, PIECES, bytes),
		.chunk = (u32)word(k, CHUNK, bytes),
		.more = word(k, MORE, bytes),
		.placed = k->at[AT] && ((u32)at || family == AF_INET || family == AF_INET6),
		.at = (u32)at,
		/* What a socket does not count itself is counted on beyond 32 bits. */
		.start = at >> 32 ? (u32)at : (u32)word(k, START, bytes),
		.time = word(k, TIME, bytes),
		.tid = (u32)(thread >> 32),
		.cpu = (u32)thread,
		.off = word(k, OFF, bytes),
		.total = word(k, TOTAL, bytes),
	};
}

static void take_bytes(struct cache_feed *f, const struct feed_record *k, const u8 *bytes)
{
	struct wire_event e;

	if (k->at[PACKET])
		read_packet(k, bytes, &e);
	else
		read_call(k, bytes, &e);
	read_client(k, bytes, &e.from);
	e.bytes = bytes + k->at[BYTES] + 8;
	e.n = (u32)there(k, BYTES, bytes);
	f->heard++;
	f->wrote += !e.asked;
	wire_event(f->wire, &e);
	forget_closed(f);
	want_whole(f);
	tell_taken(f, word(k, SENT, bytes));
}

/* The item that a probe of memcached tells the size of: with a line's end after the value, -1 for
 * none. Probes that tell none are passed when the key was found; that of cas does not say. */
static void read_item(const struct feed_record *k, const u8 *bytes, struct command *c)
{
	s64 item = (s64)word(k, ITEM, bytes);

	c->outcome = OUTCOME_HIT;
	if (k->at[FOUND] && !word(k, FOUND, bytes))
		c->outcome = OUTCOME_MISS;
	if (!k->at[ITEM])
		return;
	c->sized = item >= 0;
	c->size = item > 2 ? (u64)item - 2 : 0;
	if (item < 0)
		c->outcome = OUTCOME_MISS;
	else if (c->op == OP_CAS)
		c->outcome = OUTCOME_UNKNOWN;
}

/* Probes fire for what the server counts; the look for a key does not say whether it was to read
 * it. */
static void count_item(const struct feed_record *k, struct command *c)
{
	static const u8 ways[] = { [OUTCOME_UNKNOWN] = COUNTED_EITHER,
		                   [OUTCOME_HIT] = COUNTED_HIT,
		                   [OUTCOME_MISS] = COUNTED_MISS };

	c->counter = k->at[FOUND] ? COUNTER_LOOKUP : proto_op_counter(c->op);
	c->counted = k->at[FOUND] ? COUNTED_MAYBE : ways[c->outcome];
}

/* "usdt:PATH:memcached:command__get" */
static void take_command(struct cache_feed *f, const struct view_of *v, const struct feed_record *k,
                         const u8 *bytes)
{
	u64 probe = word(k, COMMAND, bytes);
	const char *name = probe < v->unit->probe_names.n ? v->unit->probe_names.v[probe] : "";
	const char *end = strrchr(name, '_');
	struct command c = { .started = word(k, TIME, bytes), .first = true };
	struct client from;

	c.op = k->at[FOUND] ? OP_READ : proto_op_find(str_of(end ? end + 1 : name));
	if (c.op == OPS)
		c.op = OP_OTHER;
	c.verb = k->at[FOUND] ? "lookup" : proto_op_name(c.op);
	c.key.p = (const char *)bytes + k->at[KEY] + 8;
	c.key_size = (u32)word(k, KEY, bytes);
	c.key.n = MIN(c.key_size, PROTO_KEY_MAX);
	read_item(k, bytes, &c);
	count_item(k, &c);
	read_client(k, bytes, &from);
	f->command(f->ctx, &c, &from);
}

bool cache_feed_record(struct cache_feed *f, const struct view_of *v, const struct urecord *r,
                       const u8 *bytes)
{
	const struct feed_record *k;

	f->of = *v;
	k = f->wire ? known_record(f, r) : NULL;
	if (!k)
		return false;
	if (k->at[BYTES])
		take_bytes(f, k, bytes);
	else
		take_command(f, v, k, bytes);
	return true;
}

void cache_feed_end(struct cache_feed *f, const struct view_of *v)
{
	f->of = *v;
	if (f->wire)
		wire_clear(f->wire);
}

/* What the probes counted of requests that found no room: in @missed, by asked_class(). */
static void read_lost(struct cache_feed *f, struct asked_lost *lost)
{
	struct arena a = { 0 };
	struct err ignored = { 0 };
	struct table t;

	*lost = (struct asked_lost){ 0 };
	if (view_map_read(&f->of, "@missed", &a, &t, &ignored))
		for (u32 i = 0; i < t.rows.n; i++) {
			u64 class;

			memcpy(&class, t.rows.v[i].key, sizeof(class));
			class = MIN(class, ASKED_CLASSES - 1);
			lost->reads[class] += (u64)t.rows.v[i].value.n;
			lost->bytes[class] += (u64)t.rows.v[i].value.total;
		}
	arena_free(&a);
}

/* Connections miss bytes that no probe counted: the kernel did not run it. */
static void add_uncounted(struct asked_lost *lost, u64 bytes)
{
	for (u32 i = 0; i < ASKED_CLASSES; i++)
		bytes -= MIN(bytes, lost->bytes[i]);
	if (!bytes)
		return;
	lost->reads[asked_class(bytes)]++;
	lost->bytes[asked_class(bytes)] += bytes;
}

struct missed cache_feed_missed(struct cache_feed *f, const struct view_of *v)
{
	u64 events = view_lost(v);
	struct asked_lost lost;
	struct asked_guess guess;
	struct wire_stats s;

	f->of = *v;
	if (events != f->lost) {
		f->lost = events;
		wire_lose(f->wire);
	}
	wire_stats(f->wire, &s);
	read_lost(f, &lost);
	add_uncounted(&lost, s.gap_bytes);
	guess = asked_guess(wire_asked(f->wire), &lost);
	return (struct missed){ .events = events,
		                .commands = s.lost + (u64)(guess.commands + 0.5),
		                .error = (u64)(guess.error + 0.5),
		                .at_least = s.lost != 0,
		                .replies = s.unseen,
		                .from_master = s.from_master,
		                .unknown = f->unknown,
		                .unconfirmed = s.unconfirmed };
}

/* ---- the server ----------------------------------------------------------------------------- */

/* No process's. 0 is that of all that are not in our namespace of processes. */
#define NOBODY UINT64_MAX

static void watch(const struct view_of *v, u64 pid)
{
	view_map_set(v, "@server", NULL, &pid);
}

void cache_feed_ended(struct cache_feed *f, const struct view_of *v)
{
	char text[128];

	f->of = *v;
	snprintf(text, sizeof(text), "%s %u has ended; waiting for it to be started again",
	         f->server.name, f->server.pid);
	view_say(v, text);
	close(f->fd);
	f->fd = -1;
	keep_descriptor(f);
	f->look = 0;
	f->ended = clock_ns(CLOCK_MONOTONIC);
	watch(v, NOBODY);
	wire_clear(f->wire);
}

static bool was_asked(struct cache_feed *f)
{
	struct arena a = { 0 };
	received_list now = { 0 };
	bool more;

	received_read(&a, f->server.pid, f->fd, &now);
	more = received_more(&f->before, &now);
	arena_free(&a);
	return more;
}

/* At a port on which it listens: what it asked others is no request. */
static bool listens(const struct server *s, u16 port)
{
	for (u32 i = 0; i < s->n_ports; i++)
		if (s->ports[i] == port)
			return true;
	return false;
}

/* Has it been asked since the last call? */
static bool asked_again(struct cache_feed *f)
{
	struct arena a = { 0 };
	received_list all = { 0 }, own = { 0 };
	bool more;

	received_read(&a, f->server.pid, f->fd, &all);
	for (u32 i = 0; i < all.n; i++)
		if (listens(&f->server, all.v[i].port))
			vec_add(&a, &own, all.v[i]);
	more = received_more(&f->before, &own);
	f->before.n = more ? 0 : f->before.n;
	for (u32 i = 0; more && i < own.n; i++)
		vec_add(&f->arena, &f->before, own.v[i]);
	arena_free(&a);
	return more;
}

/* A socket belongs to the group of the process that made it, which may be another one: systemd's,
 * where that listens for a service. Something came in before the probes were there, and again, and
 * no packet of it. True when all is said. */
static bool judge_packets(struct cache_feed *f)
{
	char text[200];

	if (f->heard)
		return true;
	if (f->unheard < UNHEARD_MOST) {
		f->unheard += asked_again(f);
		return false;
	}
	snprintf(text, sizeof(text),
	         "%s %u is asked, but not by packets of its control group: its sockets are of "
	         "another "
	         "one;\n      --via syscalls sees what it reads and writes",
	         f->server.name, f->server.pid);
	view_say(&f->of, text);
	view_exit(&f->of, 1);
	return true;
}

/* What is asked without it is none of its calls. One that listens on several ports may well do so
 * for both, and nobody ask the one that speaks TLS. True when all is said. */
static bool judge_tls(struct cache_feed *f)
{
	bool asked = !f->heard && was_asked(f), refused = asked && f->server.n_ports == 1;
	char text[200];

	if (f->heard)
		return true;
	if (!asked && f->warned)
		return false;
	snprintf(text, sizeof(text),
	         asked ? "%s %u is asked without TLS%s; without --via ssl that is seen"
	               : "nobody has spoken TLS with %s %u for 2 seconds%s; without --via ssl what "
	                 "is not\n"
	                 "      encrypted is seen",
	         f->server.name, f->server.pid, refused ? ", and by nobody with it" : "");
	view_say(&f->of, text);
	f->warned = true;
	if (refused)
		view_exit(&f->of, 1);
	return asked;
}

/* The same of one whose name says nothing: what it writes would have answered something. A line of
 * HTTP looks like one of Redis. */
static bool judge_protocol(struct cache_feed *f)
{
	char text[160];

	if (f->answered || f->wrote < JUDGE_WROTE)
		return f->answered;
	snprintf(text, sizeof(text),
	         "%s %u is no cache server: what it is asked is neither memcached's protocol nor "
	         "Redis'",
	         f->server.name, f->server.pid);
	view_say(&f->of, text);
	view_exit(&f->of, 1);
	return true;
}

static void judge(struct cache_feed *f, u64 now)
{
	bool done = f->tls ? judge_tls(f) : !f->group || judge_packets(f);

	if (done && !f->tls && !item_of(f->server.name))
		done = judge_protocol(f);
	f->judge = done ? UINT64_MAX : now + JUDGE_EVERY;
}

u64 cache_feed_when(const struct cache_feed *f)
{
	return f->fd < 0 ? f->look : f->judge;
}

/* Programs of a group see the packets of those below it as well. */
static bool is_seen(const struct cache_feed *f, const char *dir)
{
	size_t n = strlen(f->group_dir);
	struct err gone = { 0 };
	u64 group;

	return strncmp(dir, f->group_dir, n) == 0 && (!dir[n] || dir[n] == '/') &&
	       cgroup_id(f->group_dir, &group, &gone) && group == f->group;
}

/* systemd makes a new group for each start. */
static bool join_group(struct cache_feed *f, u32 pid, struct err *e)
{
	const char *dir;
	u64 group;

	if (!find_group(pid, &f->arena, &dir, &group, e))
		return false;
	if (is_seen(f, dir))
		return true;
	if (!live_add_group(f->of.live, dir, e))
		return false;
	f->group_dir = dir;
	f->group = group;
	return true;
}

/* The server is `s` from here on. When probes are in another file than what it runs, nothing would
 * be seen: that ends the session. */
static void follow(struct cache_feed *f, const struct view_of *v, const struct server *s)
{
	bool probed = probe_files_mapped(&f->probed, s->pid);
	struct err failed = { 0 };
	char text[sizeof(failed.text) + 200];
	int fd = (int)syscall(SYS_pidfd_open, s->pid, 0);

	if (fd < 0)
		return;
	if (f->group)
		probed = join_group(f, s->pid, &failed);
	f->fd = fd;
	keep_descriptor(f);
	f->server = *s;
	f->starts++;
	watch(v, s->pid);
	snprintf(text, sizeof(text), "%s was started again as %u; %s", s->name, s->pid,
	         probed     ? "what it was asked before now was not seen"
	         : f->group ? failed.text
	                    : "it runs another file than the one\n"
	                      "      that was probed, so nothing is seen of it: start this anew");
	view_say(v, text);
	if (!probed)
		view_exit(v, 1);
}

void cache_feed_tick(struct cache_feed *f, const struct view_of *v, u64 now)
{
	struct arena a = { 0 };
	server_list list = { 0 };

	f->of = *v;
	if (f->fd >= 0 && now >= f->judge)
		judge(f, now);
	if (f->fd >= 0 || now < f->look)
		return;
	servers_find(&a, &list, NULL, NULL);
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
	f->look = now + MIN(MAX((now - f->ended) / LOOK_SHARE, LOOK_FIRST), LOOK_LAST);
}

/* ---- for a view that does no more with it --------------------------------------------------- */

static u64 view_when(void *ctx)
{
	return cache_feed_when(ctx);
}

static void view_tick(void *ctx, const struct view_of *v)
{
	cache_feed_tick(ctx, v, clock_ns(CLOCK_MONOTONIC));
}

static void view_input(void *ctx, const struct view_of *v)
{
	cache_feed_ended(ctx, v);
}

void cache_feed_callbacks(struct cache_feed *f, struct view *view)
{
	f->view = view;
	view->when = view_when;
	view->tick = view_tick;
	view->input = view_input;
	keep_descriptor(f);
}
