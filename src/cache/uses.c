/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cache/uses.h"

#include <string.h>

enum effect { NOTHING, LOOKUP, STORE, CHANGE, DROP };

static const u8 effects[OPS] = {
	[OP_GET] = LOOKUP,    [OP_READ] = LOOKUP, [OP_SET] = STORE,     [OP_ADD] = STORE,
	[OP_REPLACE] = STORE, [OP_CAS] = STORE,   [OP_APPEND] = CHANGE, [OP_PREPEND] = CHANGE,
	[OP_INCR] = CHANGE,   [OP_DECR] = CHANGE, [OP_TOUCH] = CHANGE,  [OP_WRITE] = CHANGE,
	[OP_DELETE] = DROP,
};

static u64 hash_of(const struct cache_uses *u, const struct command *c)
{
	return hash_quick(&u->secret, c->key.p, c->key.n) ^
	       (c->key_size > c->key.n ? hash_mix(c->key_size) : 0);
}

/* What the entry takes; 0 when the command does not tell. */
static u64 taken(const struct cache_uses *u, const struct command *c)
{
	return c->sized ? u->kind->bytes(c->key_size, c->size) + u->overhead : 0;
}

static void look_up(const struct cache_uses *u, const struct command *c)
{
	bool missed = c->outcome == OUTCOME_MISS;

	/* Of a lookup whose answer was not seen only the key is known. */
	u->sizing->lookups += c->outcome != OUTCOME_UNKNOWN;
	u->sizing->hits += c->outcome == OUTCOME_HIT;
	shards_use(u->sizing->shards, hash_of(u, c), missed ? 0 : taken(u, c),
	           missed ? SHARDS_MISSED : SHARDS_GET);
}

static void store(const struct cache_uses *u, const struct command *c)
{
	if (c->sized) {
		sizes_add(&u->sizing->sizes, c->key_size + c->size, 1);
		sizes_add(&u->sizing->taken, taken(u, c), 1);
	}
	shards_use(u->sizing->shards, hash_of(u, c), taken(u, c), SHARDS_PUT);
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

void uses_command(const struct cache_uses *u, const struct command *c)
{
	enum effect effect = effects[c->op];

	if (c->outcome == OUTCOME_ERROR || (c->outcome == OUTCOME_MISS && effect != LOOKUP))
		return;
	if (effect == LOOKUP)
		look_up(u, c);
	else if (effect == STORE)
		store(u, c);
	else if (c->op == OP_OTHER && empties(c->verb))
		shards_clear(u->sizing->shards);
	else if (effect != NOTHING)
		shards_use(u->sizing->shards, hash_of(u, c), 0,
		           effect == DROP ? SHARDS_DROP : SHARDS_PUT);
}
