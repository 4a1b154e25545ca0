// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counting commands by key.
 *
 * The idea: an interval ends for all keys at once without touching any of them. A key holds the
 * number of the interval it counts in; when that is an old one, its count belongs to the past.
 *
 * Keys are folded or hidden before they are counted, so what is not to be shown is not kept.
 */
#include "cache/hot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HALF_MOST 1000000000u /* seconds: more is no different */

struct hot {
	struct hot_options o;
	struct keys *keys;
	u64 half; /* of the decayed rate, ns */
	struct hot_totals totals;
	struct verbs verbs;
	u32 interval;      /* number of the one that runs; the first is 1 */
	u64 began, before; /* its start, and calls in it */
	u64 length;        /* of the last one, ns */
	u64 now;           /* latest time seen */
	const struct hot_query *query;
};

struct hot *hot_new(const struct hot_options *o, struct err *e)
{
	struct hot *h = calloc(1, sizeof(*h));
	struct keys_options k = { .limit = o->limit,
		                  .payload = sizeof(struct hot_key),
		                  .near = offsetof(struct hot_key, clients[1]),
		                  .key_max = PROTO_KEY_MAX,
		                  .secret = o->secret };

	if (!h)
		base_no_memory();
	h->o = *o;
	h->o.sample = MAX(o->sample, 1);
	h->half = MIN(o->half ? o->half : HOT_HALF, HALF_MOST) * 1000000000;
	h->interval = 1;
	h->began = h->now = o->start;
	h->keys = keys_new(&k, e);
	if (h->keys)
		return h;
	free(h);
	return NULL;
}

void hot_free(struct hot *h)
{
	if (!h)
		return;
	keys_free(h->keys);
	verbs_free(&h->verbs);
	free(h);
}

/* ---- one command ---------------------------------------------------------------------------- */

/* The busiest clients of a key: one without a place takes that of the least busy, and its count. */
static void count_client(struct hot_key *k, const struct client *from)
{
	struct hot_client *least = k->clients;

	for (u32 i = 0; i < HOT_CLIENTS; i++) {
		struct hot_client *c = &k->clients[i];

		if (c->calls && client_same_host(&c->who, from)) {
			c->calls++;
			c->who.port = from->port;
			return;
		}
		if (c->calls < least->calls)
			least = c;
	}
	least->who = *from;
	least->calls++;
}

static void note_size(struct hot_key *k, u64 size, u64 time)
{
	if (k->n_sizes && k->size == size)
		return;
	k->size = size;
	k->sizes[k->n_sizes++ % HOT_SIZES] = (struct hot_size){ time, size };
}

static bool stores(enum op op)
{
	return op == OP_SET || op == OP_ADD || op == OP_REPLACE || op == OP_CAS;
}

/* The size of the value that the key has now. An append does not say it, a failed add neither. */
static bool tells_size(const struct command *c)
{
	if (!c->sized || c->outcome == OUTCOME_ERROR)
		return false;
	if (c->op == OP_GET)
		return c->outcome == OUTCOME_HIT;
	return stores(c->op) && c->outcome != OUTCOME_MISS;
}

static void count_interval(struct hot *h, struct hot_key *k)
{
	if (k->interval != h->interval) {
		k->before = k->interval == h->interval - 1 ? k->now : 0;
		k->now = 0;
		k->interval = h->interval;
	}
	k->now++;
}

static bool looks_up(const struct command *c, enum outcome outcome)
{
	return proto_op_reads(c->op) && c->outcome == outcome;
}

static bool is_sampled(const struct hot *h, struct hot_key *k, struct str key)
{
	bool in;

	if (h->o.sample == 1)
		return true;
	if (k && k->decided)
		return !k->left_out;
	in = hash_quick(&h->o.secret, key.p, key.n) % h->o.sample == 0;
	if (k) {
		k->decided = true;
		k->left_out = !in;
	}
	return in;
}

/* What of a key takes most room, and so most of the time. `bucket` is that of its latency. */
static void look_at(struct hot_key *k, const struct command *c, const struct client *from, u64 time,
                    u32 bucket)
{
	if (tells_size(c))
		note_size(k, c->size, time);
	if (c->answered)
		latency_count(&k->latency, bucket);
	count_client(k, from);
}

static void count_key(struct hot *h, struct hot_key *k, const struct command *c, u64 time)
{
	bool lookup = proto_op_reads(c->op);

	switch (c->outcome) {
	case OUTCOME_HIT:
		k->hits++;
		k->found += lookup;
		break;
	case OUTCOME_MISS:
		k->misses++;
		k->absent += lookup;
		break;
	case OUTCOME_ERROR:
		k->errors++;
		break;
	case OUTCOME_UNKNOWN:
		break;
	}
	k->bytes += c->sized ? c->size : 0;
	if (c->cpu) {
		k->cpu += c->cpu;
		k->timed++;
	}
	k->last = MAX(k->last, time);
	k->ops[c->op]++;
	rate_hit(&k->rate, time, h->half, 1);
	count_interval(h, k);
}

/* That of Redis may be empty. */
static bool has_key(const struct command *c)
{
	return c->key.n || c->op != OP_OTHER;
}

static void count_counter(struct hot_totals *t, const struct command *c)
{
	if (c->counter == COUNTER_RESET) {
		memset(t->counters, 0, sizeof(t->counters));
		t->resets++;
	} else {
		t->counters[c->counter][c->counted]++;
	}
}

static void count_total(struct hot_totals *t, const struct command *c)
{
	count_counter(t, c);
	t->commands += c->first;
	if (!has_key(c))
		return;
	t->calls++;
	t->hits += c->outcome == OUTCOME_HIT;
	t->misses += c->outcome == OUTCOME_MISS;
	t->errors += c->outcome == OUTCOME_ERROR;
	t->found += looks_up(c, OUTCOME_HIT);
	t->absent += looks_up(c, OUTCOME_MISS);
	t->bytes += c->sized ? c->size : 0;
	t->cpu += c->cpu;
	t->timed += c->cpu != 0;
	t->ops[c->op]++;
}

/* The key as it is to be counted; `room` has PROTO_KEY_MAX bytes. */
static struct str shown_key(const struct hot *h, struct str key, u32 *size, char *room)
{
	char hidden[KEYS_HASHED];

	if (h->o.fold) {
		key = (struct str){ room, keys_fold(key, h->o.delimiters, room, PROTO_KEY_MAX) };
		*size = key.n;
	}
	if (h->o.hide) {
		keys_hide(key, &h->o.secret, hidden);
		memcpy(room, hidden, KEYS_HASHED - 1);
		key = (struct str){ room, KEYS_HASHED - 1 };
		*size = key.n;
	}
	return key;
}

u64 hot_expect(struct hot *h, struct str key)
{
	return h->o.fold || h->o.hide ? 0 : keys_expect(h->keys, key);
}

void hot_command(struct hot *h, const struct command *c, const struct client *from)
{
	char room[PROTO_KEY_MAX];
	u64 time = c->answered ? c->ended : c->started;
	u32 size = c->key_size, bucket;
	struct str key;
	struct hot_key *k;
	bool sampled;

	h->now = MAX(h->now, time);
	count_total(&h->totals, c);
	if (!has_key(c))
		return;
	h->before++;
	verbs_count(&h->verbs, c);
	key = shown_key(h, c->key, &size, room);
	if (h->o.alert)
		alert_call(h->o.alert, key, size, time);
	k = keys_hit_expected(h->keys, key, size, c->expected);
	sampled = is_sampled(h, k, key);
	bucket = sampled && c->answered ? latency_bucket(c->ended - c->started) : 0;
	if (sampled && c->answered && c->first)
		latency_count(&h->totals.latency, bucket);
	if (!k)
		return;
	count_key(h, k, c, time);
	if (sampled)
		look_at(k, c, from, time, bucket);
}

void hot_tick(struct hot *h, u64 now)
{
	h->length = now - h->began;
	h->totals.interval_calls = h->before;
	h->totals.seconds = (double)h->length / 1e9;
	h->before = 0;
	h->began = now;
	h->now = MAX(h->now, now);
	h->interval++;
}

void hot_clear(struct hot *h, u64 now)
{
	keys_clear(h->keys);
	memset(&h->totals, 0, sizeof(h->totals));
	verbs_clear(&h->verbs);
	h->before = h->length = 0;
	h->began = now;
	h->interval++;
}

const struct hot_totals *hot_totals(const struct hot *h)
{
	return &h->totals;
}

const struct verbs *hot_verbs(const struct hot *h)
{
	return &h->verbs;
}

void hot_stats(const struct hot *h, struct keys_stats *s)
{
	keys_stats(h->keys, s);
}

u32 hot_sample(const struct hot *h)
{
	return h->o.sample;
}

/* ---- rows ----------------------------------------------------------------------------------- */

u64 hot_interval_calls(const struct hot *h, const struct hot_key *k)
{
	if (k->interval == h->interval)
		return k->before;
	return k->interval == h->interval - 1 ? k->now : 0;
}

double hot_hit_rate(u64 found, u64 absent)
{
	return found + absent ? (double)found * 100 / (double)(found + absent) : NAN;
}

static double rate_of(const struct hot *h, const struct hot_key *k)
{
	return h->length ? (double)hot_interval_calls(h, k) * 1e9 / (double)h->length : 0;
}

static double by_calls(const struct hot *h, const struct key_row *r)
{
	(void)h;
	return (double)r->count;
}

static double by_size(const struct hot *h, const struct key_row *r)
{
	(void)h;
	return (double)((const struct hot_key *)r->payload)->size;
}

static double by_rate(const struct hot *h, const struct key_row *r)
{
	return rate_of(h, r->payload);
}

static double by_bytes(const struct hot *h, const struct key_row *r)
{
	(void)h;
	return (double)((const struct hot_key *)r->payload)->bytes;
}

static double by_latency(const struct hot *h, const struct key_row *r)
{
	(void)h;
	return (double)latency_quantile(&((const struct hot_key *)r->payload)->latency, 0.99);
}

static double by_last(const struct hot *h, const struct key_row *r)
{
	(void)h;
	return (double)((const struct hot_key *)r->payload)->last;
}

static double by_misses(const struct hot *h, const struct key_row *r)
{
	(void)h;
	return (double)((const struct hot_key *)r->payload)->misses;
}

static double by_cpu(const struct hot *h, const struct key_row *r)
{
	(void)h;
	return (double)((const struct hot_key *)r->payload)->cpu;
}

static double by_recent(const struct hot *h, const struct key_row *r)
{
	return rate_at(&((const struct hot_key *)r->payload)->rate, h->now, h->half);
}

static const struct {
	const char *name;
	double (*value)(const struct hot *h, const struct key_row *r);
} sorts[HOT_SORTS] = {
	[HOT_CALLS] = { "calls", by_calls },       [HOT_SIZE] = { "size", by_size },
	[HOT_RATE] = { "rate", by_rate },          [HOT_BYTES] = { "bytes", by_bytes },
	[HOT_LATENCY] = { "latency", by_latency }, [HOT_LAST] = { "last", by_last },
	[HOT_MISSES] = { "misses", by_misses },    [HOT_CPU] = { "cpu", by_cpu },
	[HOT_RECENT] = { "recent", by_recent },
};

enum hot_sort hot_sort_find(struct str name)
{
	u32 by = 0;

	while (by < HOT_SORTS && !str_is(name, sorts[by].name))
		by++;
	return by;
}

/* Larger comes first; below 0 is left out. */
static double rank(void *ctx, const struct key_row *r)
{
	const struct hot *h = ctx;
	const struct hot_query *q = h->query;
	double value;

	if (q->filter.n && !memmem(r->key.p, r->key.n, q->filter.p, q->filter.n))
		return -1;
	value = sorts[q->by].value(h, r);
	return q->ascending ? 1 / (1 + value) : value;
}

static double cpu_share(const struct hot *h, const struct hot_key *k)
{
	return k->timed && h->totals.cpu ? (double)k->cpu * 100 / (double)h->totals.cpu : NAN;
}

static void fill(const struct hot *h, const struct key_row *k, struct hot_row *row)
{
	const struct hot_key *more = k->payload;

	*row = (struct hot_row){ .key = k->key,
		                 .key_size = k->key_size,
		                 .calls = k->count,
		                 .error = k->error,
		                 .rate = rate_of(h, more),
		                 .decayed = rate_at(&more->rate, h->now, h->half) * 1e9,
		                 .p50 = latency_quantile(&more->latency, 0.5),
		                 .p99 = latency_quantile(&more->latency, 0.99),
		                 .cpu = cpu_share(h, more),
		                 .more = more };
}

u32 hot_top(struct hot *h, const struct hot_query *q, struct hot_row *rows)
{
	struct key_row *found = calloc(q->n + 1, sizeof(*found));
	u32 n;

	if (!found)
		base_no_memory();
	h->query = q;
	n = keys_top(h->keys, found, q->n, rank, h);
	for (u32 i = 0; i < n; i++)
		fill(h, &found[i], &rows[i]);
	free(found);
	return n;
}

bool hot_find(struct hot *h, struct str key, u32 size, struct hot_row *row)
{
	struct key_row found;

	if (!keys_find(h->keys, key, size, &found))
		return false;
	fill(h, &found, row);
	return true;
}
