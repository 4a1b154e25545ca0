// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Nearly all that a busy server is asked is a key, or a key and a value, and answered by a string
 * or by +OK.
 *
 * The idea: a client says the same command with the same bytes each time ("*2\r\n$3\r\nGET\r\n").
 * What resp.c finds out of these bytes is kept with them, for the last few of a connection, so that
 * of the next request only the lengths are read.
 */
#include "proto/resp_quick.h"

#include <string.h>

#include "proto/resp_rules.h"

/* Has it one key, and says the first line of an answer whether that was found, or done? */
static bool is_simple(const struct resp_row *row, u64 args)
{
	const struct resp_rule *rule = resp_rule_of(row);
	const struct resp_keys *k = &resp_keys[row->keys];
	bool by_flags = rule->says == SAYS_BY_FLAGS && row->verb.op != OP_DELETE;

	return row != RESP_OTHER && row->n_keys == 1 && k->at == 1 && !k->keyword[0] &&
	       !k->counted && !row->container && !rule->spread && !rule->talk && !rule->step &&
	       (by_flags || rule->says == SAYS_FOUND || rule->says == SAYS_DONE) &&
	       rule->value == args - 2 && row->verb.op != OP_OTHER;
}

/* The command that begins with these n bytes. */
static void make_shape(struct resp_shape *s, const char *p, size_t n)
{
	struct resp_request r = { .n = (u64)(p[1] - '0') };
	const struct resp_row *row = resp_find((struct str){ p + 8, (u32)(n - 10) });

	memcpy(s->head, p, n);
	s->n = (u8)n;
	s->value = r.n == 3;
	s->quick = is_simple(row, r.n);
	if (!s->quick)
		return;
	resp_keys_begin(&r, row);
	s->quick = resp_keys_at(&r, 1) && !(s->value && resp_keys_at(&r, 2));
	s->key = (struct pending){ .simple = true, .last = true, .sized = s->value };
	resp_pending(&r, &resp_keys[row->keys], &s->key);
}

/* That of the command at p; NULL when it does not begin as they do. */
static const struct resp_shape *shape_of(struct proto *c, const char *p, size_t n)
{
	struct resp_shape *s;
	size_t head;

	if (n < 9 || p[0] != '*')
		return NULL;
	s = &c->shapes[(u8)p[8] / 4 % RESP_SHAPES];
	if (s->n && n > s->n && str_same(s->head, p, s->n))
		return s;
	if ((p[1] != '2' && p[1] != '3') || memcmp(p + 2, "\r\n$", 3) != 0 || p[5] < '1' ||
	    p[5] > '9' || memcmp(p + 6, "\r\n", 2) != 0)
		return NULL;
	head = 8 + (size_t)(p[5] - '0') + 2;
	if (n <= head || memcmp(p + head - 2, "\r\n", 2) != 0)
		return NULL;
	make_shape(s, p, head);
	return s;
}

static bool is_as_last(const struct resp_length *last, const char *p, size_t n)
{
	u64 word;

	if (n < sizeof(word))
		return false;
	memcpy(&word, p, sizeof(word));
	return last->mask && !((word ^ last->bytes) & last->mask);
}

static void remember(struct resp_length *l, const char *p, size_t n, u64 size)
{
	if (n > sizeof(l->bytes))
		return;
	*l = (struct resp_length){ .n = n, .size = size };
	memcpy(&l->bytes, p, n);
	memset(&l->mask, 0xff, n);
}

/* The length of a string in *size, and how long its line is; 0 when that has no end here, or is no
 * plain number. `last`: that of the string before it. */
static size_t length_line(struct resp_length *last, const char *p, size_t n, u64 *size)
{
	size_t end;

	if (is_as_last(last, p, n)) {
		*size = last->size;
		return last->n;
	}
	if (n < 4 || p[0] != '$')
		return 0;
	end = 1 + conn_digits(p + 1, n - 1, size);
	if (end == 1 || n - end < 2 || memcmp(p + end, "\r\n", 2) != 0)
		return 0;
	remember(last, p, end + 2, *size);
	return end + 2;
}

size_t resp_quick_request(struct proto *c, const char *p, size_t n)
{
	const struct resp_shape *s = c->sure && !c->stream && c->replies == REPLIES_ON
	                                     ? shape_of(c, p, n)
	                                     : NULL;
	size_t at, took, whole;
	u64 size, value = 0;

	if (!s || !s->quick)
		return 0;
	at = s->n;
	took = length_line(&c->lengths.key, p + at, n - at, &size);
	at += took;
	if (!took || size > PROTO_KEY_MAX || n - at < size + 2)
		return 0;
	whole = at + size + 2;
	if (s->value) {
		took = length_line(&c->lengths.value, p + whole, n - whole, &value);
		if (!took || value > UINT32_MAX)
			return 0;
		whole += took + value + 2;
	}
	if (!conn_push(c, &s->key, (struct str){ p + at, (u32)size }))
		return n;
	conn_at(c, c->n - 1)->size = value;
	c->storing = whole > n;
	c->in.skip = whole - MIN(whole, n);
	return MIN(whole, n);
}

size_t resp_quick_reply(struct proto *c, const char *p, size_t n)
{
	const struct pending *key = conn_head(c);
	size_t took;
	u64 size = 0;

	if (!key || !key->simple || !c->sure || c->queued || c->reply.depth || c->reply.base)
		return 0;
	if (n >= 5 && memcmp(p, key->op == OP_SET ? "+OK\r\n" : "$-1\r\n", 5) == 0) {
		resp_answer_simple(c, key->op == OP_SET ? OUTCOME_HIT : OUTCOME_MISS, false, 0);
		return 5;
	}
	took = length_line(&c->lengths.answer, p, n, &size);
	if (!took)
		return 0;
	resp_answer_simple(c, OUTCOME_HIT, true, size);
	c->out.skip = size + 2 - MIN(size + 2, n - took);
	return took + size + 2 - c->out.skip;
}
