// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * memcached's meta commands: mg ms md ma me mn, and their answers HD VA EN NS EX NF ME MN.
 *
 * The idea: an answer belongs to the oldest command that can have got it. Quiet ones in front of
 * it that can not (their answer would have been left out, or the key or opaque that came back is
 * another's) are settled. A quiet delete or arithmetic command leaves HD out; newer servers leave
 * out NF too, which can not be told apart here: it then counts as done.
 */
#include <string.h>

#include "proto/text.h"

/* FNV-1a, never 0. */
static u32 token_hash(struct str s)
{
	u32 h = 2166136261u;

	for (u32 i = 0; i < s.n; i++)
		h = (h ^ (u8)s.p[i]) * 16777619u;
	return h ? h : 1;
}

static s32 base64_digit(char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'             ? 62
	       : c == '/'             ? 63
	                              : -1;
}

/* Decodes into out, of at least PROTO_KEY_MAX bytes; as it stands when it is not base64. */
static struct str base64_key(struct str s, char *out)
{
	u32 bits = 0, have = 0, n = 0;

	for (u32 i = 0; i < s.n && s.p[i] != '='; i++) {
		s32 digit = base64_digit(s.p[i]);

		if (digit < 0 || n == PROTO_KEY_MAX)
			return s;
		bits = bits << 6 | (u32)digit;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[n++] = (char)(bits >> have);
		}
	}
	return (struct str){ out, n };
}

struct flags {
	bool quiet, base64;
	char mode; /* of ms and ma, upper case; 0 none */
	bool cas;  /* compare-and-swap was asked for */
	u32 opaque;
	struct str key; /* returned by flag k */
	bool sized;
	u64 size; /* returned by flag s */
};

/* The same letters stand in requests and answers, with what they return behind them. */
static struct flags flags_parse(struct str line)
{
	struct flags f = { 0 };
	struct str word;

	while ((word = conn_word(&line)).n) {
		struct str rest = { word.p + 1, word.n - 1 };

		switch (word.p[0]) {
		case 'q':
			f.quiet = true;
			break;
		case 'b':
			f.base64 = true;
			break;
		case 'C':
			f.cas = true;
			break;
		case 'O':
			f.opaque = token_hash(rest);
			break;
		case 'k':
			f.key = rest;
			break;
		case 's':
			f.sized = conn_number(rest, &f.size);
			break;
		case 'M':
			f.mode = rest.n ? (char)(rest.p[0] & ~0x20) : 0;
			break;
		}
	}
	return f;
}

static enum op store_op(const struct flags *f)
{
	switch (f->mode) {
	case 'E':
		return OP_ADD;
	case 'A':
		return OP_APPEND;
	case 'P':
		return OP_PREPEND;
	case 'R':
		return OP_REPLACE;
	default:
		return f->cas ? OP_CAS : OP_SET;
	}
}

void meta_request(struct proto *c, struct pending p, struct str line)
{
	bool store = p.verb->shape == SHAPE_META_STORE;
	struct str key = conn_word(&line);
	char decoded[PROTO_KEY_MAX];
	struct flags f;

	if (store)
		p.sized = conn_number(conn_word(&line), &p.size) && p.size < UINT32_MAX;
	f = flags_parse(line);
	p.quiet = f.quiet;
	p.opaque = f.opaque;
	if (f.base64)
		key = base64_key(key, decoded);
	if (store)
		p.op = store_op(&f);
	else if (p.op == OP_INCR && f.mode == 'D')
		p.op = OP_DECR;
	if (conn_push(c, &p, key) && store && p.sized) {
		c->in.skip = p.size + 2;
		c->storing = 1;
	}
}

enum answer { HD, VA, EN, NS, EX, NF, ME, MN, ANSWERS };

static const struct {
	char name[3];
	enum outcome outcome;
} answers[ANSWERS] = {
	[HD] = { "HD", OUTCOME_HIT },  [VA] = { "VA", OUTCOME_HIT },
	[EN] = { "EN", OUTCOME_MISS }, [NS] = { "NS", OUTCOME_MISS },
	[EX] = { "EX", OUTCOME_MISS }, [NF] = { "NF", OUTCOME_MISS },
	[ME] = { "ME", OUTCOME_HIT },  [MN] = { "MN", OUTCOME_UNKNOWN },
};

static bool is_meta(const struct pending *p)
{
	return p->verb->shape == SHAPE_META || p->verb->shape == SHAPE_META_STORE;
}

/* Which answers a command can get, as bits. */
static u32 possible(const struct pending *p)
{
	u32 bits;

	if (p->op == OP_GET)
		bits = 1 << HD | 1 << VA | 1 << EN;
	else if (p->op == OP_INCR || p->op == OP_DECR)
		bits = 1 << HD | 1 << VA | 1 << NF | 1 << NS | 1 << EX;
	else if (p->op == OP_DELETE)
		bits = 1 << HD | 1 << NF | 1 << EX;
	else
		bits = 1 << HD | 1 << NS | 1 << EX | (p->op == OP_CAS ? 1 << NF : 0);
	return p->quiet ? bits & ~(1u << (p->op == OP_GET ? EN : HD)) : bits;
}

/* Can a quiet command have got that answer, or was its own left out? */
static bool can_be(const struct proto *c, const struct pending *p, enum answer a,
                   const struct flags *f)
{
	char decoded[PROTO_KEY_MAX];

	if (!(possible(p) & 1u << a))
		return false;
	if (f->opaque && p->opaque && f->opaque != p->opaque)
		return false;
	return !f->key.n ||
	       str_eq(f->base64 ? base64_key(f->key, decoded) : f->key, conn_key(c, p));
}

/* Settles the quiet ones in front that this answer is not for. */
static void pass_quiet(struct proto *c, enum answer a, const struct flags *f)
{
	while (c->n && conn_head(c)->quiet && !can_be(c, conn_head(c), a, f))
		conn_settle(c);
}

bool meta_reply(struct proto *c, struct str word, struct str line)
{
	enum answer a = 0;
	struct flags f;
	u64 size = 0;

	while (a < ANSWERS && !str_is(word, answers[a].name))
		a++;
	if (a == ANSWERS || c->await_end || !c->n)
		return false;
	if (a == MN) {
		conn_settle_quiet(c);
		if (c->n && conn_head(c)->verb->shape == SHAPE_NOOP)
			conn_answer(c, OUTCOME_UNKNOWN, false, 0);
		else
			conn_deafen(c);
		return true;
	}
	if (!is_meta(conn_head(c)))
		return false;
	if (a == VA && !(conn_number(conn_word(&line), &size) && size < UINT32_MAX)) {
		conn_deafen(c);
		return true;
	}
	f = flags_parse(line);
	pass_quiet(c, a, &f);
	if (!c->n || !is_meta(conn_head(c))) {
		conn_deafen(c);
		return true;
	}
	if (a == VA)
		c->out.skip = size + 2;
	if (op_reads(conn_head(c)->op) && (a == VA || f.sized))
		conn_answer(c, answers[a].outcome, true, a == VA ? size : f.size);
	else
		conn_answer(c, answers[a].outcome, false, 0);
	return true;
}
