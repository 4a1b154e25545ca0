/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a tool counted, compared with the server's own counters: `stats` of memcached, `INFO stats`
 * of Redis and Valkey. proto/ says of each key which of them it moves, and how; a table here, what
 * they are called. Where no answer says how the server counted a key (noreply), its counter is
 * between two numbers.
 *
 * Commands under way at the start or the end are counted by one side only: a server that was asked
 * nothing at these moments must give the same numbers, when nothing was lost.
 */
#include "view/cache_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/cache_ask.h"

#define HIT  (1u << COUNTED_HIT)
#define MISS (1u << COUNTED_MISS)
#define BAD  (1u << COUNTED_BAD)

/* What should be equal: the sum of a few of the server's counters, and what was counted in these
 * ways. */
struct check {
	const char *name;     /* as the server calls them, with + between */
	enum counter counter; /* of sets: of those with a CAS number, too */
	u32 ways;
};

static const struct check memcached[] = {
	{ "cmd_get", COUNTER_GET, HIT | MISS },
	{ "get_hits", COUNTER_GET, HIT },
	{ "get_misses", COUNTER_GET, MISS },
	{ "cmd_touch", COUNTER_TOUCH, HIT | MISS },
	{ "touch_hits", COUNTER_TOUCH, HIT },
	{ "touch_misses", COUNTER_TOUCH, MISS },
	{ "cmd_set", COUNTER_SET, HIT | MISS | BAD },
	{ "cas_hits", COUNTER_CAS, HIT },
	{ "cas_misses", COUNTER_CAS, MISS },
	{ "cas_badval", COUNTER_CAS, BAD },
	{ "delete_hits", COUNTER_DELETE, HIT },
	{ "delete_misses", COUNTER_DELETE, MISS },
	{ "delete_hits+delete_misses", COUNTER_DELETE, HIT | MISS },
	{ "incr_hits", COUNTER_INCR, HIT },
	{ "incr_misses", COUNTER_INCR, MISS },
	{ "incr_hits+incr_misses", COUNTER_INCR, HIT | MISS },
	{ "decr_hits", COUNTER_DECR, HIT },
	{ "decr_misses", COUNTER_DECR, MISS },
	{ "decr_hits+decr_misses", COUNTER_DECR, HIT | MISS },
};

static const struct check redis[] = {
	{ "keyspace_hits", COUNTER_LOOKUP, HIT },
	{ "keyspace_misses", COUNTER_LOOKUP, MISS },
	{ "keyspace_hits+keyspace_misses", COUNTER_LOOKUP, HIT | MISS },
};

_Static_assert(ARRAY_SIZE(memcached) <= CACHE_CHECKS, "checks fit");

#define ABSENT UINT64_MAX

/* "STAT name N" or "name:N", at the start of a line. */
static u64 number_of(const struct buf *b, const char *name, bool resp)
{
	const char *at = b->p;
	size_t n = strlen(name);

	while (at && *at) {
		if (!resp && strncmp(at, "STAT ", 5) == 0)
			at += 5;
		if (strncmp(at, name, n) == 0 && (at[n] == ' ' || at[n] == ':'))
			return strtoull(at + n + 1, NULL, 10);
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return ABSENT;
}

/* Of names with + between; ABSENT when the server does not have one of them. */
static u64 sum_of(const struct buf *b, const char *names, bool resp)
{
	u64 sum = 0;

	while (*names) {
		char name[32];
		size_t n = strcspn(names, "+");
		u64 number;

		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		number = number_of(b, name, resp);
		if (number == ABSENT)
			return ABSENT;
		sum += number;
		names += n + (names[n] == '+');
	}
	return sum;
}

/* memcached keeps values on disk, too: a hit whose value is not found there is a miss for who
 * asked. */
static u64 moved(const struct check *k, const struct buf *b)
{
	u64 n = k->counter == COUNTER_GET ? number_of(b, "miss_from_extstore", false) : ABSENT;

	if (n == ABSENT || k->ways == (HIT | MISS))
		return 0;
	return k->ways == HIT ? -n : n;
}

static const struct check *checks_of(const struct cache_check *c, u32 *n)
{
	*n = c->redis ? ARRAY_SIZE(redis) : ARRAY_SIZE(memcached);
	return c->redis ? redis : memcached;
}

static bool read_counters(const struct cache_check *c, const struct server *s, u64 *values,
                          struct err *e)
{
	const char *question = c->redis ? "*2\r\n$4\r\nINFO\r\n$5\r\nstats\r\n" : "stats\r\n";
	struct buf b = { 0 };
	const struct check *of;
	bool told = false;
	u32 n;

	if (!cache_ask(s, question, c->redis, &b, e)) {
		buf_free(&b);
		return false;
	}
	of = checks_of(c, &n);
	for (u32 i = 0; i < n; i++) {
		values[i] = sum_of(&b, of[i].name, c->redis);
		told |= values[i] != ABSENT;
		if (values[i] != ABSENT)
			values[i] += moved(&of[i], &b);
	}
	if (!told)
		err_set(e, "%s %u does not tell its counters: %.*s", s->name, s->pid,
		        (int)strcspn(b.p, "\r\n"), b.p);
	buf_free(&b);
	return told;
}

/* memcached: the port at which it may be asked by datagrams as well, 0 none. */
static u64 takes_datagrams(const struct server *s)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	u64 port = ABSENT;

	if (cache_ask(s, "stats settings\r\n", false, &b, &e))
		port = number_of(&b, "udpport", false);
	buf_free(&b);
	return port == ABSENT ? 0 : port;
}

bool cache_check_begin(struct cache_check *c, const struct server *s, struct err *e)
{
	c->redis = strcmp(s->name, "memcached") != 0;
	c->pid = s->pid;
	c->datagrams = c->redis ? 0 : takes_datagrams(s);
	return read_counters(c, s, c->before, e);
}

/* ---- comparing ------------------------------------------------------------------------------ */

struct seen {
	u64 server, least, most; /* between: of some it is not known how the server counted them */
	bool open;               /* `most` is no limit */
};

static void count(struct seen *s, const u64 *n, u32 ways)
{
	for (u32 i = COUNTED_HIT; i <= COUNTED_BAD; i++) {
		s->least += ways & 1u << i ? n[i] : 0;
		s->most += ways & 1u << i ? n[i] : 0;
	}
	s->least += ways & HIT && ways & MISS ? n[COUNTED_EITHER] : 0;
	s->most += n[COUNTED_EITHER] + n[COUNTED_MAYBE];
	s->open |= n[COUNTED_MORE] != 0;
}

static struct seen compare(const struct check *k, const struct hot_totals *t, u64 server)
{
	struct seen s = { .server = server };

	count(&s, t->counters[k->counter], k->ways);
	if (k->counter == COUNTER_SET)
		count(&s, t->counters[COUNTER_CAS], k->ways);
	return s;
}

static bool is_equal(const struct seen *s)
{
	return s->server >= s->least && (s->open || s->server <= s->most);
}

/* Sums say nothing new where their parts are exact. */
static void print_text(struct buf *b, const char *name, const struct seen *s)
{
	if (!s->server && !s->most)
		return;
	if (strchr(name, '+') && s->least == s->most && !s->open && is_equal(s))
		return;
	buf_printf(b, "check: %s: the server says %" PRIu64 ", seen were %" PRIu64, name, s->server,
	           s->least);
	if (s->open)
		buf_puts(b, " or more");
	else if (s->least != s->most)
		buf_printf(b, " to %" PRIu64, s->most);
	buf_puts(b, is_equal(s) ? "\n" : ", a difference\n");
}

static void put_check(struct tree *t, const char *name, const struct seen *s)
{
	static const struct column server = COL_COUNT("server", "as it says"),
				   seen = COL_COUNT("seen", "at least"),
				   at_most = COL_COUNT("at_most", NULL);

	tree_object(t, name);
	tree_whole(t, &server, s->server);
	tree_whole(t, &seen, s->least);
	if (s->open)
		tree_unknown(t, &at_most);
	else
		tree_whole(t, &at_most, s->most);
	tree_end(t);
}

#define REASONS 5

/* Why there may be a difference, or why there may be none: NULL after the last. */
static void find_reasons(const struct cache_check *c, const struct hot_totals *t,
                         const char *reasons[REASONS])
{
	u64 vague = 0;
	u32 n = 0;

	for (u32 i = COUNTER_NONE + 1; i < COUNTERS; i++)
		vague += t->counters[i][COUNTED_EITHER] + t->counters[i][COUNTED_MAYBE];
	if (vague)
		reasons[n++] = "of some keys no answer says how the server counts them";
	if (t->counters[COUNTER_LOOKUP][COUNTED_MORE])
		reasons[n++] = "scripts, streams, modules and patterns look for keys unseen";
	if (t->resets)
		reasons[n++] = "the server began to count anew, and so does this";
	if (c->datagrams)
		reasons[n++] =
			"the server takes UDP too, and what it is asked that way is not seen";
	reasons[n] = NULL;
}

/* Returns whether all of them are equal. Into `t`, or when that is NULL as text. */
static bool print_checks(const struct cache_check *c, const u64 *after, const struct hot_totals *n,
                         struct tree *t, struct buf *b)
{
	bool equal = true;
	const struct check *of;
	u32 n_of;

	of = checks_of(c, &n_of);
	for (u32 i = 0; i < n_of; i++) {
		struct seen s;

		if (after[i] == ABSENT || c->before[i] == ABSENT)
			continue;
		s = compare(&of[i], n, after[i] - (n->resets ? 0 : c->before[i]));
		equal &= is_equal(&s);
		if (t)
			put_check(t, of[i].name, &s);
		else
			print_text(b, of[i].name, &s);
	}
	return equal;
}

static void print_reasons(const char *const *reasons, struct buf *b)
{
	for (u32 i = 0; reasons[i]; i++)
		buf_printf(b, "check: %s\n", reasons[i]);
}

/* What ends both kinds of report. */
static void put_end(struct tree *t, bool equal, const char *const *reasons,
                    const struct missed *missed)
{
	static const struct column is_equal = COL_LABEL("equal", NULL),
				   reason = COL_TEXT("reason", NULL);

	tree_end(t);
	tree_flag(t, &is_equal, equal);
	tree_list(t, "reasons");
	for (u32 i = 0; reasons[i]; i++)
		tree_text(t, &reason, reasons[i]);
	tree_end(t);
	if (missed)
		missed_tree(t, missed);
	tree_end(t);
}

/* It could not be compared: `reasons` say why. */
static void print_failure(struct tree *t, const char *const *reasons, struct buf *b)
{
	if (!t) {
		print_reasons(reasons, b);
		return;
	}
	tree_object(t, NULL);
	tree_object(t, "check");
	put_end(t, false, reasons, NULL);
}

static void check_text(const struct cache_check *c, const u64 *after, const struct report_of *r,
                       struct buf *b)
{
	const struct hot_totals *t = hot_totals(r->hot);
	const char *reasons[REASONS];
	bool equal = print_checks(c, after, t, NULL, b);

	find_reasons(c, t, reasons);
	print_reasons(reasons, b);
	buf_printf(b, "check: %s, ", equal ? "equal" : "not equal");
	missed_print(b, &r->missed);
	buf_putc(b, '\n');
}

static void check_tree(const struct cache_check *c, const u64 *after, const struct report_of *r,
                       struct tree *t)
{
	const struct hot_totals *n = hot_totals(r->hot);
	const char *reasons[REASONS];
	bool equal;

	tree_object(t, NULL);
	tree_object(t, "check");
	equal = print_checks(c, after, n, t, NULL);
	find_reasons(c, n, reasons);
	put_end(t, equal, reasons, &r->missed);
}

void cache_check_end(struct cache_check *c, const struct server *s, const struct report_of *r,
                     const struct tree_ops *ops, struct buf *b)
{
	struct tree tree = { .b = b, .ops = ops, .tight = true }, *t = ops ? &tree : NULL;
	u64 after[CACHE_CHECKS] = { 0 };
	struct err e = { 0 };

	if (s->pid != c->pid || !read_counters(c, s, after, &e))
		print_failure(t,
		              (const char *const[]){
				      e.text[0] ? e.text : "the server was started again", NULL },
		              b);
	else if (t)
		check_tree(c, after, r, t);
	else
		check_text(c, after, r, b);
}
