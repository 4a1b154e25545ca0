/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * memtap cachesize on a memcached or Redis server as it is: what its clients ask and get,
 * from the system calls that mctop looks at, as uses of keys and sizes of entries.
 *
 * Values that are read are not entries put in: sizes are those of stores only, while a read tells
 * the curve what an entry takes that was there before. What the server throws out or lets expire is
 * not seen, and need not be: a lookup of it that fails is a hit of a larger cache.
 */
#include "view/cachesize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "view/cache_feed.h"

struct cachesize_server {
	const struct cachesize_options *o;
	struct sizing *sizing;
	struct cache_feed feed;
	struct hash_secret secret;
};

/* ---- the script ---- */

void cachesize_server_script(struct buf *b, const struct cachesize_options *o)
{
	buf_printf(b, "import \"lib/capture.bt\"\n\nBEGIN\n{\n\t@server = (uint64)%u;\n}\n",
	           o->pid);
	if (o->duration)
		buf_printf(b, "\ninterval:s:%u {\n\texit();\n}\n", o->duration);
}

/* ---- commands ---- */

enum effect { NOTHING, LOOKUP, STORE, CHANGE, DROP };

static const u8 effects[OPS] = {
	[OP_GET] = LOOKUP,    [OP_READ] = LOOKUP, [OP_SET] = STORE,     [OP_ADD] = STORE,
	[OP_REPLACE] = STORE, [OP_CAS] = STORE,   [OP_APPEND] = CHANGE, [OP_PREPEND] = CHANGE,
	[OP_INCR] = CHANGE,   [OP_DECR] = CHANGE, [OP_TOUCH] = CHANGE,  [OP_WRITE] = CHANGE,
	[OP_DELETE] = DROP,
};

static u64 hash_of(const struct cachesize_server *w, const struct command *c)
{
	return hash_quick(&w->secret, c->key.p, c->key.n) ^
	       (c->key_size > c->key.n ? hash_mix(c->key_size) : 0);
}

/* What the entry takes; 0 when the command does not tell. */
static u64 taken(const struct cachesize_server *w, const struct command *c)
{
	return c->sized ? w->o->kind->bytes(c->key_size, c->size) + w->o->overhead_bytes : 0;
}

static void look_up(struct cachesize_server *w, const struct command *c)
{
	bool missed = c->outcome == OUTCOME_MISS;

	/* Of a lookup whose answer was not seen only the key is known. */
	w->sizing->lookups += c->outcome != OUTCOME_UNKNOWN;
	w->sizing->hits += c->outcome == OUTCOME_HIT;
	shards_use(w->sizing->shards, hash_of(w, c), missed ? 0 : taken(w, c),
	           missed ? SHARDS_MISSED : SHARDS_GET);
}

static void store(struct cachesize_server *w, const struct command *c)
{
	if (c->sized) {
		sizes_add(&w->sizing->sizes, c->key_size + c->size, 1);
		sizes_add(&w->sizing->taken, taken(w, c), 1);
	}
	shards_use(w->sizing->shards, hash_of(w, c), taken(w, c), SHARDS_PUT);
}

/* Of Redis' databases one may go on; clients mostly have one. */
static bool empties(const char *verb)
{
	static const char *const verbs[] = { "flush_all", "flush", "flushq", "FLUSHALL",
		                             "FLUSHDB" };

	for (u32 i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verb, verbs[i]) == 0)
			return true;
	return false;
}

static void on_command(void *ctx, const struct command *c, const struct client *from)
{
	struct cachesize_server *w = ctx;
	enum effect effect = effects[c->op];

	(void)from;
	if (c->outcome == OUTCOME_ERROR || (c->outcome == OUTCOME_MISS && effect != LOOKUP))
		return;
	if (effect == LOOKUP)
		look_up(w, c);
	else if (effect == STORE)
		store(w, c);
	else if (c->op == OP_OTHER && empties(c->verb))
		shards_clear(w->sizing->shards);
	else if (effect != NOTHING)
		shards_use(w->sizing->shards, hash_of(w, c), 0,
		           effect == DROP ? SHARDS_DROP : SHARDS_PUT);
}

/* ---- the view ---- */

struct cachesize_server *cachesize_server_new(const struct cachesize_options *o, struct sizing *s)
{
	struct cachesize_server *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->o = o;
	w->sizing = s;
	w->feed.fd = -1;
	return w;
}

void cachesize_server_free(struct cachesize_server *w)
{
	if (!w)
		return;
	cache_feed_close(&w->feed);
	free(w);
}

bool cachesize_server_start(struct cachesize_server *w, const struct view_of *v, struct err *e)
{
	const struct item_kind *other;

	if (getrandom(&w->secret, sizeof(w->secret), 0) != sizeof(w->secret))
		return err_sys(e, errno, "no random numbers");
	if (!cache_feed_open(&w->feed, v, w->o->pid, on_command, w, e))
		return false;
	other = item_of(w->feed.server.name);
	if (!other || other == w->o->kind)
		return true;
	err_set(e, "process %u is a %s", w->o->pid, w->feed.server.name);
	return err_hint(e, "memtap cachesize %s -p %u", other->name, w->o->pid);
}

bool cachesize_server_record(struct cachesize_server *w, const struct view_of *v,
                             const struct urecord *r, const u8 *bytes)
{
	return cache_feed_record(&w->feed, v, r, bytes);
}

void cachesize_server_end(struct cachesize_server *w, const struct view_of *v)
{
	struct missed missed;

	w->sizing->has_lookups = w->sizing->has_hits = true;
	if (!w->feed.wire)
		return;
	cache_feed_end(&w->feed, v);
	missed = cache_feed_missed(&w->feed, v);
	w->sizing->lost = missed.events + missed.commands;
}
