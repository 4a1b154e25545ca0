// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What an answer says of the keys of its command.
 *
 * The idea: an answer is looked at as it comes in, and what matters of it (its first value, how
 * many of its elements are something, which keys it names) is kept in struct resp_seen. When it is
 * whole, that becomes one of three: something was found, or done; nothing; or both are possible.
 * The rule of the command then says what that means for each key.
 *
 * A key is found when what was asked of it is there: its value, a field, a member, elements of a
 * range. Where an answer looks the same for a key that is there and one that is not (GETRANGE,
 * STRLEN of an empty string, a bit that is 0), it is not known.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/resp_rules.h"

enum said { SAID_NOTHING, SAID_SOMETHING, SAID_UNKNOWN, SAID_REFUSED };

static enum resp_says says_of(const struct pending *p)
{
	enum resp_says says = resp_rule_of(resp_row_of(p))->says;

	if (says)
		return says;
	switch (resp_row_of(p)->verb.op) {
	case OP_READ:
		return SAYS_FOUND;
	case OP_DELETE:
		return SAYS_COUNT;
	default:
		return SAYS_DONE;
	}
}

/* ---- a key that is asked for ---------------------------------------------------------------- */

static bool is_looked_for(const struct resp_keys *k, u8 lookups)
{
	if (lookups == LOOKUPS_BY_ACCESS)
		return k->access == KEY_READ;
	return lookups != LOOKUPS_NONE;
}

static void count_lookups(const struct resp_request *r, const struct resp_keys *k,
                          struct pending *p)
{
	u8 lookups = resp_rule_of(r->row)->lookups;

	if (lookups == LOOKUPS_RESET)
		p->counter = COUNTER_RESET;
	else if (r->row->module)
		p->counter = COUNTER_LOOKUP;
	else if (k ? is_looked_for(k, lookups) : lookups != LOOKUPS_BY_ACCESS)
		p->counter = COUNTER_LOOKUP;
	if (lookups == LOOKUPS_MORE || r->row->module)
		p->counted = COUNTED_MORE;
	else if (lookups == LOOKUPS_MAYBE)
		p->counted = COUNTED_MAYBE;
}

void resp_pending(const struct resp_request *r, const struct resp_keys *k, struct pending *p)
{
	static const u8 ops[] = {
		[KEY_READ] = OP_READ, [KEY_WRITE] = OP_WRITE, [KEY_DELETE] = OP_DELETE
	};
	u8 op = resp_rule_of(r->row)->op;

	p->verb = &r->row->verb;
	p->first = !r->keys;
	p->unknown = r->row == RESP_OTHER;
	p->op = !k ? OP_OTHER : op ? (enum op)(op - 1) : (enum op)ops[k->access];
	count_lookups(r, k, p);
}

/* ---- looking at an answer ------------------------------------------------------------------- */

enum resp_looked resp_looked(const struct pending *p)
{
	const struct resp_rule *rule = resp_rule_of(resp_row_of(p));

	if (rule->says == SAYS_CHANGED)
		return LOOKED_NUMBER;
	if (rule->says == SAYS_SCAN)
		return LOOKED_CURSOR;
	if (rule->spread == SPREAD_NAMED)
		return LOOKED_FIRST_KEY;
	return rule->spread == SPREAD_STREAMS ? LOOKED_KEYS : LOOKED_NONE;
}

bool resp_answers_each(const struct pending *p)
{
	return resp_rule_of(resp_row_of(p))->spread == SPREAD_EACH;
}

/* Number of keys of the command that starts at `at` in the queue. */
static u32 count_keys(const struct proto *c, u32 at)
{
	u32 n = 1;

	while (at + n < c->n && !conn_at(c, at + n - 1)->last)
		n++;
	return n;
}

static void name_key(struct proto *c, struct pending *p, struct str key)
{
	bool last = false;

	for (u32 i = (u32)(p - c->queue); !last; i = (i + 1) & (c->cap - 1)) {
		last = c->queue[i].last;
		if (str_eq(conn_key(c, &c->queue[i]), key)) {
			c->queue[i].named = true;
			return;
		}
	}
}

static double number_of(struct str s)
{
	char text[48];

	memcpy(text, s.p, MIN(s.n, sizeof(text) - 1));
	text[MIN(s.n, sizeof(text) - 1)] = 0;
	return strtod(text, NULL);
}

static bool is_unchanged(const struct pending *p, const struct resp_value *v)
{
	double step;

	memcpy(&step, &p->initial, sizeof(step));
	return p->creates && (v->number || v->type == ',' || v->sized) &&
	       number_of(v->text) - step == 0;
}

static void see_first(struct resp_seen *s, const struct pending *p, const struct resp_value *v)
{
	static const struct str no_key = STR("ERR no such key"), busy = STR("BUSYKEY");
	bool error = v->type == '-';

	s->type = v->type;
	s->null = v->null;
	s->many = v->many;
	s->sized = v->sized;
	s->number = v->number;
	s->n = v->n;
	s->size = v->size;
	s->unchanged = is_unchanged(p, v);
	s->none = v->type == '+' && (str_is(v->text, "none") || str_is(v->text, "NOKEY"));
	s->absent = error && ((v->text.n >= no_key.n && !memcmp(v->text.p, no_key.p, no_key.n)) ||
	                      (v->text.n >= busy.n && !memcmp(v->text.p, busy.p, busy.n)));
}

void resp_see(struct proto *c, struct pending *p, u32 depth, u64 index, bool of_map,
              const struct resp_value *v)
{
	enum resp_looked looked = resp_looked(p);
	struct resp_seen *s = &c->reply.seen;

	if (!depth) {
		see_first(s, p, v);
		return;
	}
	if (depth == 1) {
		bool there = !v->null && !(v->many && !v->size);

		s->filled += there && !(v->number && v->n <= 0);
		s->present += there && !(v->number && v->n == -2);
		s->more |= looked == LOOKED_CURSOR &&
		           (index ? v->size != 0 : !str_is(v->text, "0"));
	}
	if ((looked == LOOKED_FIRST_KEY && depth == 1 && !index) ||
	    (looked == LOOKED_KEYS && v->sized &&
	     (of_map ? depth == 1 && index % 2 == 0 : depth == 2 && !index)))
		name_key(c, p, v->text);
}

/* ---- what it means -------------------------------------------------------------------------- */

static enum said something_if(bool yes)
{
	return yes ? SAID_SOMETHING : SAID_NOTHING;
}

static enum said known_if(bool yes)
{
	return yes ? SAID_SOMETHING : SAID_UNKNOWN;
}

static enum said said_size(const struct resp_seen *s)
{
	if (s->many)
		return known_if(s->filled);
	return known_if(s->number ? s->n > 0 : s->size > 0);
}

static enum said said(const struct pending *p, const struct resp_seen *s)
{
	enum resp_says says = says_of(p);

	if (s->type == '-' || s->type == '!')
		return s->absent ? SAID_NOTHING : SAID_REFUSED;
	if (says == SAYS_NOTHING)
		return SAID_UNKNOWN;
	if (s->null || s->none)
		return SAID_NOTHING;
	switch (says) {
	case SAYS_COUNT:
		return something_if(s->number ? s->n > 0 : !s->many || s->size);
	case SAYS_SIZE:
		return said_size(s);
	case SAYS_LENGTH:
		return s->many ? SAID_UNKNOWN : said_size(s);
	case SAYS_TIME:
		return something_if(s->n != -2);
	case SAYS_ANY:
		return something_if(s->many ? s->filled : s->n > 0);
	case SAYS_ANY_TIME:
		return something_if(s->present);
	case SAYS_SCAN:
		return something_if(s->more);
	case SAYS_CHANGED:
		return known_if(!s->unchanged);
	case SAYS_DONE:
		return SAID_SOMETHING;
	default:
		return something_if(!s->many || s->size);
	}
}

/* A command's keys: those that the answer is about, and those written to besides. */
struct keys {
	u32 n, sources;
	bool mixed; /* some are only written to */
	u32 named;  /* the first that was named, of the sources; n when none was */
};

static bool is_source(const struct keys *k, const struct pending *p)
{
	return !k->mixed || proto_op_reads(p->op);
}

static struct keys keys_of(const struct proto *c, u32 at)
{
	struct keys k = { .n = count_keys(c, at) };
	u32 reads = 0;

	for (u32 i = 0; i < k.n; i++)
		reads += proto_op_reads(conn_at(c, at + i)->op);
	k.mixed = reads && reads < k.n;
	k.sources = k.mixed ? reads : k.n;
	while (k.named < k.n && !conn_at(c, at + k.named)->named)
		k.named++;
	return k;
}

static enum outcome plain(enum said s)
{
	static const u8 outcomes[] = { [SAID_NOTHING] = OUTCOME_MISS,
		                       [SAID_SOMETHING] = OUTCOME_HIT,
		                       [SAID_UNKNOWN] = OUTCOME_UNKNOWN,
		                       [SAID_REFUSED] = OUTCOME_ERROR };

	return outcomes[s];
}

static enum outcome if_alone(const struct keys *k, enum said s)
{
	return k->sources == 1 ? plain(s) : OUTCOME_UNKNOWN;
}

/* By a number of those that were there. */
static enum outcome spread_count(const struct keys *k, const struct resp_seen *s)
{
	if (!s->number || (s->n > 0 && s->n != k->n))
		return OUTCOME_UNKNOWN;
	return s->n > 0 ? OUTCOME_HIT : OUTCOME_MISS;
}

/* What the answer says of source number i. */
static enum outcome spread(const struct keys *k, const struct pending *p, u32 i, enum said s,
                           const struct resp_seen *seen)
{
	bool some = s == SAID_SOMETHING;

	switch (resp_rule_of(resp_row_of(p))->spread) {
	case SPREAD_COUNT:
		return spread_count(k, seen);
	case SPREAD_UNION:
		return some ? if_alone(k, s) : plain(s);
	case SPREAD_INTERSECTION:
		return some ? OUTCOME_HIT : if_alone(k, s);
	case SPREAD_DIFFERENCE:
		return some && !i ? OUTCOME_HIT : if_alone(k, s);
	case SPREAD_NAMED:
		if (!some || i < k->named)
			return OUTCOME_MISS;
		return i == k->named ? OUTCOME_HIT : OUTCOME_UNKNOWN;
	case SPREAD_STREAMS:
		return some && p->named ? OUTCOME_HIT : OUTCOME_MISS;
	case SPREAD_SOURCE:
		return i || some || seen->absent ? plain(s) : OUTCOME_UNKNOWN;
	case SPREAD_NONE:
		return OUTCOME_UNKNOWN;
	default:
		return plain(s);
	}
}

/* As the server counts it: a key in which nothing was found may be there, and what it refuses to do
 * was perhaps looked for. */
static void count_as(struct pending *p, enum outcome outcome)
{
	static const u8 ways[] = { [OUTCOME_UNKNOWN] = COUNTED_EITHER,
		                   [OUTCOME_HIT] = COUNTED_HIT,
		                   [OUTCOME_MISS] = COUNTED_MISS,
		                   [OUTCOME_ERROR] = COUNTED_MAYBE };

	if (p->counter != COUNTER_LOOKUP || p->counted)
		return;
	p->counted = ways[outcome];
	if (outcome == OUTCOME_MISS && !resp_rule_of(resp_row_of(p))->whole)
		p->counted = COUNTED_EITHER;
}

static void tell(struct proto *c, u32 at, enum outcome outcome)
{
	struct pending *p = conn_at(c, at);
	const struct resp_seen *s = &c->reply.seen;
	bool sized = p->op == OP_GET && s->sized && !s->null && s->type != '!';

	if (p->op == OP_OTHER)
		outcome = outcome == OUTCOME_ERROR ? outcome : OUTCOME_UNKNOWN;
	if (p->unsure && outcome != OUTCOME_ERROR)
		outcome = OUTCOME_UNKNOWN;
	count_as(p, outcome);
	conn_answer_at(c, at, outcome, sized, s->size);
}

/* Of a single key, what is said of the command is said of it. */
static bool is_plain(const struct pending *p)
{
	return p->first && p->last && !resp_rule_of(resp_row_of(p))->spread;
}

void resp_answer(struct proto *c, u32 at)
{
	const struct resp_seen *seen = &c->reply.seen;
	struct keys k;

	if (is_plain(conn_at(c, at))) {
		tell(c, at, plain(said(conn_at(c, at), seen)));
		return;
	}
	k = keys_of(c, at);

	for (u32 i = 0, source = 0; i < k.n; i++) {
		const struct pending *p = conn_at(c, at);
		enum said s = said(p, seen);
		bool is = is_source(&k, p);

		if (s == SAID_REFUSED || !is)
			tell(c, at, plain(s));
		else
			tell(c, at, spread(&k, p, source, s, seen));
		source += is;
	}
}

void resp_answer_simple(struct proto *c, enum outcome outcome, bool sized, u64 size)
{
	struct pending *p = conn_head(c);

	count_as(p, outcome);
	conn_answer(c, outcome, sized && p->op == OP_GET, size);
}

void resp_answer_one(struct proto *c, u32 at, const struct resp_value *v)
{
	struct pending *p = conn_at(c, at);

	see_first(&c->reply.seen, p, v);
	tell(c, at, plain(said(p, &c->reply.seen)));
}
