// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Protocols of caches: what a client sends and a server answers, and the commands that come out.
 * Each conversation is told whole, byte by byte, and with values left out of the capture; the same
 * commands must come out. Real servers are talked to as well.
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
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"

static const char *const outcomes[] = { "?", "hit", "miss", "error" };

/* "op key outcome [size] [!] ": '!' for one without an answer, '+' for a key that goes on. */
static void tell(void *ctx, const struct command *c)
{
	struct buf *b = ctx;

	if (!c->first)
		buf_putc(b, '+');
	buf_printf(b, "%s", op_name(c->op));
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

static void conversation(enum protocol protocol, const char *in, size_t n_in, const char *out,
                         size_t n_out, const char *want)
{
	static const size_t steps[] = { SIZE_MAX, 1, 2, 3, 7, 64 };

	for (u32 i = 0; i < ARRAY_SIZE(steps); i++) {
		struct buf got = { 0 };
		struct proto *c = proto_new(protocol, tell, &got);

		/* The first word in one piece: a start is known by it. */
		proto_request(c, in, MIN(n_in, 16u), MIN(n_in, 16u), 0);
		feed_in_steps(c, proto_request, in + MIN(n_in, 16u), n_in - MIN(n_in, 16u),
		              steps[i], SIZE_MAX);
		feed_in_steps(c, proto_reply, out, n_out, steps[i], SIZE_MAX);
		assert_string_equal(buf_text(&got), want);
		assert_int_equal(proto_lost(c), 0);
		proto_free(c);
		buf_free(&got);
	}
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
	     "+OK\r\n+QUEUED\r\n*1\r\n:3\r\n", "other ?\nincr n ?\nother ?\n");
	/* Pushes and attributes answer nothing. */
	resp("*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
	     ">2\r\n+invalidate\r\n*1\r\n$1\r\na\r\n|1\r\n+ttl\r\n:3\r\n$1\r\nx\r\n",
	     "get a hit 1\n");
	resp("*2\r\n$5\r\nSCARD\r\n$1\r\ns\r\n*3\r\n$6\r\nGETBIT\r\n$1\r\ns\r\n$1\r\n1\r\n",
	     ":0\r\n:0\r\n", "read s miss\nread s ?\n");
	/* Before RESP3 there are only messages from there on, in RESP3 between answers. */
	resp("*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
	     "other ?!\n");
	resp("SUBSCRIBE c d\r\nGET a\r\nUNSUBSCRIBE c\r\nGET b\r\n",
	     ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nd\r\n:2\r\n"
	     ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n_\r\n"
	     ">3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:1\r\n$1\r\nx\r\n",
	     "other ?\nget a miss\nother ?\nget b hit 1\n");
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

/* The first byte of a line starts it; capitals do where nobody said what is spoken. */
static void test_resp_inline_start(void **state)
{
	static const char line[] = "GET a\r\n";
	struct buf got = { 0 };

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		struct proto *c = proto_new(i ? PROTOCOL_RESP : PROTOCOL_AUTO, tell, &got);

		proto_request(c, "hello world\r\n", 13, 13, 1); /* no verb with an argument of it */
		proto_lose(c);
		for (u32 k = 0; k < sizeof(line) - 1; k++)
			proto_request(c, line + k, 1, 1, 2);
		proto_reply(c, "$-1\r\n", 5, 5, 3);
		assert_int_equal(proto_protocol(c), PROTOCOL_RESP);
		assert_int_equal(proto_lost(c), 0);
		proto_free(c);
	}
	assert_string_equal(buf_text(&got), "get a miss\nother ?!\nget a miss\n");
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

/* An answer cut where it matters: the rest is not taken for that of others. */
static void test_reply_cut(void **state)
{
	static const char in[] = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"
				 "*3\r\n$4\r\nMGET\r\n$1\r\nc\r\n";
	struct buf got = { 0 };
	struct proto *c = proto_new(PROTOCOL_RESP, tell, &got);

	(void)state;
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

/* ---- real servers ----------------------------------------------------------------------------- */

static pid_t server_start(const char *const *argv, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	pid_t pid = fork();

	if (!pid) {
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
		assert_int_equal(op_find(str_of(op_name(op))), op);
	assert_int_equal(op_find(STR("GET")), OP_GET);
	assert_int_equal(op_find(STR("gett")), OPS);
	assert_true(op_reads(OP_GET));
	assert_false(op_reads(OP_SET));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classic),
		cmocka_unit_test(test_meta),
		cmocka_unit_test(test_binary),
		cmocka_unit_test(test_resp),
		cmocka_unit_test(test_values_left_out),
		cmocka_unit_test(test_resp3),
		cmocka_unit_test(test_resp_inline),
		cmocka_unit_test(test_resp_inline_start),
		cmocka_unit_test(test_lost_and_found),
		cmocka_unit_test(test_reply_cut),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_real_memcached),
		cmocka_unit_test(test_real_redis),
		cmocka_unit_test(test_ops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
