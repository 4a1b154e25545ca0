// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which bytes belong to which connection, and whether some are missing between them.
 *
 * The idea: a TCP socket counts the bytes it moves, so each piece says where it ends; one that does
 * not start where the last one ended tells at once, and for that connection only, that an event was
 * lost. Where the requests' stream began is known too, so a connection's first bytes are known to
 * be such. What does not count starts anew when events were lost somewhere.
 *
 * Pieces come as iovec() leaves them: u32 length, u32 kept, the bytes kept, up to a multiple of 8.
 *
 * Does not parse what was said; proto/ does.
 */
#include "cache/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cache/order.h"

#define MEASURE_BYTES  65536u /* captured on a connection before it is judged */
#define VALUES_PER_KEY 600u   /* bytes of values for each key from which on they are most of it */

struct link {
	u64 conn;
	u64 last; /* event: its time */
	struct wire *wire;
	struct proto *proto;
	struct client from;
	struct link *older, *newer; /* by their last event */
	struct link *next;          /* in the table */
	u32 at[2];                  /* where its streams are: answers, requests */
	bool placed[2];
	u64 captured, values, keys,
		events; /* since it was judged last; values: bytes that may be cut */
	bool heads_only, needs_all;
	bool is_ours, to_master; /* the server itself connected; a replica to its master */
	u32 chunk;          /* of a list that comes in several events: the next one, 0 for none */
	bool list_asked;    /* ... whether it is of requests */
	u64 left;           /* ... and bytes of it that have not come */
	struct order early; /* packets with requests: what is before them has not come */
	bool begun;         /* packets: `start` is where the requests began */
	u32 start;
};

#define TABLE (1u << 14)

#define THREADS 64u

/* What a thread of the server did last. */
struct doer {
	u32 tid, cpu;
	u64 time, off;
	struct link *read; /* the connection that it read from; NULL: it wrote */
};

struct wire {
	struct wire_options o;
	struct wire_stats stats;
	struct asked asked;
	enum protocol protocol;
	struct link *table[TABLE];
	struct link *oldest, *newest;
	struct doer doers[THREADS]; /* by tid; one that comes in for another takes its place */
};

struct wire *wire_new(const struct wire_options *o)
{
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		base_no_memory();
	w->o = *o;
	w->protocol = o->protocol;
	return w;
}

/* ---- the table ------------------------------------------------------------------------------ */

static struct link **bucket(struct wire *w, u64 conn)
{
	return &w->table[hash_mix(conn) & (TABLE - 1)];
}

static void unchain(struct wire *w, struct link *l)
{
	*(l->older ? &l->older->newer : &w->oldest) = l->newer;
	*(l->newer ? &l->newer->older : &w->newest) = l->older;
}

static void chain_newest(struct wire *w, struct link *l)
{
	l->older = w->newest;
	l->newer = NULL;
	*(w->newest ? &w->newest->newer : &w->oldest) = l;
	w->newest = l;
}

/* True when something was lost since the last call. */
static bool take_losses(struct wire *w, struct link *l)
{
	u64 lost, unseen;

	if (!proto_has_losses(l->proto))
		return false;
	lost = proto_lost(l->proto);
	unseen = proto_unseen(l->proto);
	w->stats.lost += lost;
	w->stats.unseen += unseen;
	w->stats.unconfirmed += proto_unconfirmed(l->proto);
	return lost || unseen;
}

static void drop(struct wire *w, struct link *l)
{
	struct link **at = bucket(w, l->conn);

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	unchain(w, l);
	if (l->heads_only && w->o.heads_only)
		w->o.heads_only(w->o.ctx, l->conn, false);
	proto_end(l->proto);
	take_losses(w, l);
	for (u32 i = 0; i < THREADS; i++)
		if (w->doers[i].read == l)
			w->doers[i].tid = 0;
	w->stats.open--;
	order_free(&l->early);
	proto_free(l->proto);
	free(l);
}

static void told_command(void *ctx, const struct command *c)
{
	struct link *l = ctx;

	l->keys++;
	l->values += c->sized ? c->size : 0;
	l->wire->o.command(l->wire->o.ctx, c, &l->from);
}

static u64 expect_key(void *ctx, struct str key)
{
	const struct wire_options *o = &((struct link *)ctx)->wire->o;

	return o->expect(o->ctx, key);
}

static struct link *add(struct wire *w, const struct wire_event *e)
{
	struct link **at = bucket(w, e->conn), *l;

	if (w->stats.open == WIRE_CONNECTIONS)
		drop(w, w->oldest);
	l = calloc(1, sizeof(*l));
	if (!l)
		base_no_memory();
	l->conn = e->conn;
	l->wire = w;
	l->from = e->from;
	l->proto = proto_new(w->o.protocol, told_command, l);
	if (w->o.expect)
		proto_set_expect(l->proto, expect_key);
	l->next = *at;
	*at = l;
	chain_newest(w, l);
	w->stats.open++;
	return l;
}

static struct link *find(struct wire *w, const struct wire_event *e)
{
	struct link *l = *bucket(w, e->conn);

	while (l && l->conn != e->conn)
		l = l->next;
	if (l && w->newest != l) {
		unchain(w, l);
		chain_newest(w, l);
	}
	return l;
}

void wire_clear(struct wire *w)
{
	while (w->oldest)
		drop(w, w->oldest);
}

void wire_free(struct wire *w)
{
	if (!w)
		return;
	w->o.heads_only = NULL; /* whoever captured is gone */
	while (w->oldest)
		drop(w, w->oldest);
	free(w);
}

void wire_forget(struct wire *w, u64 ns, bool (*is_open)(void *ctx, u64 conn), void *ctx)
{
	u64 now = w->newest ? w->newest->last : 0;

	for (struct link *l = w->oldest, *newer; l && now - MIN(l->last, now) > ns; l = newer) {
		newer = l->newer;
		if (!is_open(ctx, l->conn))
			drop(w, l);
	}
}

/* ---- events --------------------------------------------------------------------------------- */

static void feed(struct link *l, const struct wire_event *e, const u8 *p, size_t n, u64 total)
{
	l->captured += n;
	if (e->asked)
		proto_request(l->proto, p, n, total, e->time);
	else
		(e->pieces ? proto_reply_piece : proto_reply)(l->proto, p, n, total, e->time);
}

static void feed_pieces(struct link *l, const struct wire_event *e)
{
	u64 left = e->chunk ? l->left : e->total;
	u32 off = 0;

	while (left && e->n - off >= 8) {
		u32 length, kept;

		memcpy(&length, e->bytes + off, 4);
		memcpy(&kept, e->bytes + off + 4, 4);
		off += 8;
		if (kept > length || kept > e->n - off)
			break;
		length = (u32)MIN(length, left);
		feed(l, e, e->bytes + off, MIN(kept, length), length);
		left -= length;
		off += MIN(ROUND_UP(kept, 8u), e->n - off);
	}
	l->left = left;
	if (left && !e->more)
		(e->asked ? proto_request : proto_reply)(l->proto, e->bytes, 0, left, e->time);
}

/* False when it is not the event that comes next: those after a lost one are no use. */
static bool check_chunk(struct link *l, const struct wire_event *e)
{
	bool next = e->chunk == l->chunk;

	if (!next)
		((l->chunk ? l->list_asked : e->asked) ? proto_lose : proto_lose_replies)(l->proto);
	l->chunk = e->more && (next || !e->chunk) ? e->chunk + 1 : 0;
	l->list_asked = e->asked;
	return next || !e->chunk;
}

/* Did this piece start where the last one ended? The end of what a client sends takes a number,
 * too, and may have come with its last piece. */
static void check_place(struct wire *w, struct link *l, const struct wire_event *e)
{
	u32 missing = e->at - (u32)e->total - l->at[e->asked];

	if (e->placed && l->placed[e->asked] && missing && !(missing == 1 && e->asked)) {
		w->stats.gaps++;
		w->stats.gap_bytes += e->asked ? missing : 0;
		(e->asked ? proto_lose : proto_lose_replies)(l->proto);
		l->placed[0] &= !e->asked; /* whatever answers are missing were given up with it */
	}
	l->placed[e->asked] = e->placed;
	l->at[e->asked] = e->at;
}

static void take(struct link *l, const struct wire_event *e)
{
	u64 commands;

	if (e->pieces)
		feed_pieces(l, e);
	else
		feed(l, e, e->bytes, MIN(e->n, e->total), e->total);
	if (e->asked && proto_asked(l->proto, &commands))
		asked_add(&l->wire->asked, e->total, commands);
}

static void set_heads_only(struct wire *w, struct link *l, bool yes)
{
	l->heads_only = yes;
	w->o.heads_only(w->o.ctx, l->conn, yes);
}

/* Are the captured bytes worth it? With more keys than system calls, heads would lose those after
 * the first; and of an answer of many small parts, which has no size, none can be left out. Once a
 * cut did harm, all is wanted for good. */
static void judge(struct wire *w, struct link *l, bool lost)
{
	if (!w->o.heads_only)
		return;
	if (l->heads_only && lost) {
		l->needs_all = true;
		set_heads_only(w, l, false);
	}
	if (l->captured < MEASURE_BYTES)
		return;
	if (!l->heads_only && !l->needs_all && l->keys <= l->events &&
	    l->values / (l->keys + 1) > VALUES_PER_KEY)
		set_heads_only(w, l, true);
	l->captured = l->values = l->keys = l->events = 0;
}

/* ---- time on the processor ------------------------------------------------------------------ */

/*
 * What a thread does after it has read from a connection, until it next reads or writes on any,
 * it does for that one; what it does between two writes, for the second. After a write, until it
 * reads, it works for nobody.
 */
static void spend(struct wire *w, struct link *l, const struct wire_event *e)
{
	struct doer *d = &w->doers[e->tid % THREADS];
	struct link *for_whom = d->read ? d->read : e->asked ? NULL : l;
	u64 passed = e->time - d->time, off = e->off - d->off;

	if (for_whom && d->tid == e->tid && d->cpu == e->cpu && e->time > d->time && off <= passed)
		proto_spend(for_whom->proto, passed - off);
	*d = (struct doer){ e->tid, e->cpu, e->time, e->off, e->asked ? l : NULL };
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Is it the first that came in on its connection? */
static bool begins(const struct wire_event *e)
{
	return e->placed && e->asked && !e->chunk && e->at - (u32)e->total == e->start;
}

/* The link of an event with bytes. */
static struct link *link_of(struct wire *w, const struct wire_event *e, struct link *l)
{
	if (l && begins(e) && l->placed[1]) {
		drop(w, l); /* its end was not seen */
		l = NULL;
	}
	if (!l)
		l = add(w, e);
	if (begins(e) && !l->placed[0])
		proto_begin(l->proto);
	return l;
}

/* Of a packet: the first one may come twice, and not as the first. */
static struct link *link_of_packet(struct wire *w, const struct wire_event *e, struct link *l)
{
	bool known = e->placed && e->asked && e->start != e->at;

	if (l && known && l->placed[1] && !(l->begun && l->start == e->start)) {
		drop(w, l);
		l = NULL;
	}
	if (!l)
		l = add(w, e);
	if (known && !l->begun && !l->placed[0]) {
		proto_begin(l->proto);
		l->begun = l->placed[1] = true;
		l->start = l->at[1] = e->start;
	}
	return l;
}

/* A replica says this to its master: as it connects, and then once a second. */
static bool greets_master(const struct wire_event *e)
{
	static const char line[] = "*3\r\n$8\r\nREPLCONF\r\n";

	return !e->asked && !e->pieces && e->n >= sizeof(line) - 1 &&
	       memcmp(e->bytes, line, sizeof(line) - 1) == 0;
}

/* Is it a connection that the server made, where it asks and others answer? It speaks first there.
 * One that was open before is known for that of a replica only. */
static bool is_ours(struct wire *w, struct link *l, const struct wire_event *e)
{
	bool first = begins(e) && l->placed[0] && !l->placed[1];
	bool master = greets_master(e) && !proto_is_sure(l->proto);

	if ((first || master) && !l->is_ours) {
		proto_lose(l->proto);
		take_losses(w, l);
		l->is_ours = true;
	}
	l->to_master |= master;
	w->stats.from_master += l->to_master && e->asked && !e->chunk ? e->total : 0;
	return l->is_ours;
}

static void take_placed(struct wire *w, struct link *l, const struct wire_event *e)
{
	enum protocol protocol;

	l->events++;
	if (!e->chunk)
		check_place(w, l, e);
	if (check_chunk(l, e))
		take(l, e);
	protocol = proto_protocol(l->proto);
	if (protocol != PROTOCOL_AUTO)
		w->protocol = protocol;
	judge(w, l, take_losses(w, l));
}

/* What came early and can be taken now; all of it when what is before it will not come any more. */
static void take_early(struct wire *w, struct link *l, bool all)
{
	const struct wire_event *next;

	while ((next = order_take(&l->early, l->at[1], all))) {
		struct wire_event e = *next;

		if (order_cut(&e, l->at[1]))
			take_placed(w, l, &e);
	}
}

/* What an answer says was received, and did not come here before it, is lost here. */
static void take_packet(struct wire *w, struct link *l, const struct wire_event *given)
{
	struct wire_event e;

	if (!l->early.n && l->placed[given->asked] &&
	    given->at - (u32)given->total == l->at[given->asked]) {
		take_placed(w, l, given); /* it comes next, as nearly all do */
		return;
	}
	e = *given;
	if (!e.asked && l->early.n && (s32)(e.acked - l->at[1]) > 0)
		take_early(w, l, true);
	if (e.placed && l->placed[e.asked]) {
		if (!order_cut(&e, l->at[e.asked]))
			return;
		if (e.asked && e.at - (u32)e.total != l->at[1]) {
			if (!order_keep(&l->early, &e))
				take_early(w, l, true);
			return;
		}
	}
	take_placed(w, l, &e);
	if (l->early.n)
		take_early(w, l, false);
}

/* Without bytes: a packet that opens its connection, or the connection's end. */
static void take_empty(struct wire *w, const struct wire_event *e, struct link *l)
{
	if (e->packet && e->asked && !e->ends)
		link_of_packet(w, e, l)->last = e->time;
	else if (l && (e->asked || e->ends))
		drop(w, l);
}

void wire_event(struct wire *w, const struct wire_event *e)
{
	struct link *l = find(w, e);

	w->stats.events++;
	w->stats.bytes += e->n;
	if (!e->total) {
		take_empty(w, e, l);
		return;
	}
	l = e->packet ? link_of_packet(w, e, l) : link_of(w, e, l);
	l->last = e->time;
	if (e->tid)
		spend(w, l, e);
	if (e->packet)
		take_packet(w, l, e);
	else if (!is_ours(w, l, e))
		take_placed(w, l, e);
	if (e->ends)
		drop(w, l);
}

void wire_lose(struct wire *w)
{
	memset(w->doers, 0, sizeof(w->doers));
	for (struct link *l = w->oldest; l; l = l->newer) {
		if (l->placed[0] && l->placed[1])
			continue;
		proto_lose(l->proto);
		take_losses(w, l);
	}
}

void wire_stats(const struct wire *w, struct wire_stats *s)
{
	*s = w->stats;
}

const struct asked *wire_asked(const struct wire *w)
{
	return &w->asked;
}

enum protocol wire_protocol(const struct wire *w)
{
	return w->protocol;
}
