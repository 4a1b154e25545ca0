// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * memcached's meta commands: mg ms md ma me mn, and their answers HD VA EN NS EX NF ME MN.
 *
 * The idea: an answer belongs to the oldest command that can have got it. Quiet ones in front of
 * it that can not (their answer would have been left out, or the key or opaque that came back is
 * another's) are settled. A quiet delete or arithmetic command leaves HD out.
 *
 * An answer does not say that the key was made by the command (flag N). Of mg it does in a way: who
 * made it has won (W), without there having been anything stale (X). A counter was there when it is
 * not what it starts with. What the server counts is something else again: a key that mg made is a
 * hit, mg with T is a touch when it hits, and counters that were made count as nothing.
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
	bool cas;     /* C: only what has this CAS number */
	bool touch;   /* T: a new time to live */
	bool create;  /* N: what is not there is made */
	bool recache; /* R: one client wins when little time is left */
	bool stale;   /* I: mark it stale instead; in answers X: it is */
	bool won;     /* W */
	char mode;    /* M, of ms and ma; 0 none */
	u64 initial;  /* J: a counter that is made has this value */
	u32 opaque;
	struct str key; /* returned by flag k */
	bool sized;
	u64 size; /* returned by flag s */
};

/* A flag that says no more than that it is there. */
static bool *flag_alone(struct flags *f, char letter)
{
	switch (letter) {
	case 'q':
		return &f->quiet;
	case 'b':
		return &f->base64;
	case 'C':
		return &f->cas;
	case 'T':
		return &f->touch;
	case 'N':
		return &f->create;
	case 'R':
		return &f->recache;
	case 'I':
	case 'X':
		return &f->stale;
	case 'W':
		return &f->won;
	default:
		return NULL;
	}
}

/* The same letters stand in requests and answers, with what they return after them. */
static struct flags flags_parse(struct str line)
{
	struct flags f = { 0 };
	struct str word;

	while ((word = conn_word(&line)).n) {
		struct str rest = { word.p + 1, word.n - 1 };
		bool *alone = flag_alone(&f, word.p[0]);

		if (alone)
			*alone = true;
		else if (word.p[0] == 'O')
			f.opaque = token_hash(rest);
		else if (word.p[0] == 'k')
			f.key = rest;
		else if (word.p[0] == 's')
			f.sized = conn_number(rest, &f.size);
		else if (word.p[0] == 'J')
			conn_number(rest, &f.initial);
		else if (word.p[0] == 'M' && rest.n)
			f.mode = rest.p[0];
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
		return f->cas ? OP_CAS : OP_REPLACE;
	default:
		return f->cas ? OP_CAS : OP_SET;
	}
}

enum { FLAG_TOUCH = 1, FLAG_RECACHE = 2, FLAG_CAS = 4 };

static void set_flags(struct pending *p, const struct flags *f)
{
	p->quiet = f->quiet;
	p->opaque = f->opaque;
	p->creates = f->create;
	p->initial = f->initial;
	p->flags = (f->touch ? FLAG_TOUCH : 0) | (f->recache ? FLAG_RECACHE : 0) |
	           (f->cas ? FLAG_CAS : 0);
	if (p->verb->shape == SHAPE_META_STORE)
		p->op = store_op(f);
	else if (p->op == OP_INCR && (f->mode == 'D' || f->mode == '-'))
		p->op = OP_DECR;
	p->counter = p->op == OP_DELETE && f->stale ? COUNTER_NONE : proto_op_counter(p->op);
}

void meta_request(struct proto *c, struct pending p, struct str line)
{
	bool store = p.verb->shape == SHAPE_META_STORE;
	struct str key = conn_word(&line);
	char decoded[PROTO_KEY_MAX];
	struct flags f;

	if (store)
		p.sized = conn_number(conn_word(&line), &p.size) && p.size < UINT32_MAX;
	p.wrong = store && !p.sized;
	f = flags_parse(line);
	set_flags(&p, &f);
	if (f.base64)
		key = base64_key(key, decoded);
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

/* Which answers a quiet command leaves out, as bits. A counter that it made is seen all the same,
 * but not by every version. */
static u32 left_out(const struct pending *p)
{
	if (p->op == OP_GET)
		return 1 << EN;
	if (p->op == OP_INCR || p->op == OP_DECR)
		return p->creates ? 0 : 1 << HD | 1 << VA;
	return 1 << HD;
}

/* Which answers a command can get, as bits. Loose: also those that memcached does not give, but
 * other servers may. */
static u32 possible(const struct pending *p, bool loose)
{
	u32 bits = 1 << HD | (loose || p->flags & FLAG_CAS ? 1 << EX : 0);

	if (p->op == OP_OTHER)
		return 1 << ME | 1 << EN;
	if (p->op == OP_GET)
		bits |= 1 << VA | 1 << EN;
	else if (p->op == OP_INCR || p->op == OP_DECR)
		bits |= 1 << VA | 1 << NF | 1 << NS;
	else if (p->op == OP_DELETE)
		bits |= 1 << NF | 1 << NS;
	else if (p->op == OP_CAS)
		bits |= 1 << NF;
	else
		bits |= p->op == OP_SET && !loose ? 0 : 1 << NS;
	return p->quiet ? bits & ~left_out(p) : bits;
}

/* Can the command have got that answer? */
static bool can_be(const struct proto *c, const struct pending *p, enum answer a,
                   const struct flags *f, bool loose)
{
	char decoded[PROTO_KEY_MAX];

	if (!(possible(p, loose) & 1u << a))
		return false;
	if (f->opaque && p->opaque && f->opaque != p->opaque)
		return false;
	return !f->key.n ||
	       str_eq(f->base64 ? base64_key(f->key, decoded) : f->key, conn_key(c, p));
}

/* The oldest command that the answer can be for: a quiet one, or the first that is not. */
static u32 find_asked(const struct proto *c, enum answer a, const struct flags *f, bool loose)
{
	u32 i = 0;

	while (i < c->n && conn_at(c, i)->quiet && !can_be(c, conn_at(c, i), a, f, loose))
		i++;
	return i;
}

/* Settles the quiet ones in front that this answer is not for. */
static void pass_quiet(struct proto *c, enum answer a, const struct flags *f)
{
	u32 i = find_asked(c, a, f, false);

	if (i == c->n || !can_be(c, conn_at(c, i), a, f, false))
		i = find_asked(c, a, f, true);
	while (i--)
		conn_settle(c);
}

static enum outcome outcome_get(struct pending *p, enum answer a, const struct flags *f, u64 size)
{
	if (a == EN)
		return OUTCOME_MISS;
	if (p->flags & FLAG_TOUCH)
		p->counter = COUNTER_TOUCH;
	if (!p->creates || !f->won || f->stale || size)
		return OUTCOME_HIT;
	p->counted = COUNTED_HIT;
	return p->flags & FLAG_RECACHE ? OUTCOME_UNKNOWN : OUTCOME_MISS;
}

/* What the answer means, and how it is counted. */
static enum outcome outcome_of(struct pending *p, enum answer a, const struct flags *f, u64 size)
{
	switch (p->op) {
	case OP_GET:
		return outcome_get(p, a, f, size);
	case OP_CAS:
		p->counted = a == EX ? COUNTED_BAD : 0;
		break;
	case OP_DELETE:
		if (a != HD)
			p->counter = a == NS ? COUNTER_NONE : COUNTER_DELETE;
		break;
	case OP_INCR:
	case OP_DECR:
		if (a == EX)
			p->counter = COUNTER_NONE;
		if (a == HD && p->creates)
			return OUTCOME_UNKNOWN;
		break;
	default:
		break;
	}
	return answers[a].outcome;
}

void meta_number(struct proto *c, struct str word)
{
	struct pending *p = conn_head(c);
	u64 number = p->initial;

	c->await_number = false;
	conn_number(word, &number);
	conn_answer(c, number == p->initial ? OUTCOME_UNKNOWN : OUTCOME_HIT, false, 0);
}

/* The oldest command got that answer. */
static void take_answer(struct proto *c, enum answer a, const struct flags *f, u64 size)
{
	struct pending *p = conn_head(c);
	bool counter = p->op == OP_INCR || p->op == OP_DECR;

	if (a == VA && counter && p->creates) {
		c->await_number = true;
		return;
	}
	if (a == VA)
		c->out.skip = size + 2;
	if (proto_op_reads(p->op) && (a == VA || f->sized))
		conn_answer(c, outcome_of(p, a, f, size), true, a == VA ? size : f->size);
	else
		conn_answer(c, outcome_of(p, a, f, size), false, 0);
}

bool meta_reply(struct proto *c, struct str word, struct str line)
{
	enum answer a = 0;
	struct flags f;
	u64 size = 0;

	if (word.n != sizeof(answers[a].name) - 1)
		return false; /* most lines are of other forms */
	while (a < ANSWERS && !str_is_row(word, answers[a].name))
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
	c->trial.proven |= c->n && (f.opaque || f.key.n) && can_be(c, conn_head(c), a, &f, true);
	if (!c->n || !is_meta(conn_head(c)) ||
	    (!c->sure && !can_be(c, conn_head(c), a, &f, true))) {
		conn_deafen(c);
		return true;
	}
	take_answer(c, a, &f, size);
	return true;
}
