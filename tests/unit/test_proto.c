// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Protocols of caches: what a client sends and a server answers, and the commands that come out.
 * Each conversation is told whole, byte by byte, cut into two at each byte, and as one of a
 * connection that was open before; the same commands must come out. Real servers are talked to as
 * well.
 */
#include "proto/proto.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"

static const char *const outcomes[] = { "?", "hit", "miss", "error" };

static bool expecting;

static u64 expect(void *ctx, struct str key)
{
	u64 sum = 1;

	(void)ctx;
	for (u32 i = 0; i < key.n; i++)
		sum = sum * 31 + (u8)key.p[i];
	return sum;
}

/* "op key outcome [size] [!] ": '!' for one without an answer, '+' for a key that goes on. */
static void tell(void *ctx, const struct command *c)
{
	struct buf *b = ctx;

	if (!c->first)
		buf_putc(b, '+');
	buf_printf(b, "%s", proto_op_name(c->op));
	if (c->key.n) {
		buf_putc(b, ' ');
		buf_add(b, c->key.p, c->key.n);
	}
	buf_printf(b, " %s", outcomes[c->outcome]);
	if (c->sized)
		buf_printf(b, " %llu", (unsigned long long)c->size);
	if (!c->answered)
		buf_putc(b, '!');
	buf_putc(b, '\n');
	assert_int_equal(c->expected, expecting && c->key.n ? expect(NULL, c->key) : 0);
	assert_true(c->answered ? c->ended >= c->started : c->ended == 0);
}

typedef void (*feed)(struct proto *c, const void *p, size_t n, size_t total, u64 time);

/* In pieces of at most `step` bytes, each captured up to `keep` bytes. */
static void feed_in_steps(struct proto *c, feed f, const char *p, size_t n, size_t step,
                          size_t keep)
{
	for (size_t done = 0; done < n;) {
		size_t k = MIN(step, n - done);

		f(c, p + done, MIN(k, keep), k, 1);
		done += k;
	}
}

struct said {
	enum protocol protocol;
	const char *in, *out;
	size_t n_in, n_out;
};

/* Requests up to `cut`, then the rest in steps, then the answers in steps. `begun`: these are the
 * connection's first bytes. */
static void say(const struct said *s, bool begun, size_t cut, size_t step, const char *want)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(s->protocol, tell, &got);

	expecting = cut % 2;
	proto_set_expect(c, expecting ? expect : NULL);
	if (begun)
		proto_begin(c);
	proto_request(c, s->in, cut, cut, 0);
	feed_in_steps(c, proto_request, s->in + cut, s->n_in - cut, step, SIZE_MAX);
	feed_in_steps(c, proto_reply, s->out, s->n_out, step, SIZE_MAX);
	assert_string_equal(buf_text(&got), want);
	assert_int_equal(proto_lost(c), 0);
	assert_int_equal(proto_unconfirmed(c), 0);
	proto_free(c);
	buf_free(&got);
	expecting = false;
}

/* Of a connection's first bytes only. */
static void begun(enum protocol protocol, const char *in, const char *out, const char *want)
{
	struct said s = { protocol, in, out, strlen(in), strlen(out) };

	for (size_t cut = 0; cut < s.n_in; cut++)
		say(&s, true, cut, cut % 2 ? SIZE_MAX : 1, want);
}

static void conversation(enum protocol protocol, const char *in, size_t n_in, const char *out,
                         size_t n_out, const char *want)
{
	static const size_t steps[] = { SIZE_MAX, 1, 2, 3, 7, 64 };
	struct said s = { protocol, in, out, n_in, n_out };

	for (u32 i = 0; i < ARRAY_SIZE(steps); i++)
		say(&s, true, 0, steps[i], want);
	for (size_t cut = 1; cut < n_in; cut++)
		say(&s, true, cut, SIZE_MAX, want);
	say(&s, false, n_in, SIZE_MAX, want);
	say(&s, false, n_in, 1, want);
}

static void text(const char *in, const char *out, const char *want)
{
	conversation(PROTOCOL_AUTO, in, strlen(in), out, strlen(out), want);
}

static void resp(const char *in, const char *out, const char *want)
{
	conversation(PROTOCOL_RESP, in, strlen(in), out, strlen(out), want);
}

static void test_classic(void **state)
{
	(void)state;
	text("get a\r\n", "VALUE a 0 5\r\nhello\r\nEND\r\n", "get a hit 5\n");
	text("get a\r\n", "END\r\n", "get a miss\n");
	text("gets a b  c\r\n", "VALUE b 0 2 77\r\nxx\r\nEND\r\n",
	     "get a miss\n+get b hit 2\n+get c miss\n");
	text("get a b\r\nget c\r\n", "VALUE b 0 0\r\n\r\nEND\r\nEND\r\n",
	     "get a miss\n+get b hit 0\nget c miss\n");
	text("gat 100 a\r\n", "VALUE a 0 1\r\nx\r\nEND\r\n", "get a hit 1\n");
	text("set a 0 0 5\r\nget b\r\nadd b 1 2 0\r\n\r\n", "STORED\r\nNOT_STORED\r\n",
	     "set a hit 5\nadd b miss 0\n");
	text("replace a 0 0 1\r\nx\r\nappend a 0 0 1\r\nx\r\nprepend a 0 0 1\r\nx\r\n"
	     "cas a 0 0 1 99\r\nx\r\n",
	     "STORED\r\nSTORED\r\nNOT_STORED\r\nEXISTS\r\n",
	     "replace a hit 1\nappend a hit 1\nprepend a miss 1\ncas a miss 1\n");
	text("incr n 1\r\ndecr n 1\r\ntouch n 9\r\ndelete n\r\ndelete n 0\r\n",
	     "2\r\nNOT_FOUND\r\nTOUCHED\r\nDELETED\r\nNOT_FOUND\r\n",
	     "incr n hit\ndecr n miss\ntouch n hit\ndelete n hit\ndelete n miss\n");
	text("set a 0 0 2 noreply\r\nab\r\ndelete a noreply\r\nget a\r\n", "END\r\n",
	     "set a ? 2!\ndelete a ?!\nget a miss\n");
	text("set big 0 0 20\r\nxxxxxxxxxxxxxxxxxxxx\r\nget a\r\n",
	     "SERVER_ERROR object too large for cache\r\nEND\r\n",
	     "set big error 20\nget a miss\n");
	text("version\r\nstats\r\nnonsense\r\nget\r\nget a\r\n",
	     "VERSION 1\r\nSTAT pid 1\r\nSTAT x END\r\nEND\r\nERROR\r\nERROR\r\nEND\r\n",
	     "other ?\nother ?\nother error\nother error\nget a miss\n");
}

/* A key has up to 250 bytes. */
static void test_key_length(void **state)
{
	char in[300], want[300];

	(void)state;
	for (int n = 249; n <= 251; n++) {
		snprintf(in, sizeof(in), "delete %0*d\r\n", n, 1);
		snprintf(want, sizeof(want), n <= 250 ? "delete %0*d hit\n" : "other error\n", n,
		         1);
		text(in, n <= 250 ? "DELETED\r\n" : "CLIENT_ERROR\r\n", want);
	}
}

static void test_meta(void **state)
{
	(void)state;
	text("mg a v\r\nmg a s\r\nmg b v\r\nmg b\r\n", "VA 3 \r\nabc\r\nHD s3\r\nEN\r\nHD\r\n",
	     "get a hit 3\nget a hit 3\nget b miss\nget b hit\n");
	text("ms a 2\r\nxy\r\nms a 2 ME\r\nxy\r\nms a 2 C5\r\nxy\r\nmd a\r\nma n\r\nma n MD\r\n"
	     "me a\r\n",
	     "HD\r\nNS\r\nEX\r\nHD\r\nNF\r\nVA 1\r\n7\r\nME a exp=-1\r\n",
	     "set a hit 2\nadd a miss 2\ncas a miss 2\ndelete a hit\nincr n miss\ndecr n hit\n"
	     "other a hit\n");
	/* Quiet: misses of reads and successes of writes are left out. */
	text("mg a v q\r\nmg b v q\r\nmg c v q k\r\nmd d q\r\nmn\r\n", "VA 1 kc\r\nx\r\nMN\r\n",
	     "get a miss!\nget b miss!\nget c hit 1\ndelete d hit!\nother ?\n");
	text("mg a v q O1\r\nmg b v q O2\r\nmn\r\n", "VA 1 O2\r\nx\r\nMN\r\n",
	     "get a miss!\nget b hit 1\nother ?\n");
	text("ms a 1 q\r\nx\r\nms b 1 q\r\nx\r\nmg c v\r\n", "NS\r\nEN\r\n",
	     "set a miss 1\nset b hit 1!\nget c miss\n");
	text("mg a v q\r\nget b\r\n", "VALUE b 0 1\r\nx\r\nEND\r\n", "get a miss!\nget b hit 1\n");
	text("mg Zm9v b v\r\n", "VA 1 b\r\nx\r\n", "get foo hit 1\n");
	text("ma n M-\r\nma n M+\r\n", "HD\r\nNF\r\n", "decr n hit\nincr n miss\n");
}

/* Which of several the error is for: quiet ones that went well say nothing. */
static void test_errors(void **state)
{
	(void)state;
	text("ms a 1 q\r\nx\r\nmd a q\r\nmg a v q\r\nms a\r\nmg b\r\n",
	     "CLIENT_ERROR bad command line format\r\nEN\r\n",
	     "set a hit 1!\ndelete a hit!\nget a miss!\nset a error\nget b miss\n");
	text("ms a 1 q\r\nx\r\nnonsense\r\nmg b\r\n", "ERROR\r\nEN\r\n",
	     "set a hit 1!\nother error\nget b miss\n");
	text("mg a q\r\nma n q\r\nms a 1\r\nx\r\n",
	     "CLIENT_ERROR cannot increment or decrement non-numeric value\r\nHD\r\n",
	     "get a miss!\nincr n error\nset a hit 1\n");
	text("mg a q\r\nms a 1 q\r\nx\r\nmn\r\n",
	     "SERVER_ERROR object too large for cache\r\nMN\r\n",
	     "get a miss!\nset a error 1\nother ?\n");
	text("mg a q zz\r\nmg b\r\n", "CLIENT_ERROR invalid flag\r\nEN\r\n",
	     "get a error\nget b miss\n");
}

/* What is not there is made: the key that won was not there, and neither perhaps a counter that has
 * the value it starts with. */
static void test_meta_makes(void **state)
{
	(void)state;
	text("mg a N9\r\nmg a N9\r\nmg a N9 v\r\nmg a N9 v\r\nmg a N9 R30 v\r\n",
	     "HD W\r\nHD Z\r\nVA 0 W\r\n\r\nVA 1 W\r\nx\r\nVA 0 W\r\n\r\n",
	     "get a miss\nget a hit\nget a miss 0\nget a hit 1\nget a ? 0\n");
	text("mg a N9\r\n", "HD W X\r\n", "get a hit\n");
	text("ma n N0\r\nma n N0 v\r\nma n N0 J7 v\r\nma n N0 J7 v\r\nma n v\r\nma n N0 "
	     "q\r\nmn\r\n",
	     "HD\r\nVA 1\r\n0\r\nVA 1\r\n7\r\nVA 2\r\n19\r\nVA 1\r\n0\r\nMN\r\n",
	     "incr n ?\nincr n ?\nincr n ?\nincr n hit\nincr n hit\nincr n ?!\nother ?\n");
	begun(PROTOCOL_MEMCACHED, "ma n N0 v\r\n", "VA x\r\n", "incr n ?!\n");
	text("ma n N0 v\r\nget a\r\n", "VA 1\r\nERROR\r\nEND\r\n", "incr n ?\nget a miss\n");
}

/* How the server counts each key, as "counter:way". */
static void tell_counted(void *ctx, const struct command *c)
{
	static const char *const counters[COUNTERS] = {
		[COUNTER_GET] = "get",   [COUNTER_TOUCH] = "touch",   [COUNTER_SET] = "set",
		[COUNTER_CAS] = "cas",   [COUNTER_DELETE] = "delete", [COUNTER_INCR] = "incr",
		[COUNTER_DECR] = "decr", [COUNTER_LOOKUP] = "lookup", [COUNTER_RESET] = "reset",
	};
	static const char *const ways[COUNTED_WAYS] = {
		"-", "hit", "miss", "bad", "either", "maybe"
	};
	struct buf *b = ctx;

	if (c->counter)
		buf_printf(b, "%s:%s ", counters[c->counter], ways[c->counted]);
	else
		buf_puts(b, "- ");
}

static void counted(enum protocol protocol, const char *in, size_t n_in, const char *out,
                    size_t n_out, const char *want)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(protocol, tell_counted, &got);

	proto_begin(c);
	proto_request(c, in, n_in, n_in, 0);
	proto_reply(c, out, n_out, n_out, 1);
	proto_lose_replies(c);
	assert_string_equal(buf_text(&got), want);
	proto_free(c);
	buf_free(&got);
}

/* A server that ends a connection may not have counted what it was asked there. */
static void test_counted_at_the_end(void **state)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_MEMCACHED, tell_counted, &got);

	(void)state;
	proto_begin(c);
	proto_request(c, "get a b\r\nset c 0 0 1\r\nx\r\n", 25, 25, 0);
	proto_end(c);
	assert_string_equal(buf_text(&got), "get:maybe get:maybe set:maybe ");
	assert_int_equal(proto_lost(c), 0);
	assert_int_equal(proto_unseen(c), 3);
	proto_free(c);
	buf_free(&got);
}

/* What memcached counts is not always what happened. */
static void test_counted(void **state)
{
	static const struct {
		const char *in, *out, *want;
	} cases[] = {
		{ "gat 1 a b\r\nget a b\r\n", "VALUE a 0 1\r\nx\r\nEND\r\nEND\r\n",
		  "touch:hit touch:miss get:miss get:miss " },
		{ "mg a T9\r\nmg a T9\r\nmg a\r\nmg a\r\n", "EN\r\nHD\r\nHD\r\nEN\r\n",
		  "get:miss touch:hit get:hit get:miss " },
		{ "mg a N9 v\r\nmg a N9\r\nmg a T1 N9\r\n", "VA 0 W\r\n\r\nHD\r\nHD W\r\n",
		  "get:hit get:hit touch:hit " },
		{ "ma n N0\r\nma n N0 J5 v MD\r\nma n\r\nma n C1\r\n",
		  "HD\r\nVA 1\r\n7\r\nNF\r\nEX\r\n", "incr:maybe decr:hit incr:miss - " },
		{ "md a I\r\nmd a I\r\nmd a C1\r\nmd a\r\n", "HD\r\nNF\r\nEX\r\nHD\r\n",
		  "- delete:miss delete:miss delete:hit " },
		{ "ms a 1 C1\r\nx\r\nms a 1 C1 MR\r\nx\r\nms a 1 C1\r\nx\r\nms a 1 MA C1\r\nx\r\n",
		  "EX\r\nNF\r\nHD\r\nEX\r\n", "cas:bad cas:miss cas:hit set:miss " },
		{ "delete a noreply\r\nset a 0 0 1 noreply\r\nx\r\n", "",
		  "delete:maybe set:maybe " },
		{ "set a 0 0 1\r\nxyz\r\n", "CLIENT_ERROR bad data chunk\r\nERROR\r\n",
		  "set:miss - " },
		{ "incr a 1\r\ntouch a x\r\nset a 0 0 1\r\nx\r\n",
		  "CLIENT_ERROR cannot\r\nCLIENT_ERROR invalid\r\nSERVER_ERROR object too "
		  "large\r\n",
		  "- - - " },
		{ "get a b\r\nstats reset\r\nstats\r\n",
		  "CLIENT_ERROR line too long\r\nRESET\r\nEND\r\n",
		  "get:maybe get:maybe reset:maybe - " },
		{ "get a b\r\ndelete a\r\n", "", "get:either get:either delete:maybe " },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		counted(PROTOCOL_TEXT, cases[i].in, strlen(cases[i].in), cases[i].out,
		        strlen(cases[i].out), cases[i].want);
}

static void packet(struct buf *b, u8 magic, u8 opcode, u32 opaque, u16 status, const char *extras,
                   size_t n_extras, const char *key, const char *value)
{
	u32 body = (u32)(n_extras + strlen(key) + strlen(value));
	u8 h[24] = { magic,
		     opcode,
		     (u8)(strlen(key) >> 8),
		     (u8)strlen(key),
		     (u8)n_extras,
		     0,
		     (u8)(status >> 8),
		     (u8)status,
		     (u8)(body >> 24),
		     (u8)(body >> 16),
		     (u8)(body >> 8),
		     (u8)body,
		     0,
		     0,
		     0,
		     (u8)opaque };

	buf_add(b, h, sizeof(h));
	buf_add(b, extras, n_extras);
	buf_puts(b, key);
	buf_puts(b, value);
}

static void test_binary(void **state)
{
	struct buf in = { 0 }, out = { 0 };

	(void)state;
	packet(&in, 0x80, 0x01, 1, 0, "\0\0\0\0\0\0\0\0", 8, "key", "value");
	packet(&in, 0x80, 0x00, 2, 0, "", 0, "key", "");
	packet(&in, 0x80, 0x00, 3, 0, "", 0, "absent", "");
	packet(&in, 0x80, 0x09, 4, 0, "", 0, "q1", "");
	packet(&in, 0x80, 0x0d, 5, 0, "", 0, "q2", "");
	packet(&in, 0x80, 0x11, 6, 0, "\0\0\0\0\0\0\0\0", 8, "q3", "");
	packet(&in, 0x80, 0x10, 7, 0, "", 0, "", "");
	packet(&in, 0x80, 0x05, 8, 0, "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20, "n", "");
	packet(&in, 0x80, 0x04, 9, 0, "", 0, "key", "");
	packet(&in, 0x80, 0x0a, 10, 0, "", 0, "", "");
	packet(&out, 0x81, 0x01, 1, 0, "", 0, "", "");
	packet(&out, 0x81, 0x00, 2, 0, "\0\0\0\0", 4, "", "value");
	packet(&out, 0x81, 0x00, 3, 1, "", 0, "", "Not found");
	packet(&out, 0x81, 0x0d, 5, 0, "\0\0\0\0", 4, "q2", "four");
	packet(&out, 0x81, 0x10, 7, 0, "", 0, "pid", "1");
	packet(&out, 0x81, 0x10, 7, 0, "", 0, "", "");
	packet(&out, 0x81, 0x05, 8, 6, "", 0, "", "Non-numeric");
	packet(&out, 0x81, 0x04, 9, 0, "", 0, "", "");
	packet(&out, 0x81, 0x0a, 10, 0, "", 0, "", "");
	conversation(PROTOCOL_AUTO, in.p, in.n, out.p, out.n,
	             "set key hit 5\nget key hit 5\nget absent miss\nget q1 miss!\nget q2 hit 4\n"
	             "set q3 hit 0!\nother ?\nincr n error\ndelete key hit\nother ?\n");
	buf_free(&in);
	buf_free(&out);
}

/* A counter that has the value it starts with may have been made; its value may come in pieces. */
static void test_binary_makes(void **state)
{
	static const char extras[20] = { 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5 };
	struct buf in = { 0 }, out = { 0 };

	(void)state;
	packet(&in, 0x80, 0x05, 1, 0, extras, 20, "n", "");
	packet(&in, 0x80, 0x05, 2, 0, extras, 20, "n", "");
	packet(&in, 0x80, 0x06, 3, 0, extras, 20, "n", "");
	packet(&in, 0x80, 0x0b, 4, 0, "", 0, "", "");
	packet(&in, 0x80, 0x0c, 5, 0, "", 0, "k", "");
	packet(&out, 0x81, 0x05, 1, 0, "\0\0\0\0\0\0\0\5", 8, "", "");
	packet(&out, 0x81, 0x05, 2, 0, "\0\0\0\0\0\0\0\6", 8, "", "");
	packet(&out, 0x81, 0x06, 3, 0, "\1\0\0\0\0\0\0\5", 8, "", "");
	packet(&out, 0x81, 0x0b, 4, 0, "", 0, "", "1.6");
	packet(&out, 0x81, 0x0c, 5, 0, "\0\0\0\0", 4, "k", "v");
	conversation(PROTOCOL_MEMCACHED, in.p, in.n, out.p, out.n,
	             "incr n ?\nincr n hit\ndecr n hit\nother ?\nget k hit 1\n");
	buf_free(&in);
	buf_free(&out);
}

/* Those that say nothing when they went well: all that are not answered before the next one. */
static void test_binary_quiet(void **state)
{
	static const u8 codes[] = { 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
		                    0x19, 0x1a, 0x09, 0x0d, 0x1e, 0x24 };
	static const u8 n_extras[] = { 8, 8, 8, 0, 20, 20, 0, 0, 0, 0, 4, 4 };
	static const char extras[20] = { 0 };
	struct buf in = { 0 }, out = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(codes); i++)
		packet(&in, 0x80, codes[i], i, 0, extras, n_extras[i], "k", "");
	packet(&in, 0x80, 0x0a, 99, 0, "", 0, "", "");
	packet(&out, 0x81, 0x0a, 99, 0, "", 0, "", "");
	conversation(PROTOCOL_MEMCACHED, in.p, in.n, out.p, out.n,
	             "set k hit 0!\nadd k hit 0!\nreplace k hit 0!\ndelete k hit!\n"
	             "incr k ?!\ndecr k ?!\nappend k hit 0!\nprepend k hit 0!\n"
	             "get k miss!\nget k miss!\nget k miss!\nget k miss!\nother ?\n");
	buf_free(&in);
	buf_free(&out);
}

/* An answer to nothing is passed over. */
static void test_binary_unasked(void **state)
{
	struct buf in = { 0 }, out = { 0 }, got = { 0 };
	struct proto *c = proto_new(PROTOCOL_MEMCACHED, tell, &got);

	(void)state;
	packet(&in, 0x80, 0x00, 1, 0, "", 0, "k", "");
	packet(&out, 0x81, 0x00, 1, 1, "", 0, "", "");
	proto_begin(c);
	proto_request(c, in.p, in.n, in.n, 1);
	proto_reply(c, out.p, out.n, out.n, 2);
	proto_reply(c, out.p, out.n, out.n, 3); /* nothing is open */
	assert_string_equal(buf_text(&got), "get k miss\n");
	proto_request(c, in.p, in.n, in.n, 4);
	proto_reply(c, out.p, out.n, out.n, 5);
	assert_string_equal(buf_text(&got), "get k miss\nget k miss\n");
	assert_int_equal(proto_lost(c), 0);
	proto_free(c);
	buf_free(&in);
	buf_free(&out);
	buf_free(&got);
}

static void test_resp(void **state)
{
	(void)state;
	resp("*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nget\r\n$1\r\nb\r\n",
	     "$5\r\nhello\r\n$-1\r\n", "get a hit 5\nget b miss\n");
	resp("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$6\r\n*1\r\n$1\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
	     "+OK\r\n_\r\n", "set a hit 6\nget a miss\n");
	resp("*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nx\r\n$2\r\nNX\r\n$3\r\nGET\r\n", "$-1\r\n",
	     "set a ? 1\n");
	resp("*4\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
	     "*3\r\n$2\r\nxx\r\n$-1\r\n$0\r\n\r\n", "get a hit 2\n+get b miss\n+get c hit 0\n");
	resp("*5\r\n$4\r\nMSET\r\n$1\r\na\r\n$2\r\nxx\r\n$1\r\nb\r\n$3\r\nyyy\r\n", "+OK\r\n",
	     "set a hit 2\n+set b hit 3\n");
	resp("*3\r\n$3\r\nDEL\r\n$1\r\na\r\n$1\r\nb\r\n*3\r\n$3\r\nDEL\r\n$1\r\na\r\n$1\r\nb\r\n",
	     ":1\r\n:0\r\n", "delete a ?\n+delete b ?\ndelete a miss\n+delete b miss\n");
	resp("*2\r\n$7\r\nHGETALL\r\n$1\r\nh\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n",
	     "%2\r\n$1\r\na\r\n*2\r\n:1\r\n:2\r\n$1\r\nb\r\n*-1\r\n:8\r\n",
	     "read h hit\nincr n hit\n");
	resp("*1\r\n$4\r\nPING\r\nget x\r\n", "+PONG\r\n-ERR no\r\n", "other ?\nget x error\n");
	resp("*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n",
	     "+OK\r\n+QUEUED\r\n*1\r\n:3\r\n", "other ?\nincr n hit\nother ?\n");
	/* Pushes and attributes answer nothing. */
	resp("*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
	     ">2\r\n+invalidate\r\n*1\r\n$1\r\na\r\n|1\r\n+ttl\r\n:3\r\n$1\r\nx\r\n",
	     "get a hit 1\n");
	resp("*2\r\n$5\r\nSCARD\r\n$1\r\ns\r\n*3\r\n$6\r\nGETBIT\r\n$1\r\ns\r\n$1\r\n1\r\n",
	     ":0\r\n:0\r\n", "read s miss\nread s ?\n");
	begun(PROTOCOL_RESP, "GET a\r\n",
	      ">2\r\n+invalidate\r\n*1\r\n$1\r\na\r\n$-1\r\n>1\r\n+x\r\n", "get a miss\n");
	/* Before RESP3 there are only messages from there on, in RESP3 between answers. */
	begun(PROTOCOL_RESP, "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n",
	      "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "other ?!\n");
	resp("SUBSCRIBE c d\r\nGET a\r\nUNSUBSCRIBE c\r\nGET b\r\n",
	     ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nd\r\n:2\r\n"
	     ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n_\r\n"
	     ">3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:1\r\n$1\r\nx\r\n",
	     "other ?\nget a miss\nother ?\nget b hit 1\n");
}

/* Each length is another one than that before it, by its digits or by how many they are. */
static void test_resp_lengths(void **state)
{
	(void)state;
	resp("*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"
	     "*2\r\n$3\r\nGET\r\n$2\r\ncc\r\n*2\r\n$3\r\nGET\r\n$10\r\n0123456789\r\n"
	     "*2\r\n$3\r\nGET\r\n$11\r\n01234567890\r\n*2\r\n$3\r\nGET\r\n$1\r\nd\r\n"
	     "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nx\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\nxy\r\n"
	     "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$12\r\n0123456789ab\r\n",
	     "$10\r\nabcdefghij\r\n$10\r\nabcdefghij\r\n$11\r\nabcdefghijk\r\n$1\r\nx\r\n"
	     "$-1\r\n$20\r\nabcdefghijabcdefghij\r\n+OK\r\n+OK\r\n+OK\r\n",
	     "get a hit 10\nget b hit 10\nget cc hit 11\nget 0123456789 hit 1\n"
	     "get 01234567890 miss\nget d hit 20\nset a hit 1\nset a hit 2\nset a hit 12\n");
}

/* Where the keys are: after a number, after a word, before what is last, of subcommands. */
static void test_resp_keys(void **state)
{
	(void)state;
	resp("EVAL s 2 a b c\r\nEVALSHA s 0 a\r\nFCALL f 1 a b\r\n", ":1\r\n:1\r\n:1\r\n",
	     "write a ?\n+write b ?\nother ?\nwrite a ?\n");
	resp("XREAD COUNT 1 STREAMS a b 0 0\r\nXREADGROUP GROUP streams c STREAMS a >\r\n",
	     "*-1\r\n_\r\n", "read a miss\n+read b miss\nread a miss\n");
	resp("XREAD a b\r\nXREAD STREAMS\r\n", "-ERR\r\n-ERR\r\n", "other error\nother error\n");
	resp("SORT a\r\nsort a by x get y store b\r\nSORT a STORE\r\n",
	     "*1\r\n$1\r\nx\r\n:0\r\n-ERR\r\n",
	     "read a hit\nread a miss\n+write b miss\nread a error\n");
	resp("GEORADIUS a 1 1 1 m STOREDIST b\r\nZUNIONSTORE d 2 a b WEIGHTS 1 2\r\n",
	     ":1\r\n:3\r\n", "read a hit\n+write b hit\nwrite d hit\n+read a ?\n+read b ?\n");
	resp("MIGRATE h 1 a 0 1\r\nMIGRATE h 1 \"\" 0 1 COPY KEYS a b\r\n", "+NOKEY\r\n+OK\r\n",
	     "write a miss\nwrite a ?\n+write b ?\n");
	resp("OBJECT ENCODING a\r\nobject help\r\nMEMORY USAGE a SAMPLES 1\r\nMEMORY STATS\r\n",
	     "$3\r\nint\r\n*0\r\n$-1\r\n*0\r\n", "read a hit\nother ?\nread a miss\nother ?\n");
	resp("MSETEX 2 a x b yyy EX 9\r\nSETEX a 9 four\r\n", ":1\r\n+OK\r\n",
	     "set a hit 1\n+set b hit 3\nset a hit 4\n");
	resp("LMPOP 3 a b\r\nLMPOP x a\r\nSINTERCARD 99999999999 a\r\n", "-ERR\r\n-ERR\r\n-ERR\r\n",
	     "write a error\n+write b error\nother error\nother error\n");
	/* 2^64 + 1 keys are not one. */
	resp("SINTERCARD 18446744073709551617 a\r\n", "-ERR\r\n", "other error\n");
	/* More keys than there are words: the last word is the last one. */
	resp("EVAL s 4 a b\r\nEVAL s 5 a b\r\n", "-ERR\r\n-ERR\r\n",
	     "write a error\n+write b error\nother error\n");
	resp("SSUBSCRIBE a\r\n", ">3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n", "other ?\n");
	resp("no.such a\r\nOBJECT\r\n", "-ERR\r\n-ERR\r\n", "other error\nother error\n");
}

static void count_unknown(void *ctx, const struct command *c)
{
	*(u32 *)ctx += c->unknown;
}

/* Commands that nobody knows may have keys, unless the server does not know them either. */
static void test_resp_unknown(void **state)
{
	static const char in[] = "X.GET a\r\nX.NONE a\r\nGET a\r\n",
			  out[] = "+OK\r\n-ERR unknown\r\n$-1\r\n";
	u32 n = 0;
	struct proto *c = proto_new(PROTOCOL_RESP, count_unknown, &n);

	(void)state;
	proto_begin(c);
	proto_request(c, in, sizeof(in) - 1, sizeof(in) - 1, 1);
	proto_reply(c, out, sizeof(out) - 1, sizeof(out) - 1, 2);
	assert_int_equal(n, 1);
	proto_free(c);
}

/* Found is what was asked for; where the answer is the same for a key that is not there, nobody
 * knows. */
static void test_resp_found(void **state)
{
	(void)state;
	resp("GETRANGE a 0 5\r\nGETRANGE a 0 5\r\nSTRLEN a\r\nSTRLEN a\r\nXLEN a\r\n",
	     "$0\r\n\r\n$1\r\nx\r\n:0\r\n:3\r\n:0\r\n",
	     "read a ?\nread a hit\nread a ?\nread a hit\nread a ?\n");
	resp("BITPOS a 1\r\nBITPOS a 0\r\nBITPOS a 1\r\nGETBIT a 1\r\nGETBIT a 1\r\n",
	     ":-1\r\n:0\r\n:7\r\n:0\r\n:1\r\n",
	     "read a ?\nread a ?\nread a hit\nread a ?\nread a hit\n");
	resp("HMGET a x y\r\nHMGET a x y\r\nSMISMEMBER a x\r\nSMISMEMBER a x y\r\nGEOPOS a x\r\n"
	     "GEOPOS a x\r\n",
	     "*2\r\n$-1\r\n$-1\r\n*2\r\n$-1\r\n$0\r\n\r\n*1\r\n:0\r\n*2\r\n:0\r\n:1\r\n*1\r\n*-"
	     "1\r\n"
	     "*1\r\n*2\r\n,0\r\n,0\r\n",
	     "read a miss\nread a hit\nread a miss\nread a hit\nread a miss\nread a hit\n");
	resp("HSCAN a 0\r\nHSCAN a 0\r\nHSCAN a 5\r\n",
	     "*2\r\n$1\r\n0\r\n*0\r\n*2\r\n$1\r\n7\r\n*0\r\n*2\r\n$1\r\n0\r\n*2\r\n$1\r\nx\r\n$"
	     "1\r\n0\r\n",
	     "read a miss\nread a hit\nread a hit\n");
	resp("TYPE a\r\nTYPE a\r\nTTL a\r\nTTL a\r\nTTL a\r\nZRANK z m\r\nHTTL h FIELDS 2 x y\r\n",
	     "+none\r\n+string\r\n:-2\r\n:-1\r\n:0\r\n:0\r\n*2\r\n:-2\r\n:-1\r\n",
	     "read a miss\nread a hit\nread a miss\nread a hit\nread a hit\nread z hit\nread h "
	     "hit\n");
	resp("INCR n\r\nINCR n\r\nDECRBY n 3\r\nINCRBYFLOAT n 0.50\r\nINCRBYFLOAT n .5\r\n"
	     "ZINCRBY z 2 m\r\nHINCRBY h f 4\r\n",
	     ":1\r\n:2\r\n:-3\r\n$3\r\n0.5\r\n$1\r\n1\r\n,2\r\n:5\r\n",
	     "incr n ?\nincr n hit\ndecr n ?\nincr n ?\nincr n hit\nwrite z ?\nwrite h hit\n");
	resp("INCRBY n 5\r\nINCRBY n 5\r\nDECRBY n 5\r\nDECRBY n 5\r\nDECR n\r\nDECR n\r\n",
	     ":5\r\n:6\r\n:-5\r\n:5\r\n:-1\r\n:1\r\n",
	     "incr n ?\nincr n hit\ndecr n ?\ndecr n hit\ndecr n ?\ndecr n hit\n");
	resp("MGET a\r\nINCRBYFLOAT n 1.5\r\n", "*1\r\n$-1\r\n$3\r\n1.5\r\n",
	     "get a miss\nincr n ?\n");
	resp("LSET l 0 x\r\nRENAMENX a b\r\nRENAMENX a b\r\nCOPY a b\r\nRESTORE a 0 x\r\n",
	     "-ERR no such key\r\n-ERR no such key\r\n:0\r\n:0\r\n-BUSYKEY Target\r\n",
	     "write l miss\nwrite a miss\n+write b miss\nwrite a ?\n+write b miss\n"
	     "read a ?\n+write b miss\nwrite a miss\n");
	resp("LPUSHX l x\r\nHDEL h f\r\nSADD s x\r\nSPOP s 1\r\nLMOVE a b LEFT LEFT\r\nLTRIM l 0 "
	     "1\r\n",
	     ":0\r\n:0\r\n:0\r\n*0\r\n$-1\r\n+OK\r\n",
	     "write l miss\nwrite h miss\nwrite s hit\nwrite s miss\nwrite a miss\n+write b miss\n"
	     "write l ?\n");
}

/* Of several keys the answer names one, counts them, or is made of all. */
static void test_resp_found_several(void **state)
{
	(void)state;
	resp("BLPOP a b c 1\r\nBLPOP a b 1\r\nZMPOP 2 a b MIN\r\n",
	     "*2\r\n$1\r\nb\r\n$1\r\nx\r\n*-1\r\n*2\r\n$1\r\na\r\n*1\r\n*2\r\n$1\r\nb\r\n,1\r\n",
	     "write a miss\n+write b hit\n+write c ?\nwrite a miss\n+write b miss\n"
	     "write a hit\n+write b ?\n");
	resp("XREAD STREAMS a b c 0 0 0\r\nXREAD STREAMS a b 0 0\r\n",
	     "*2\r\n*2\r\n$1\r\na\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nb\r\n$1\r\nx\r\n"
	     "*2\r\n$1\r\nc\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nb\r\n$1\r\nx\r\n"
	     "%1\r\n$1\r\nb\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\na\r\n$1\r\nx\r\n",
	     "read a hit\n+read b miss\n+read c hit\nread a miss\n+read b hit\n");
	resp("EXISTS a b\r\nEXISTS a b\r\nTOUCH a b\r\nMSETNX a 1 b 2\r\n",
	     ":1\r\n:2\r\n:0\r\n:0\r\n",
	     "read a ?\n+read b ?\nread a hit\n+read b hit\ntouch a miss\n+touch b miss\n"
	     "add a miss 1\n+add b miss 1\n");
	resp("SUNION a b\r\nSUNION a b\r\nSINTER a b\r\nSINTER a b\r\nSDIFF a b\r\nSDIFF a "
	     "b\r\nSUNION a\r\n",
	     "*0\r\n~1\r\n+x\r\n*0\r\n*1\r\n+x\r\n*0\r\n*1\r\n+x\r\n*1\r\n+x\r\n",
	     "read a miss\n+read b miss\nread a ?\n+read b ?\nread a ?\n+read b ?\n"
	     "read a hit\n+read b hit\nread a ?\n+read b ?\nread a hit\n+read b ?\nread a hit\n");
	resp("SINTERSTORE d a b\r\nBITOP AND d a\r\nPFMERGE d a\r\n", ":2\r\n:0\r\n+OK\r\n",
	     "write d hit\n+read a hit\n+read b hit\nwrite d ?\n+read a ?\nwrite d hit\n+read a "
	     "?\n");
}

/* A number for all fields, and a value that has values itself. */
static void test_resp_other_forms(void **state)
{
	(void)state;
	resp("HPERSIST h FIELDS 1 x\r\nHPERSIST h FIELDS 1 x\r\n", ":1\r\n:0\r\n",
	     "write h hit\nwrite h miss\n");
	resp("MGET a b\r\nGET c\r\n", "*2\r\n*2\r\n:1\r\n_\r\n_\r\n$1\r\nx\r\n",
	     "get a miss\n+get b miss\nget c hit 1\n");
}

/* Of an answer with keys in it, what is no key need not be captured. */
static void test_resp_fields_left_out(void **state)
{
	static const char in[] = "XREAD STREAMS a b 0 0\r\n",
			  out[] = "*1\r\n*2\r\n$1\r\nb\r\n*1\r\n*2\r\n$3\r\n1-1\r\n"
				  "*2\r\n$1000\r\n",
			  rest[] = "$1\r\nx\r\n";
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_RESP, tell, &got);

	(void)state;
	proto_begin(c);
	proto_request(c, in, sizeof(in) - 1, sizeof(in) - 1, 5);
	proto_reply(c, out, sizeof(out) - 1, sizeof(out) - 1 + 1002, 6);
	proto_reply(c, rest, sizeof(rest) - 1, sizeof(rest) - 1, 7);
	assert_string_equal(buf_text(&got), "read a miss\n+read b hit\n");
	assert_int_equal(proto_lost(c), 0);
	proto_free(c);
	buf_free(&got);
}

/* What was queued is answered by EXEC. */
static void test_resp_multi(void **state)
{
	(void)state;
	resp("MULTI\r\nGET a\r\nMGET b c\r\nPING\r\nBLPOP d e 0\r\nHGETALL f\r\nEXEC\r\nGET g\r\n",
	     "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
	     "*5\r\n$2\r\nxx\r\n*2\r\n$-1\r\n$1\r\nx\r\n+PONG\r\n*2\r\n$1\r\ne\r\n$1\r\nx\r\n"
	     "%1\r\n|1\r\n+x\r\n*1\r\n:1\r\n+x\r\n*1\r\n+y\r\n$-1\r\n",
	     "other ?\nget a hit 2\nget b miss\n+get c hit 1\nother ?\nwrite d miss\n+write e hit\n"
	     "read f hit\nother ?\nget g miss\n");
	resp("MULTI\r\nMGET a b\r\nEXEC\r\nGET c\r\n",
	     "+OK\r\n+QUEUED\r\n*1\r\n*2\r\n$-1\r\n$1\r\nx\r\n$-1\r\n",
	     "other ?\nget a miss\n+get b hit 1\nother ?\nget c miss\n");
	resp("MULTI\r\nGET a\r\nGET b c\r\nINCR n\r\nEXEC\r\n",
	     "+OK\r\n+QUEUED\r\n-ERR wrong number\r\n+QUEUED\r\n-EXECABORT\r\n",
	     "other ?\nget b error\nget a error\nincr n error\nother error\n");
	resp("WATCH a\r\nMULTI\r\nSET a 1\r\nEXEC\r\nMULTI\r\nSET a 1\r\nDISCARD\r\nGET a\r\n",
	     "+OK\r\n+OK\r\n+QUEUED\r\n*-1\r\n+OK\r\n+QUEUED\r\n+OK\r\n$-1\r\n",
	     "read a ?\nother ?\nset a error 1\nother ?\nother ?\nset a ? 1\nother ?\nget a "
	     "miss\n");
	resp("MULTI\r\nEXEC\r\nEXEC\r\n", "+OK\r\n*0\r\n-ERR EXEC without MULTI\r\n",
	     "other ?\nother ?\nother error\n");
	/* Without answers, until they are wanted again. */
	resp("CLIENT REPLY SKIP\r\nGET a\r\nGET b\r\nCLIENT REPLY OFF\r\nMGET c d\r\nclient reply "
	     "skip\r\n"
	     "SET e 1\r\nCLIENT REPLY ON\r\nGET f\r\n",
	     "$-1\r\n+OK\r\n$1\r\nx\r\n",
	     "other ?!\nget a ?!\nother ?!\n+get d ?!\nget c ?!\nother ?!\nset e ? 1!\nget b miss\n"
	     "other ?\nget f hit 1\n");
	/* An array that is not that of what was queued: nothing is known. */
	begun(PROTOCOL_RESP, "MULTI\r\nGET a\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n*2\r\n:1\r\n:2\r\n",
	      "other ?\nget a ?!\nother ?!\n");
	begun(PROTOCOL_RESP, "MULTI\r\nGET a\r\nGET b\r\n", "+OK\r\n+QUEUED\r\n", "other ?\n");
}

/* Every type of reply, and nothing where nothing is said. */
static void test_resp3(void **state)
{
	(void)state;
	resp("HGETALL h\r\nSMEMBERS s\r\nZSCORE z m\r\nHGET h f\r\nEXISTS k\r\nINFO\r\nINCR n\r\n",
	     "%2\r\n+a\r\n#t\r\n+b\r\n%1\r\n:1\r\n_\r\n~2\r\n:1\r\n,-inf\r\n,1.5\r\n_\r\n#f\r\n"
	     "=7\r\ntxt:a\r\n\r\n(3492890328409238509324850943850943825024385\r\n",
	     "read h hit\nread s hit\nread z hit\nread h miss\nread k miss\nother ?\nincr n hit\n");
	resp("HGETALL h\r\nSMEMBERS s\r\nGET a\r\nGET b\r\n",
	     "%0\r\n~0\r\n>0\r\n|0\r\n!9\r\nWRONGTYPE\r\n$1\r\nx\r\n",
	     "read h miss\nread s miss\nget a error\nget b hit 1\n");
	resp("MGET a b\r\nGET c\r\n",
	     "|1\r\n+x\r\n*2\r\n:1\r\n:2\r\n*2\r\n|1\r\n+ttl\r\n:3\r\n$1\r\nx\r\n|0\r\n_\r\n"
	     ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n$2\r\nyy\r\n",
	     "get a hit 1\n+get b miss\nget c hit 2\n");
}

/* As typed by hand. */
static void test_resp_inline(void **state)
{
	(void)state;
	resp("get  a \r\n\r\n \t\r\nPING\nSET \"b \\x41\\n\" 'it\\'s'\r\n*0\r\n*-1\r\nMGET \"\" "
	     "c\r\n",
	     "$-1\r\n+PONG\r\n+OK\r\n*2\r\n$-1\r\n$1\r\nx\r\n",
	     "get a miss\nother ?\nset b A\n hit 4\nget miss\n+get c hit 1\n");
	resp("GET \"a\r\nGET 'a'b\r\nGET a\"b\"\r\n", "-ERR unbalanced\r\n-ERR\r\n$-1\r\n",
	     "other error\nother error\nget ab miss\n");
}

/* Whatever comes first, what follows counts: the server answers it too. */
static void test_first_bytes(void **state)
{
	(void)state;
	begun(PROTOCOL_MEMCACHED, "hello\r\nget a\r\n", "ERROR\r\nEND\r\n",
	      "other error\nget a miss\n");
	begun(PROTOCOL_MEMCACHED, "\r\n\nget a\r\n", "ERROR\r\nERROR\r\nEND\r\n",
	      "other error\nother error\nget a miss\n");
	begun(PROTOCOL_MEMCACHED, "ge\r\n*1\r\nGET a\r\nget a\r\n",
	      "ERROR\r\nERROR\r\nERROR\r\nEND\r\n",
	      "other error\nother error\nother error\nget a miss\n");
	begun(PROTOCOL_RESP, "hello there\r\nget a\r\nFOO\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n",
	      "-ERR\r\n$-1\r\n-ERR unknown\r\n$1\r\nx\r\n",
	      "other error\nget a miss\nother error\nget b hit 1\n");
	begun(PROTOCOL_RESP, "\r\n*0\r\n*1\r\n$4\r\nPING\r\nGET a\r\n", "+PONG\r\n$-1\r\n",
	      "other ?\nget a miss\n");
}

/* Where nobody said what is spoken, capitals do, or the answer. */
static void test_protocol_not_known(void **state)
{
	(void)state;
	begun(PROTOCOL_AUTO, "GET a\r\n", "$-1\r\n", "get a miss\n");
	begun(PROTOCOL_AUTO, "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "$-1\r\n", "get a miss\n");
	begun(PROTOCOL_AUTO, "hello\r\nget a\r\n", "ERROR\r\nEND\r\n", "other error\nget a miss\n");
	begun(PROTOCOL_AUTO, "hello\r\nGET a\r\n", "-ERR\r\n$-1\r\n", "other error\nget a miss\n");
	begun(PROTOCOL_AUTO, "\r\nget a\r\n", "$-1\r\n", "get a miss\n");
	begun(PROTOCOL_AUTO, "\r\nget a\r\n", "ERROR\r\nEND\r\n", "other error\nget a miss\n");
}

/* The first request says what a connection speaks that was seen from its start; of another one it
 * is not known before the answer agrees. */
static void test_protocol_found(void **state)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_AUTO, tell, &got);

	(void)state;
	proto_begin(c);
	proto_request(c, "get a\r\n", 7, 7, 1);
	assert_int_equal(proto_protocol(c), PROTOCOL_TEXT);
	proto_free(c);
	c = proto_new(PROTOCOL_AUTO, tell, &got);
	proto_request(c, "GET a\r\n", 7, 7, 1);
	assert_int_equal(proto_protocol(c), PROTOCOL_AUTO);
	proto_reply(c, "$-1\r\n", 5, 5, 2);
	assert_int_equal(proto_protocol(c), PROTOCOL_RESP);
	proto_free(c);
	buf_free(&got);
}

/* Only a word that is a command of Redis', in capitals, is taken for one, once it is complete. */
static void test_protocol_of_words(void **state)
{
	static const char *const lines[] = { "FOO a\r\nget a\r\n", "GETx a\r\nget a\r\n",
		                             "gET a\r\nget a\r\n" };

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(lines); i++) {
		struct said s = { PROTOCOL_AUTO, lines[i], "ERROR\r\nEND\r\n", strlen(lines[i]),
			          12 };

		say(&s, true, s.n_in, 1, "other error\nget a miss\n");
	}
	begun(PROTOCOL_AUTO, "GET\ta\r\n", "$-1\r\n", "get a miss\n");
}

/* What no server takes ends the connection: what is sent after it is not asked. */
static void test_refused(void **state)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_RESP, tell, &got);

	(void)state;
	begun(PROTOCOL_RESP, "GET a\r\n*x\r\nGET b\r\n", "$-1\r\n-ERR Protocol error\r\n",
	      "get a miss\nother error\n");
	begun(PROTOCOL_RESP, "*3\r\n$3\r\nDEL\r\n$1\r\na\r\n+b\r\nGET b\r\n",
	      "-ERR Protocol error: expected '$'\r\n", "other error\n");
	begun(PROTOCOL_RESP, "*2\r\n$3\r\nGET\r\n$x\r\nGET b\r\n", "-ERR Protocol error\r\n",
	      "other error\n");
	begun(PROTOCOL_RESP, "*2\r\n$3\r\nGET\r\n$5000000000\r\nGET b\r\n",
	      "-ERR Protocol error\r\n", "other error\n");
	/* It goes on all the same: then something was misunderstood. */
	proto_begin(c);
	proto_request(c, "*x\r\nGET a\r\n", 11, 11, 1);
	proto_reply(c, "+OK\r\n$-1\r\n", 10, 10, 2);
	assert_int_equal(proto_lost(c), 1);
	proto_request(c, "GET b\r\n", 7, 7, 3);
	proto_reply(c, "$-1\r\n", 5, 5, 4);
	assert_string_equal(buf_text(&got), "other ?\nget b miss\n");
	proto_free(c);
	buf_free(&got);
}

/* Values need not be captured. */
static void test_values_left_out(void **state)
{
	static const char in[] = "set a 0 0 1000\r\n", get[] = "get a\r\n";
	static const char out[] = "VALUE a 0 1000\r\n", end[] = "END\r\n";
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_AUTO, tell, &got);

	(void)state;
	proto_request(c, in, sizeof(in) - 1, sizeof(in) - 1 + 1002, 5);
	proto_reply(c, "STORED\r\n", 8, 8, 6);
	proto_request(c, get, sizeof(get) - 1, sizeof(get) - 1, 7);
	proto_reply(c, out, sizeof(out) - 1, sizeof(out) - 1 + 500, 8);
	proto_reply(c, "", 0, 502, 8);
	proto_reply(c, end, sizeof(end) - 1, sizeof(end) - 1, 9);
	assert_string_equal(buf_text(&got), "set a hit 1000\nget a hit 1000\n");
	assert_int_equal(proto_lost(c), 0);
	assert_int_equal(proto_protocol(c), PROTOCOL_TEXT);
	proto_free(c);
	buf_free(&got);
}

static void test_lost_and_found(void **state)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_AUTO, tell, &got);

	(void)state;
	/* In the middle of something. */
	proto_request(c, "xx\r\n", 4, 4, 1);
	proto_reply(c, "STORED\r\n", 8, 8, 1);
	assert_int_equal(proto_lost(c), 0);
	/* A request that was cut where it matters. */
	proto_begin(c);
	proto_request(c, "get a\r\nge", 9, 20, 2);
	assert_int_equal(proto_lost(c), 1);
	assert_int_equal(proto_unseen(c), 1);
	proto_reply(c, "END\r\nEND\r\n", 10, 10, 3);
	proto_request(c, "get b\r\n", 7, 7, 4);
	proto_reply(c, "END\r\n", 5, 5, 5);
	/* An answer that does not fit; what is asked goes on being told. */
	proto_request(c, "get c\r\n", 7, 7, 6);
	proto_reply(c, "VALUE d 0 1\r\n", 13, 13, 7);
	proto_reply(c, "x\r\nEND\r\n", 8, 8, 7);
	proto_request(c, "get e\r\n", 7, 7, 8);
	proto_lose(c);
	/* The rest of one that was answered in part. */
	proto_begin(c);
	proto_request(c, "get f g h\r\n", 11, 11, 9);
	proto_reply(c, "VALUE f 0 1\r\nx\r\n", 16, 16, 10);
	proto_lose_replies(c);
	proto_reply(c, "END\r\n", 5, 5, 11);
	/* A value that comes in meanwhile is awaited. */
	proto_request(c, "get i\r\nset j 0 0 2\r\nx", 21, 21, 12);
	proto_lose_replies(c);
	proto_request(c, "y\r\nget k\r\n", 10, 10, 13);
	proto_reply(c, "STORED\r\nEND\r\n", 13, 13, 14);
	assert_int_equal(proto_lost(c), 0);
	assert_int_equal(proto_unseen(c), 5);
	assert_string_equal(buf_text(&got),
	                    "get a ?!\nget b miss\nget c ?!\nget e ?!\nget f hit 1\n+get g ?!\n"
	                    "+get h ?!\nget i ?!\nset j hit 2\nget k miss\n");
	proto_free(c);
	buf_free(&got);
}

static void ask(struct proto *c, const char *text)
{
	proto_request(c, text, strlen(text), strlen(text), 1);
}

static void answer(struct proto *c, const char *text)
{
	proto_reply(c, text, strlen(text), strlen(text), 1);
}

/* A connection that was open before, in the middle of a value that looks like requests. */
static void within_a_value(enum protocol protocol, const char *line, const char *end,
                           const char *answered, const char *next, const char *its_answer,
                           u32 fakes)
{
	struct buf got = { 0 }, value = { 0 };
	struct proto *c = proto_new(protocol, tell, &got);

	for (u32 i = 0; i < 1000; i++)
		buf_puts(&value, line);
	ask(c, buf_text(&value) + 2);
	ask(c, buf_text(&value));
	buf_puts(&value, end);
	ask(c, buf_text(&value) + 1);
	answer(c, answered);
	ask(c, next);
	answer(c, its_answer);
	ask(c, next);
	answer(c, its_answer);
	assert_string_equal(buf_text(&got), "get k miss\nget k miss\n");
	assert_int_equal(proto_lost(c), 0);
	assert_int_equal(proto_unconfirmed(c), fakes);
	proto_free(c);
	buf_free(&got);
	buf_free(&value);
}

static void test_within_a_value(void **state)
{
	static const char get[] = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
	static const char set[] = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nx\r\n";

	(void)state;
	within_a_value(PROTOCOL_MEMCACHED, "get a b\r\n", "\r\n", "STORED\r\n", "get k\r\n",
	               "END\r\n", 999 * 2 + 1000 * 2 + 999 * 2);
	within_a_value(PROTOCOL_MEMCACHED, "set a 0 0 1\r\nx\r\n", "\r\n", "STORED\r\n",
	               "get k\r\n", "END\r\n", 999 + 1000 + 999);
	within_a_value(PROTOCOL_MEMCACHED, "set a 0 0 99999999\r\nx\r\n", "\r\n", "STORED\r\n",
	               "get k\r\n", "END\r\n", 2);
	within_a_value(PROTOCOL_RESP, set, "\r\n", "+OK\r\n", get, "$-1\r\n", 999 + 1000 + 999);
	within_a_value(PROTOCOL_RESP, get, "\r\n", "+OK\r\n", get, "$-1\r\n", 999 + 1000 + 999);
	within_a_value(PROTOCOL_RESP, "GET a\r\n", "\r\n", "+OK\r\n", get, "$-1\r\n",
	               999 + 1000 + 999);
}

/* What is asked on a connection that was open before counts once it was answered, all of it. */
static void test_open_before(void **state)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_MEMCACHED, tell, &got);

	(void)state;
	ask(c, "hello\r\nget a\r\nincr n 1\r\n");
	answer(c, "ERROR\r\nEND\r\n");
	assert_string_equal(buf_text(&got), "");
	answer(c, "NOT_FOUND\r\n");
	assert_string_equal(buf_text(&got), "other error\nget a miss\nincr n miss\n");
	/* From here on it is known. */
	ask(c, "delete a noreply\r\n");
	buf_reset(&got);
	ask(c, "ge");
	ask(c, "t b\r\n");
	proto_lose_replies(c);
	assert_string_equal(buf_text(&got), "get b ?!\n");
	/* After a gap it is not: what follows may be the rest of something. */
	buf_reset(&got);
	proto_lose(c);
	ask(c, "get c\r\nx\r\n");
	answer(c, "STORED\r\n");
	assert_int_equal(proto_unconfirmed(c), 1);
	ask(c, "get d\r\n");
	answer(c, "VALUE d 0 1\r\nx\r\nEN");
	assert_string_equal(buf_text(&got), "");
	answer(c, "D\r\n");
	assert_string_equal(buf_text(&got), "get d hit 1\n");
	assert_int_equal(proto_lost(c), 0);
	assert_int_equal(proto_unseen(c), 1);
	proto_free(c);
	buf_free(&got);
}

/* Answers that were not captured: the first may be that to a value. */
static void test_open_before_answers_left_out(void **state)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_MEMCACHED, tell, &got);

	(void)state;
	ask(c, "get fake\r\nget fake\r\n\r\n"); /* the end of one */
	proto_reply(c, "S", 1, 8, 1);
	ask(c, "get a b\r\n");
	proto_reply(c, "V", 1, 100, 1);
	assert_string_equal(buf_text(&got), "");
	assert_int_equal(proto_unconfirmed(c), 2);
	ask(c, "get c\r\n");
	assert_string_equal(buf_text(&got), "get a ?!\n+get b ?!\n");
	answer(c, "END\r\n");
	assert_string_equal(buf_text(&got), "get a ?!\n+get b ?!\nget c miss\n");
	assert_int_equal(proto_unseen(c), 2);
	/* Part of a request is no end of anything. */
	proto_lose(c);
	buf_reset(&got);
	for (u32 i = 0; i < 4; i++) {
		ask(c, "get d\r\nget");
		proto_reply(c, "E", 1, 5, 1);
		ask(c, " e\r\nge");
		proto_reply(c, "E", 1, 5, 1);
		ask(c, "t f\r\n");
	}
	assert_string_equal(buf_text(&got), "");
	proto_free(c);
	buf_free(&got);
}

/* What is never answered can not be confirmed so; enough whole reads do. */
static void test_open_before_without_answers(void **state)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_MEMCACHED, tell, &got);

	(void)state;
	for (u32 i = 0; i < 7; i++)
		ask(c, "delete a noreply\r\n");
	ask(c, "delete a nore");
	assert_string_equal(buf_text(&got), "");
	ask(c, "ply\r\n");
	for (u32 i = 0; i < 7; i++)
		ask(c, "delete a noreply\r\n");
	assert_int_equal(got.n, 15 * strlen("delete a ?!\n"));
	ask(c, "delete a noreply\r\n");
	assert_int_equal(got.n, 16 * strlen("delete a ?!\n"));
	assert_int_equal(proto_unconfirmed(c), 0);
	proto_free(c);
	buf_free(&got);
}

/* An answer cut where it matters: the rest is not taken for that of others. */
static void test_reply_cut(void **state)
{
	static const char in[] = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"
				 "*3\r\n$4\r\nMGET\r\n$1\r\nc\r\n";
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_RESP, tell, &got);

	(void)state;
	proto_begin(c);
	proto_request(c, in, sizeof(in) - 1, sizeof(in) - 1, 1);
	proto_reply(c, "$100\r\nxx", 8, 200, 2);
	proto_reply(c, "$-1\r\n", 5, 5, 3);
	proto_request(c, "$1\r\nd\r\n", 7, 7, 4);
	proto_reply(c, "*2\r\n$-1\r\n$1\r\nx\r\n", 16, 16, 5);
	assert_int_equal(proto_lost(c), 0);
	assert_int_equal(proto_unseen(c), 1);
	assert_string_equal(buf_text(&got), "get a hit 100\nget b ?!\nget c miss\n+get d hit 1\n");
	proto_free(c);
	buf_free(&got);
}

static void test_long(void **state)
{
	struct buf got = { 0 }, in = { 0 };
	struct proto *c = proto_new(PROTOCOL_RESP, tell, &got);

	(void)state;
	buf_printf(&in, "*2\r\n$3\r\nGET\r\n$1000\r\n");
	buf_fill(&in, 'k', 1000);
	buf_puts(&in, "\r\n");
	proto_request(c, in.p, in.n, in.n, 1);
	proto_reply(c, "$-1\r\n", 5, 5, 2);
	assert_int_equal(got.n, strlen("get  miss\n") + PROTO_KEY_MAX);
	/* A line without an end does not fill memory. */
	buf_reset(&in);
	buf_puts(&in, "get ");
	buf_fill(&in, 'k', 1u << 20);
	proto_free(c);
	c = proto_new(PROTOCOL_TEXT, tell, &got);
	for (u32 i = 0; i < 100; i++)
		proto_request(c, in.p, in.n, in.n, 3);
	buf_reset(&got);
	proto_request(c, "get a\r\n", 7, 7, 4);
	proto_reply(c, "END\r\n", 5, 5, 4);
	assert_string_equal(buf_text(&got), "get a miss\n");
	proto_free(c);
	buf_free(&got);
	buf_free(&in);
}

/* More keys in flight than the queue starts with, while old ones are answered. */
static void test_pipeline(void **state)
{
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_TEXT, tell, &got);
	char line[64];
	u32 answered = 0;

	(void)state;
	proto_begin(c);
	for (u32 i = 0; i < 5000; i++) {
		int n = snprintf(line, sizeof(line), "get key-number-%u\r\n", i);

		proto_request(c, line, (size_t)n, (size_t)n, i);
		if (i % 3) {
			char want[64];

			buf_reset(&got);
			proto_reply(c, "END\r\n", 5, 5, i);
			snprintf(want, sizeof(want), "get key-number-%u miss\n", answered++);
			assert_string_equal(buf_text(&got), want);
		}
	}
	proto_free(c);
	buf_free(&got);
}

/* ---- real servers --------------------------------------------------------------------------- */

static pid_t server_start(const char *const *argv, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves it behind */
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(127);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
	for (u32 i = 0; i < 3000 && waitpid(pid, NULL, WNOHANG) == 0; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

		r = connect(fd, (struct sockaddr *)&a, sizeof(a));
		close(fd);
		if (!r)
			return pid;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return -1;
}

/* Sends it all, ends the sending, reads all that comes back. */
static void exchange(const char *path, const char *p, size_t n, struct buf *back)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char part[4096];
	ssize_t got;

	strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(send(fd, p, n, 0), n);
	while ((got = recv(fd, part, sizeof(part), 0)) > 0)
		buf_add(back, part, (size_t)got);
	close(fd);
}

static void real(const char *const *argv, const char *path, enum protocol protocol, const char *in,
                 const char *want)
{
	struct buf out = { 0 };
	pid_t pid = server_start(argv, path);

	if (pid < 0) {
		print_message("%s is not installed\n", argv[0]);
		skip();
	}
	exchange(path, in, strlen(in), &out);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	conversation(protocol, in, strlen(in), out.p, out.n, want);
	buf_free(&out);
}

static void test_real_memcached(void **state)
{
	char dir[] = "/tmp/memtap-proto.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	real((const char *const[]){ "memcached", "-u", "root", "-s", path, "-t", "1", NULL }, path,
	     PROTOCOL_AUTO,
	     "set a 0 0 5\r\nhello\r\nget a b\r\nmg a v q\r\nmg b v q\r\nmg a s v k\r\n"
	     "ms c 3 q\r\nabc\r\nmd c q O1\r\nmd c O2\r\nmg x v q\r\nmn\r\nincr a 1\r\nset n 0 0 "
	     "1\r\n7\r\n"
	     "incr n 1\r\nma n\r\nma n MD v\r\ntouch a 0\r\ngat 0 a\r\nadd a 0 0 1\r\nx\r\n"
	     "delete a\r\nstats\r\nbad\r\nstats settings\r\nget a\r\nquit\r\n",
	     "other ?!\nset a hit 5\nget a hit 5\n+get b miss\nget a hit 5\nget b miss!\nget a hit "
	     "5\n"
	     "set c hit 3!\ndelete c hit!\ndelete c miss\nget x miss!\nother ?\nincr a error\n"
	     "set n hit 1\nincr n hit\nincr n hit\ndecr n hit\ntouch a hit\nget a hit 5\n"
	     "add a miss 1\ndelete a hit\nother ?\nother error\nother ?\nget a miss\n");
	unlink(path);
	rmdir(dir);
}

/* ---- counters of a real server ---- */

struct tally {
	u64 n[COUNTERS][COUNTED_WAYS];
};

static void add_counted(void *ctx, const struct command *c)
{
	struct tally *t = ctx;

	t->n[c->counter][c->counted]++;
}

static u64 stat_of(const struct buf *stats, const char *name)
{
	char line[64];
	const char *at;

	snprintf(line, sizeof(line), "STAT %s ", name);
	at = strstr(stats->p, line);
	assert_non_null(at);
	return strtoull(at + strlen(line), NULL, 10);
}

/* What memcached counted of a conversation, against what was told of it. `made`: counters that were
 * made, which memcached does not count and the answer does not tell. */
static void counters_of_memcached(const char *in, size_t n_in, u64 made)
{
	static const struct {
		const char *name;
		enum counter counter;
		enum counted way;
	} rows[] = {
		{ "get_hits", COUNTER_GET, COUNTED_HIT },
		{ "get_misses", COUNTER_GET, COUNTED_MISS },
		{ "touch_hits", COUNTER_TOUCH, COUNTED_HIT },
		{ "touch_misses", COUNTER_TOUCH, COUNTED_MISS },
		{ "cas_hits", COUNTER_CAS, COUNTED_HIT },
		{ "cas_misses", COUNTER_CAS, COUNTED_MISS },
		{ "cas_badval", COUNTER_CAS, COUNTED_BAD },
		{ "delete_hits", COUNTER_DELETE, COUNTED_HIT },
		{ "delete_misses", COUNTER_DELETE, COUNTED_MISS },
		{ "incr_hits", COUNTER_INCR, COUNTED_HIT },
		{ "incr_misses", COUNTER_INCR, COUNTED_MISS },
		{ "decr_hits", COUNTER_DECR, COUNTED_HIT },
		{ "decr_misses", COUNTER_DECR, COUNTED_MISS },
	};
	char dir[] = "/tmp/memtap-proto.XXXXXX", path[64];
	struct buf out = { 0 }, stats = { 0 };
	struct tally t = { 0 };
	u64 unsure = 0;
	struct proto *c = proto_new(PROTOCOL_MEMCACHED, add_counted, &t);
	pid_t pid;

	proto_begin(c);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	pid = server_start((const char *const[]){ "memcached", "-u", "root", "-s", path, NULL },
	                   path);
	if (pid < 0)
		skip();
	exchange(path, in, n_in, &out);
	exchange(path, "stats\r\nquit\r\n", 13, &stats);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	proto_request(c, in, n_in, n_in, 0);
	proto_reply(c, out.p, out.n, out.n, 1);
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 server = stat_of(&stats, rows[i].name), own = t.n[rows[i].counter][rows[i].way];

		if (server != own)
			print_message("%s\n", rows[i].name);
		assert_int_equal(server, own);
		unsure += i && rows[i].counter == rows[i - 1].counter
		                  ? 0
		                  : t.n[rows[i].counter][COUNTED_MAYBE];
	}
	assert_int_equal(unsure, made);
	assert_int_equal(proto_unseen(c), 0);
	proto_free(c);
	buf_free(&out);
	buf_free(&stats);
	unlink(path);
	rmdir(dir);
}

static void test_real_counters(void **state)
{
	static const char in[] =
		"set a 0 0 1\r\nx\r\nget a b a\r\ngat 0 a b\r\ntouch a 0\r\ntouch b 0\r\n"
		"mg a T0\r\nmg b T0\r\nmg c N30\r\nmg c N30\r\nmg c N30 T30\r\nmg a v q\r\nmg b "
		"q\r\n"
		"set n 0 0 1\r\n5\r\nincr n 1\r\nincr b 1\r\ndecr n 1\r\ndecr b 1\r\nincr a 1\r\n"
		"ma n MD\r\nma n M-\r\nma b\r\nma n C1\r\nma n q\r\nma m N0 J5 v D7\r\nma m N0 J5 "
		"v D7\r\n"
		"cas a 0 0 1 9\r\nx\r\ncas a 0 0 1 1\r\nx\r\ncas b 0 0 1 1\r\nx\r\nms a 1 "
		"C1\r\ny\r\nms b 1 C1 "
		"MR\r\ny\r\n"
		"ms d 1 c\r\ny\r\nms d 1 ME\r\nz\r\nms d 3\r\nyyyyy\r\nms d 1 q\r\nz\r\n"
		"md d C1\r\nmd d I\r\nmd d q\r\nmd d q\r\ndelete a\r\ndelete a\r\nmg "
		"d\r\nmn\r\nquit\r\n";

	(void)state;
	counters_of_memcached(in, sizeof(in) - 1, 1);
}

static void arithmetic(struct buf *b, u8 opcode, u8 value, u8 expires, const char *key)
{
	const char e = (char)expires;
	const char extras[20] = { 0, 0, 0, 0, 0, 0,           0, 1, 0, 0,
		                  0, 0, 0, 0, 0, (char)value, e, e, e, e };

	packet(b, 0x80, opcode, opcode, 0, extras, sizeof(extras), key, "");
}

static void test_real_counters_binary(void **state)
{
	static const char zeros[8], one_cas[8] = { 0, 0, 0, 0, 0, 0, 0, 1 };
	struct buf in = { 0 };

	(void)state;
	packet(&in, 0x80, 0x01, 1, 0, zeros, 8, "a", "x");
	for (u32 i = 0; i < 2; i++) {
		const char *key = i ? "b" : "a";

		packet(&in, 0x80, 0x00, 2, 0, "", 0, key, "");
		packet(&in, 0x80, 0x0d, 3, 0, "", 0, key, "");
		packet(&in, 0x80, 0x1c, 4, 0, zeros, 4, key, "");
		packet(&in, 0x80, 0x1d, 5, 0, zeros, 4, key, "");
		packet(&in, 0x80, 0x24, 6, 0, zeros, 4, key, "");
		packet(&in, 0x80, 0x01, 7, 0, zeros, 8, key, "y");
		memcpy(in.p + in.n - 10 - 8, one_cas, 8);
		packet(&in, 0x80, 0x03, 8, 0, zeros, 8, key, "y");
		memcpy(in.p + in.n - 10 - 8, one_cas, 8);
		packet(&in, 0x80, 0x04, 9, 0, "", 0, key, "");
		memcpy(in.p + in.n - 1 - 8, one_cas, 8);
	}
	arithmetic(&in, 0x05, 7, 0, "n"); /* is made */
	arithmetic(&in, 0x05, 7, 0, "n");
	arithmetic(&in, 0x06, 7, 0xff, "n");
	arithmetic(&in, 0x06, 7, 0xff, "m");
	arithmetic(&in, 0x15, 7, 0xff, "n");
	packet(&in, 0x80, 0x14, 10, 0, "", 0, "a", "");
	packet(&in, 0x80, 0x14, 11, 0, "", 0, "a", "");
	packet(&in, 0x80, 0x07, 12, 0, "", 0, "", "");
	counters_of_memcached(in.p, in.n, 1);
	buf_free(&in);
}

static void test_real_redis(void **state)
{
	char dir[] = "/tmp/memtap-proto.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	real((const char *const[]){ "redis-server", "--port", "0", "--unixsocket", path, "--save",
	                            "", "--appendonly", "no", NULL },
	     path, PROTOCOL_RESP,
	     "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
	     "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\nhello\r\n*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$"
	     "1\r\nb\r\n"
	     "*4\r\n$4\r\nHSET\r\n$1\r\nh\r\n$1\r\nf\r\n$1\r\nv\r\n*2\r\n$7\r\nHGETALL\r\n$"
	     "1\r\nh\r\n"
	     "*2\r\n$7\r\nHGETALL\r\n$1\r\ng\r\n*2\r\n$3\r\nTTL\r\n$1\r\nx\r\n"
	     "*2\r\n$3\r\nDEL\r\n$1\r\na\r\n*1\r\n$7\r\nCOMMAND\r\n*2\r\n$4\r\nINCR\r\n$1\r\nh\r\n"
	     "*1\r\n$4\r\nQUIT\r\n",
	     "other ?\nset a hit 5\nget a hit 5\n+get b miss\nwrite h hit\nread h hit\nread g "
	     "miss\n"
	     "read x miss\ndelete a hit\nother ?\nincr h error\nother ?\n");
	unlink(path);
	rmdir(dir);
}

static void test_ops(void **state)
{
	(void)state;
	for (enum op op = 0; op < OPS; op++)
		assert_int_equal(proto_op_find(str_of(proto_op_name(op))), op);
	assert_int_equal(proto_op_find(STR("GET")), OP_GET);
	assert_int_equal(proto_op_find(STR("gett")), OPS);
	assert_true(proto_op_reads(OP_GET));
	assert_false(proto_op_reads(OP_SET));
}

static void told_start(void *ctx, const struct command *c)
{
	*(u64 *)ctx = c->started;
}

/* A store begins to be worked on when its value is in. */
static void started_after_value(enum protocol protocol, const char *in, const char *out)
{
	u64 started = 0;
	struct proto *c = proto_new(protocol, told_start, &started);
	size_t n = strlen(in);

	proto_begin(c);
	proto_request(c, in, n - 4, n - 4, 3);
	proto_request(c, in + n - 4, 4, 4, 5);
	proto_reply(c, out, strlen(out), strlen(out), 9);
	assert_int_equal(started, 5);
	proto_free(c);
}

static void test_start_of_stores(void **state)
{
	(void)state;
	started_after_value(PROTOCOL_RESP, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\n12345\r\n",
	                    "+OK\r\n");
	started_after_value(PROTOCOL_TEXT, "set a 0 0 5\r\n12345\r\n", "STORED\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_of_stores),
		cmocka_unit_test(test_classic),
		cmocka_unit_test(test_key_length),
		cmocka_unit_test(test_meta),
		cmocka_unit_test(test_meta_makes),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_counted_at_the_end),
		cmocka_unit_test(test_real_counters),
		cmocka_unit_test(test_real_counters_binary),
		cmocka_unit_test(test_binary),
		cmocka_unit_test(test_binary_makes),
		cmocka_unit_test(test_binary_unasked),
		cmocka_unit_test(test_binary_quiet),
		cmocka_unit_test(test_resp),
		cmocka_unit_test(test_resp_lengths),
		cmocka_unit_test(test_resp_keys),
		cmocka_unit_test(test_resp_unknown),
		cmocka_unit_test(test_resp_found),
		cmocka_unit_test(test_resp_found_several),
		cmocka_unit_test(test_resp_other_forms),
		cmocka_unit_test(test_resp_fields_left_out),
		cmocka_unit_test(test_resp_multi),
		cmocka_unit_test(test_values_left_out),
		cmocka_unit_test(test_resp3),
		cmocka_unit_test(test_resp_inline),
		cmocka_unit_test(test_first_bytes),
		cmocka_unit_test(test_protocol_not_known),
		cmocka_unit_test(test_protocol_found),
		cmocka_unit_test(test_protocol_of_words),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lost_and_found),
		cmocka_unit_test(test_within_a_value),
		cmocka_unit_test(test_open_before),
		cmocka_unit_test(test_open_before_answers_left_out),
		cmocka_unit_test(test_open_before_without_answers),
		cmocka_unit_test(test_reply_cut),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_real_memcached),
		cmocka_unit_test(test_real_redis),
		cmocka_unit_test(test_ops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
