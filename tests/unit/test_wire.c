// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Connections: pieces of their streams, what goes missing between them, their ends, and when only
 * the heads of pieces are wanted.
 */
#include "cache/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

struct seen {
	struct buf text;
	u64 heads_conn;
	u32 heads_on, heads_off;
};

static void told(void *ctx, const struct command *c, const struct client *from)
{
	static const char outcomes[] = "?+-!";
	struct seen *s = ctx;

	buf_printf(&s->text, "%u:%s %.*s%c ", from->port, proto_op_name(c->op), (int)c->key.n,
	           c->key.n ? c->key.p : "", outcomes[c->outcome]);
}

static void heads_only(void *ctx, u64 conn, bool yes)
{
	struct seen *s = ctx;

	s->heads_conn = conn;
	s->heads_on += yes;
	s->heads_off += !yes;
}

static struct wire *make(struct seen *s)
{
	struct wire_options o = {
		.protocol = PROTOCOL_AUTO, .command = told, .heads_only = heads_only, .ctx = s
	};

	*s = (struct seen){ 0 };
	return wire_new(&o);
}

static void moved(struct wire *w, u32 conn, bool asked, const char *text)
{
	struct wire_event e = { .conn = conn,
		                .asked = asked,
		                .total = strlen(text),
		                .bytes = (const u8 *)text,
		                .n = (u32)strlen(text),
		                .from = { .port = conn, .family = AF_UNIX } };

	wire_event(w, &e);
}

static void assert_told(struct seen *s, struct wire *w, const char *expected)
{
	assert_string_equal(buf_text(&s->text), expected);
	wire_free(w); /* tells what waits still */
	buf_free(&s->text);
}

static u64 unseen(const struct wire *w)
{
	struct wire_stats s;

	wire_stats(w, &s);
	return s.unseen;
}

static u64 lost(const struct wire *w)
{
	struct wire_stats s;

	wire_stats(w, &s);
	return s.lost;
}

static void connections_do_not_mix(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	moved(w, 1, true, "get a\r\n");
	moved(w, 2, true, "*2\r\n$3\r\nGET\r\n$1\r\nb\r\n");
	moved(w, 2, false, "$-1\r\n");
	moved(w, 1, false, "VALUE a 0 1\r\nx\r\nEND\r\n");
	wire_stats(w, &stats);
	assert_int_equal(stats.open, 2);
	assert_int_equal(stats.events, 4);
	assert_int_equal(wire_protocol(w), PROTOCOL_TEXT);
	assert_told(&s, w, "2:get b- 1:get a+ ");
}

/* ---- time on the processor ---- */

static void told_cpu(void *ctx, const struct command *c, const struct client *from)
{
	struct seen *s = ctx;

	(void)from;
	buf_printf(&s->text, "%.*s=%u ", (int)c->key.n, c->key.p, (u32)c->cpu);
}

struct did {
	u32 conn;
	bool asked;
	const char *text;
	u32 time, off, tid, cpu;
};

static void assert_spent(const struct did *did, u32 n, const char *expected)
{
	struct seen s = { 0 };
	struct wire_options o = { .protocol = PROTOCOL_TEXT, .command = told_cpu, .ctx = &s };
	struct wire *w = wire_new(&o);

	for (u32 i = 0; i < n; i++) {
		const struct did *d = &did[i];
		struct wire_event e = { .conn = d->conn,
			                .asked = d->asked,
			                .total = strlen(d->text),
			                .bytes = (const u8 *)d->text,
			                .n = (u32)strlen(d->text),
			                .time = d->time,
			                .off = d->off,
			                .tid = d->tid,
			                .cpu = d->cpu };

		wire_event(w, &e);
	}
	assert_told(&s, w, expected);
}

#define GET(key)    "get " key "\r\n"
#define VALUE(key)  "VALUE " key " 0 1\r\nx\r\nEND\r\n"
#define SPENT(x, n) assert_spent(x, ARRAY_SIZE(x), n)

/* What the thread does after a read is for that connection, whoever waits. */
static void each_has_its_own_time(void **state)
{
	static const struct did two[] = {
		{ 1, true, GET("a"), 100, 0, 7, 0 },     { 2, true, GET("b"), 130, 0, 7, 0 },
		{ 3, true, GET("c"), 630, 0, 7, 0 },     { 3, false, VALUE("c"), 640, 0, 7, 0 },
		{ 1, false, VALUE("a"), 645, 0, 7, 0 },  { 2, false, VALUE("b"), 652, 0, 7, 0 },
		{ 1, true, GET("a"), 9000, 0, 7, 0 }, /* it did nothing for anybody in between */
		{ 1, false, VALUE("a"), 9011, 0, 7, 0 },
	};

	(void)state;
	SPENT(two, "c=10 a=35 b=507 a=11 ");
}

/* What it was not on the processor for does not count, nor what is not known: another processor,
 * another thread, a number that does not fit. */
static void time_that_is_not_its_own(void **state)
{
	static const struct did off[] = {
		{ 1, true, GET("a"), 100, 5, 7, 0 },
		{ 1, false, VALUE("a"), 200, 65, 7, 0 },
		{ 1, true, GET("b"), 300, 65, 7, 0 },
		{ 1, false, VALUE("b"), 400, 65, 7, 1 },
		{ 1, true, GET("c"), 500, 65, 7, 1 },
		{ 1, false, VALUE("c"), 600, 65, 8, 1 },
		{ 1, true, GET("d"), 700, 65, 8, 1 },
		{ 1, false, VALUE("d"), 800, 166, 8, 1 },
		{ 1, true, GET("e"), 900, 166, 8, 1 },
		{ 1, false, VALUE("e"), 1000, 165, 8, 1 },
		{ 1, true, GET("f"), 1100, 0, 0, 1 },
		{ 1, false, VALUE("f"), 1200, 0, 0, 1 },
		/* 72 is where 8 was */
		{ 1, true, GET("g"), 1300, 0, 8, 1 },
		{ 2, true, GET("h"), 1301, 0, 72, 0 },
		{ 1, false, VALUE("g"), 1302, 0, 8, 1 },
	};

	(void)state;
	SPENT(off, "a=40 b=0 c=0 d=0 e=0 f=0 g=0 ");
}

static void keys_of_a_pipeline_share_it(void **state)
{
	static const struct did pipeline[] = {
		{ 1, true, GET("a b") GET("c") GET("d"), 100, 0, 7, 0 },
		{ 1, false, "VALUE a 0 1\r\nx\r\nVALUE b 0 1\r\nx\r\nEND\r\n", 180, 0, 7, 0 },
		{ 1, false, VALUE("c") VALUE("d"), 200, 0, 7, 0 },
		{ 1, true, "set e 0 0 2\r\n", 300, 0, 7, 0 }, /* in two reads */
		{ 1, true, "xy\r\n", 310, 0, 7, 0 },
		{ 1, false, "STORED\r\n", 315, 0, 7, 0 },
	};

	(void)state;
	SPENT(pipeline, "a=20 b=20 c=30 d=30 e=15 ");
}

/* The connection that the thread read from is no more. */
static void time_of_nobody(void **state)
{
	static const struct did ended[] = {
		{ 1, true, GET("a"), 100, 0, 7, 0 },
		{ 2, true, GET("b"), 150, 0, 7, 0 },
		{ 2, true, "", 160, 0, 7, 0 },
		{ 1, false, VALUE("a"), 200, 0, 7, 0 },
	};

	(void)state;
	SPENT(ended, "a=50 ");
}

static void an_end_and_a_new_start(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	moved(w, 1, true, "get 1\r\n");
	moved(w, 1, false, "END\r\n");
	moved(w, 1, true, "get a\r\n");
	moved(w, 1, true, ""); /* the client is gone, its question not answered */
	assert_int_equal(unseen(w), 1);
	moved(w, 1, true, "get b\r\n");
	moved(w, 1, false, "END\r\n");
	moved(w, 1, false, "");
	moved(w, 7, true, ""); /* nobody knew it */
	wire_stats(w, &stats);
	assert_int_equal(stats.open, 1);
	wire_clear(w);
	wire_stats(w, &stats);
	assert_int_equal(stats.open, 0);
	assert_int_equal(lost(w), 0);
	assert_told(&s, w, "1:get 1- 1:get a? 1:get b- ");
}

/* As iovec() leaves them: of a value only the head is there. */
static void pieces(void **state)
{
	static const u8 bytes[] = "\x0f\0\0\0\x0f\0\0\0VALUE a 0 600\r\n\0"
				  "\x5a\x02\0\0\x04\0\0\0xxxx\0\0\0\0"
				  "\x05\0\0\0\x05\0\0\0END\r\n\0\0\0";
	struct seen s;
	struct wire *w = make(&s);
	struct wire_event e = { .conn = 1,
		                .pieces = true,
		                .total = 15 + 602 + 5,
		                .bytes = bytes,
		                .n = sizeof(bytes) - 1,
		                .from = { .port = 1 } };

	(void)state;
	moved(w, 1, true, "get a\r\nget b\r\n");
	wire_event(w, &e);
	moved(w, 1, false, "END\r\n");
	assert_int_equal(lost(w), 0);
	assert_told(&s, w, "1:get a+ 1:get b- ");
}

/* All that `stats` says is one piece; the answers after it are others. */
static void statistics_between_others(void **state)
{
	static const u8 bytes[] = "\x05\0\0\0\x05\0\0\0END\r\n\0\0\0"
				  "\xd0\x07\0\0\x14\0\0\0STAT pid 1\r\nSTAT upt\0\0\0\0"
				  "\x05\0\0\0\x05\0\0\0END\r\n\0\0\0";
	struct seen s;
	struct wire *w = make(&s);
	struct wire_event e = { .conn = 1,
		                .pieces = true,
		                .total = 5 + 2000 + 5,
		                .bytes = bytes,
		                .n = sizeof(bytes) - 1,
		                .from = { .port = 1 } };

	(void)state;
	moved(w, 1, true, "get a\r\nstats\r\nget b\r\nget c\r\n");
	wire_event(w, &e);
	moved(w, 1, false, "VALUE c 0 1\r\nx\r\nEND\r\n");
	assert_int_equal(unseen(w), 0);
	assert_told(&s, w, "1:get a- 1:other ? 1:get b- 1:get c+ ");
}

/* Whatever the bytes say, nothing is read outside of them; what they do not cover is missing. */
static void broken_pieces(void **state)
{
	u8 bytes[64];
	struct seen s;
	struct wire *w = make(&s);

	(void)state;
	for (u32 round = 0; round < 20000; round++) {
		u8 *exact;
		u32 n = (u32)random() % sizeof(bytes);
		struct wire_event e = { .conn = round % 3,
			                .pieces = true,
			                .asked = round % 2,
			                .total = 1 + (u64)random() % 100,
			                .n = n };

		for (u32 i = 0; i < n; i++)
			bytes[i] = (u8)(random() % 4 ? 0 : random() % 40);
		exact = malloc(n + 1);
		memcpy(exact, bytes, n);
		e.bytes = exact;
		moved(w, round % 3, true, "get a\r\n");
		wire_event(w, &e);
		free(exact);
	}
	wire_clear(w);
	buf_reset(&s.text);
	moved(w, 1, true, "get a\r\n");
	moved(w, 1, false, "END\r\n");
	assert_told(&s, w, "1:get a- ");
}

static void placed(struct wire *w, bool asked, const char *text, u32 start)
{
	struct wire_event e = { .conn = 1,
		                .asked = asked,
		                .total = strlen(text),
		                .bytes = (const u8 *)text,
		                .n = (u32)strlen(text),
		                .placed = true,
		                .at = start + (u32)strlen(text),
		                .from = { .port = 1 } };

	wire_event(w, &e);
}

/* An answer that was not seen must not be given to the wrong question. */
static void a_gap_is_seen(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	placed(w, true, "get a\r\n", 0xfffffffc);
	placed(w, false, "END\r\n", 100);
	placed(w, true, "get b\r\n", 3); /* modulo 2^32 */
	/* its answer is missing */
	placed(w, true, "get c\r\n", 10);
	placed(w, false, "VALUE c 0 1\r\nx\r\nEND\r\n", 110);
	placed(w, true, "get d\r\n", 17);
	placed(w, false, "END\r\n", 131);
	wire_stats(w, &stats);
	assert_int_equal(stats.gaps, 1);
	assert_int_equal(stats.gap_bytes, 0);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.unseen, 2);
	placed(w, true, "get f\r\n", 31); /* "get e\r\n" is missing */
	placed(w, false, "END\r\n", 141);
	wire_stats(w, &stats);
	assert_int_equal(stats.gaps, 2);
	assert_int_equal(stats.gap_bytes, 7);
	placed(w, true, "get g\r\n", 39); /* the client sends no more: that takes a number */
	placed(w, false, "END\r\n", 146);
	wire_stats(w, &stats);
	assert_int_equal(stats.gap_bytes, 7);
	assert_int_equal(stats.lost, 0);
	assert_told(&s, w, "1:get a- 1:get b? 1:get c? 1:get d- 1:get f- 1:get g- ");
}

static void begun(struct wire *w, u32 conn, const char *text, u32 at)
{
	struct wire_event e = { .conn = conn,
		                .asked = true,
		                .total = strlen(text),
		                .bytes = (const u8 *)text,
		                .n = (u32)strlen(text),
		                .placed = true,
		                .start = 0xfffffffe,
		                .at = 0xfffffffe + at + (u32)strlen(text),
		                .from = { .port = conn } };

	wire_event(w, &e);
}

/* The first bytes of a connection are known to be such, whatever they are. */
static void first_bytes(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	begun(w, 1, "ge", 0);
	begun(w, 1, "t a\r\n", 2);
	begun(w, 2, "get b\r\n", 0);
	begun(w, 2, "get c\r\n", 9); /* bytes are missing */
	wire_event(w, &(struct wire_event){ .conn = 1, .asked = true });
	begun(w, 2, "get d\r\n", 0); /* another connection: that end was not seen */
	wire_stats(w, &stats);
	assert_int_equal(stats.unseen, 2);
	assert_int_equal(stats.unconfirmed, 1);
	assert_int_equal(stats.gap_bytes, 2);
	assert_told(&s, w, "2:get b? 1:get a? ");
}

static void sockets_without_places(void **state)
{
	struct seen s;
	struct wire *w = make(&s);

	(void)state;
	moved(w, 2, true, "get 1\r\n");
	moved(w, 2, false, "END\r\n");
	moved(w, 2, true, "get a\r\n");
	wire_lose(w); /* the answer may be what was lost */
	moved(w, 2, false, "END\r\n");
	moved(w, 2, true, "get b\r\n");
	moved(w, 2, false, "END\r\n");
	assert_int_equal(lost(w), 0);
	assert_int_equal(unseen(w), 1);
	assert_told(&s, w, "2:get 1- 2:get a? 2:get b- ");
}

/* A list that came in three events, of which each has the place and the length of the whole. */
static void chunk(struct wire *w, u32 number, bool more, const char *text)
{
	u8 bytes[64] = { (u8)strlen(text), 0, 0, 0, (u8)strlen(text) };
	struct wire_event e = { .conn = 1,
		                .pieces = true,
		                .chunk = number,
		                .more = more,
		                .total = 37,
		                .bytes = bytes,
		                .n = (u32)(8 + strlen(text)),
		                .from = { .port = 1 } };

	snprintf((char *)bytes + 8, sizeof(bytes) - 8, "%s", text);
	wire_event(w, &e);
}

static void lists_in_several_events(void **state)
{
	struct seen s;
	struct wire *w = make(&s);

	(void)state;
	moved(w, 1, true, "get a b c\r\n");
	chunk(w, 0, true, "VALUE a 0 1\r\nx\r\n");
	chunk(w, 1, true, "VALUE c 0 1\r\nx\r\n");
	chunk(w, 2, false, "END\r\n");
	assert_int_equal(unseen(w), 0);
	moved(w, 1, true, "get a b\r\n");
	chunk(w, 0, true, "VALUE a 0 1\r\nx\r\n");
	chunk(w, 2, false, "END\r\n"); /* number 1 was lost */
	assert_int_equal(unseen(w), 1);
	moved(w, 1, true, "get d\r\n");
	chunk(w, 0, true, "VALUE d 0 1\r\nx\r\n"); /* the others were lost */
	moved(w, 1, true, "get e\r\n");
	moved(w, 1, false, "END\r\n");
	moved(w, 1, true, "get f\r\n");
	moved(w, 1, false, "END\r\n");
	assert_int_equal(lost(w), 0);
	assert_told(&s, w,
	            "1:get a+ 1:get b- 1:get c+ 1:get a+ 1:get b? 1:get d+ 1:get e- 1:get f- ");
}

static void said(struct wire *w, bool asked, const char *text, u32 at, u32 start)
{
	struct wire_event e = { .conn = 1,
		                .asked = asked,
		                .total = strlen(text),
		                .bytes = (const u8 *)text,
		                .n = (u32)strlen(text),
		                .placed = true,
		                .start = start,
		                .at = at + (u32)strlen(text),
		                .from = { .port = 1 } };

	wire_event(w, &e);
}

#define ACK "*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$1\r\n0\r\n"

/* Where the server speaks first it asks; what it is told there are no requests. */
static void connections_of_the_server(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	said(w, false, "get x\r\n", 100, 0);
	said(w, true, "get a\r\n", 0, 0);
	said(w, false, "get y\r\n", 107, 0);
	said(w, true, "get b\r\n", 7, 0);
	wire_stats(w, &stats);
	assert_int_equal(stats.from_master, 0);
	said(w, false, ACK, 114, 0);
	said(w, true, "GET a\r\n", 14, 0);
	wire_stats(w, &stats);
	assert_int_equal(stats.from_master, 7);
	assert_int_equal(stats.unconfirmed + stats.lost + stats.unseen, 0);
	wire_clear(w);
	/* One that was open before, and one that only answers so. */
	said(w, true, "*2\r\n$3\r\nGET\r\n$1\r\nb\r\n", 50, 0);
	said(w, false, ACK, 50, 0);
	said(w, true, "12345", 70, 0);
	wire_stats(w, &stats);
	assert_int_equal(stats.from_master, 12);
	assert_int_equal(stats.unconfirmed, 1);
	wire_clear(w);
	said(w, true, "*2\r\n$8\r\nSMEMBERS\r\n$1\r\nb\r\n", 0, 0);
	said(w, false, ACK, 50, 0);
	wire_stats(w, &stats);
	assert_int_equal(stats.from_master, 12);
	assert_told(&s, w, "1:read b+ ");
}

/* Reads that were lost asked as much as others of their size. */
static void guesses(void **state)
{
	struct asked_lost lost = { .reads = { 10, 0, 7, 0, 3, 2 },
		                   .bytes = { 400, 0, 2800, 0, 30000, 60000 } };
	struct asked a = { 0 };
	struct asked_guess g;

	(void)state;
	assert_int_equal(asked_class(63), 0);
	assert_int_equal(asked_class(64), 1);
	assert_int_equal(asked_class(16383), 4);
	assert_int_equal(asked_class(16384), 5);
	assert_int_equal(asked_class(UINT64_MAX), 5);
	g = asked_guess(&a, &lost);
	assert_true(g.commands == 22 && g.error > 10); /* nothing is known: one each */
	for (u32 i = 0; i < 100; i++) {
		asked_add(&a, 20 + i % 40, 1);                   /* one, of any size */
		asked_add(&a, 300 + 10 * (i % 60), 30 + i % 60); /* one for each ten bytes */
		asked_add(&a, 10000, 2 * (i % 2));               /* two or none */
		asked_add(&a, 20000, 0);                         /* the rest of something */
	}
	g = asked_guess(&a, &lost);
	assert_true(g.commands > 10 + 280 + 3 - 1e-6 && g.commands < 10 + 280 + 3 + 1e-6);
	assert_true(g.error > 1.7 && g.error < 1.8); /* that of two or none, three times */
	/* A size that was not seen: as many a byte as others. */
	lost = (struct asked_lost){ .reads[3] = 1, .bytes[3] = 3030000 };
	g = asked_guess(&a, &lost);
	assert_true(g.commands > 5000 && g.commands < 6500 && g.error >= g.commands);
	/* Of a few bytes that is none, and may be as many as there were reads. */
	lost = (struct asked_lost){ .reads[1] = 3, .bytes[1] = 200 };
	g = asked_guess(&a, &lost);
	assert_true(g.commands < 1 && g.error >= 3);
	/* Seen once: as many as then, and no more is known. */
	asked_add(&a, 100, 2);
	g = asked_guess(&a, &lost);
	assert_true(g.commands == 6 && g.error >= 6);
}

static void silent_ones_go_first(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	for (u32 i = 0; i < WIRE_CONNECTIONS; i++)
		moved(w, i, true, "get a\r\n");
	moved(w, 0, true, "get b\r\n");
	moved(w, WIRE_CONNECTIONS, true, "get a\r\n");
	wire_stats(w, &stats);
	assert_int_equal(stats.open, WIRE_CONNECTIONS);
	assert_int_equal(stats.unconfirmed, 2); /* number 1; number 0 did not wait for its answer */
	moved(w, 0, false, "END\r\n");
	moved(w, 1, false, "END\r\n"); /* it was forgotten */
	assert_told(&s, w, "0:get b- ");
}

static bool is_even(void *ctx, u64 conn)
{
	(void)ctx;
	return conn % 2 == 0;
}

static void closed_ones_are_forgotten(void **state)
{
	struct wire_event e = {
		.asked = true, .total = 7, .bytes = (const u8 *)"get a\r\n", .n = 7
	};
	struct wire_stats stats;
	struct seen s;
	struct wire *w = make(&s);

	(void)state;
	wire_forget(w, 0, is_even, NULL);
	for (u32 i = 0; i < 10; i++) {
		e.conn = i;
		e.time = 1000 + i;
		wire_event(w, &e);
	}
	wire_forget(w, 5, is_even, NULL); /* of 0 to 3 */
	wire_stats(w, &stats);
	assert_int_equal(stats.open, 8);
	e.conn = 0; /* that of number 2 is the oldest now */
	e.time = 2000;
	wire_event(w, &e);
	wire_forget(w, 5, is_even, NULL);
	wire_stats(w, &stats);
	assert_int_equal(stats.open, 5);
	wire_free(w);
	buf_free(&s.text);
}

static void store(struct wire *w, u32 size, u32 kept)
{
	struct buf b = { 0 };
	struct wire_event e = { .conn = 9, .asked = true };

	buf_printf(&b, "set k 0 0 %u\r\n", size);
	buf_fill(&b, 'x', size);
	buf_puts(&b, "\r\n");
	e.total = b.n;
	e.n = (u32)MIN(b.n, kept);
	e.bytes = (const u8 *)b.p;
	wire_event(w, &e);
	moved(w, 9, false, "STORED\r\n");
	buf_free(&b);
}

/* What begins a request and is cut is lost, though no key waits whose answer would be unseen. */
static void cut_with_nothing_waiting(void **state)
{
	struct wire_event e = {
		.conn = 9, .asked = true, .total = 100, .n = 5, .bytes = (const u8 *)"get k"
	};
	struct seen s;
	struct wire *w = make(&s);

	(void)state;
	for (u32 i = 0; i < 20; i++)
		store(w, 10, 4000);
	assert_int_equal(lost(w), 0);
	wire_event(w, &e);
	assert_int_equal(lost(w), 1);
	assert_int_equal(unseen(w), 0);
	wire_free(w);
	buf_free(&s.text);
}

/* Large values: their heads will do. Two stores in one read: all is needed again, and for good. */
static void values_are_not_wanted(void **state)
{
	struct seen s;
	struct wire *w = make(&s);

	(void)state;
	for (u32 i = 0; i < 20; i++)
		store(w, 4000, 4000);
	assert_int_equal(s.heads_on, 1);
	assert_int_equal(s.heads_off, 0);
	assert_int_equal(s.heads_conn, 9);
	for (u32 i = 0; i < 200; i++)
		store(w, 4000, 512);
	assert_int_equal(lost(w), 0);
	assert_int_equal(s.heads_off, 0);
	{
		char text[700] = "set k 0 0 300\r\n";
		struct wire_event e = {
			.conn = 9, .asked = true, .total = 700, .n = 200, .bytes = (const u8 *)text
		};

		wire_event(w, &e);
	}
	assert_int_equal(lost(w), 1);
	assert_int_equal(unseen(w), 1);
	assert_int_equal(s.heads_off, 1);
	for (u32 i = 0; i < 40; i++)
		store(w, 4000, 4000);
	assert_int_equal(s.heads_on, 1);
	wire_free(w);
	buf_free(&s.text);
}

/* Who captured may be gone before it. */
static void freed_it_calls_nobody(void **state)
{
	struct seen s;
	struct wire *w = make(&s);

	(void)state;
	for (u32 i = 0; i < 20; i++)
		store(w, 4000, 4000);
	wire_free(w);
	assert_int_equal(s.heads_on, 1);
	assert_int_equal(s.heads_off, 0);
	buf_free(&s.text);
}

static void small_keys_are_wanted_whole(void **state)
{
	struct seen s;
	struct wire *w = make(&s);

	(void)state;
	for (u32 i = 0; i < 2000; i++)
		store(w, 100, 4000);
	assert_int_equal(s.heads_on, 0);
	wire_free(w);
	buf_free(&s.text);
}

/* A list: its parts are small, so nothing in it can be left out. */
static void lists_are_wanted_whole(void **state)
{
	struct buf list = { 0 };
	struct seen s;
	struct wire *w = make(&s);

	(void)state;
	buf_puts(&list, "*100\r\n");
	for (u32 i = 0; i < 100; i++)
		buf_puts(&list, "$3\r\nabc\r\n");
	for (u32 i = 0; i < 200; i++) {
		moved(w, 1, true, "*4\r\n$6\r\nLRANGE\r\n$1\r\nl\r\n$1\r\n0\r\n$2\r\n99\r\n");
		moved(w, 1, false, buf_text(&list));
	}
	assert_int_equal(lost(w), 0);
	assert_int_equal(s.heads_on, 0);
	buf_free(&list);
	wire_free(w);
	buf_free(&s.text);
}

/* A packet of connection 1, whose requests begin at `start` when that is known; else 0. */
static void packet(struct wire *w, bool asked, u32 at, const char *text, u32 start, u32 acked)
{
	struct wire_event e = { .conn = 1,
		                .asked = asked,
		                .packet = true,
		                .total = strlen(text),
		                .bytes = (const u8 *)text,
		                .n = (u32)strlen(text),
		                .placed = true,
		                .at = at + (u32)strlen(text),
		                .acked = acked,
		                .from = { .port = 1 } };

	e.start = start ? start : e.at;
	wire_event(w, &e);
}

/* What comes twice counts once, and what comes early waits. */
static void packets_in_any_order(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	packet(w, true, 2, "a\r\nget b\r\n", 0xfffffffe, 0); /* modulo 2^32 */
	packet(w, true, 0xfffffffe, "ge", 0xfffffffe, 0);
	packet(w, true, 0xfffffffe, "get ", 0xfffffffe, 0); /* sent anew, more of it */
	packet(w, true, 2, "a\r\n", 0, 0);
	packet(w, false, 100, "END\r\nVALUE b 0 1\r\n", 0, 12);
	packet(w, false, 100, "END\r\nVALUE b 0 1\r\nx\r\nEND\r\n", 0, 12);
	wire_stats(w, &stats);
	assert_int_equal(stats.gaps, 0);
	assert_int_equal(stats.lost + stats.unseen + stats.unconfirmed, 0);
	assert_told(&s, w, "1:get a- 1:get b+ ");
}

/* The packet that opens a connection says where its requests begin; another one than before ends
 * what there was. */
static void packets_that_open(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	packet(w, true, 0xfffffffd, "", 0xfffffffe, 0);
	packet(w, true, 2, "a\r\nget b\r\n", 0, 0);
	packet(w, true, 0xfffffffd, "", 0xfffffffe, 0); /* sent anew */
	packet(w, true, 0xfffffffe, "get ", 0, 0);
	packet(w, false, 100, "END\r\nEND\r\n", 0, 12);
	packet(w, true, 12, "get ", 0, 0);
	packet(w, true, 70, "", 71, 0);
	packet(w, true, 74, " c\r\n", 0, 0);
	packet(w, true, 71, "get", 0, 0);
	packet(w, false, 500, "END\r\n", 0, 78);
	wire_stats(w, &stats);
	assert_int_equal(stats.gaps, 0);
	assert_int_equal(stats.open, 1);
	assert_told(&s, w, "1:get a- 1:get b- 1:get c- ");
}

/* An answer says what was received: what did not come here by then is lost. */
static void packets_that_are_lost(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	packet(w, true, 1, "get a\r\n", 1, 0);
	packet(w, false, 100, "END\r\n", 0, 8);
	packet(w, true, 15, "get c\r\n", 0, 0); /* "get b\r\n" is missing */
	packet(w, false, 105, "END\r\n", 0, 22);
	packet(w, true, 22, "get d\r\n", 0, 0);
	packet(w, false, 110, "END\r\n", 0, 29);
	wire_stats(w, &stats);
	assert_int_equal(stats.gaps, 1);
	assert_int_equal(stats.gap_bytes, 7);
	wire_event(w, &(struct wire_event){ .conn = 1, .packet = true, .ends = true });
	wire_stats(w, &stats);
	assert_int_equal(stats.open, 0);
	assert_told(&s, w, "1:get a- 1:get c- 1:get d- ");
}

/* No answer comes, and early packets do not wait for ever. */
static void early_packets_are_bounded(void **state)
{
	struct seen s;
	struct wire *w = make(&s);
	struct wire_stats stats;

	(void)state;
	packet(w, true, 1, "get a\r\n", 1, 0);
	for (u32 i = 0; i < 66; i++) /* of 64 there is room */
		packet(w, true, 8 + 7 * (66 - i), "get b\r\n", 0, 0);
	wire_stats(w, &stats);
	assert_int_equal(stats.gaps, 1);
	wire_free(w);
	buf_free(&s.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_do_not_mix),
		cmocka_unit_test(an_end_and_a_new_start),
		cmocka_unit_test(pieces),
		cmocka_unit_test(statistics_between_others),
		cmocka_unit_test(broken_pieces),
		cmocka_unit_test(a_gap_is_seen),
		cmocka_unit_test(first_bytes),
		cmocka_unit_test(sockets_without_places),
		cmocka_unit_test(lists_in_several_events),
		cmocka_unit_test(connections_of_the_server),
		cmocka_unit_test(guesses),
		cmocka_unit_test(silent_ones_go_first),
		cmocka_unit_test(closed_ones_are_forgotten),
		cmocka_unit_test(cut_with_nothing_waiting),
		cmocka_unit_test(values_are_not_wanted),
		cmocka_unit_test(each_has_its_own_time),
		cmocka_unit_test(time_that_is_not_its_own),
		cmocka_unit_test(keys_of_a_pipeline_share_it),
		cmocka_unit_test(time_of_nobody),
		cmocka_unit_test(freed_it_calls_nobody),
		cmocka_unit_test(small_keys_are_wanted_whole),
		cmocka_unit_test(lists_are_wanted_whole),
		cmocka_unit_test(packets_in_any_order),
		cmocka_unit_test(packets_that_open),
		cmocka_unit_test(packets_that_are_lost),
		cmocka_unit_test(early_packets_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
