/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a server is asked, as uses of keys and sizes of entries: what a cache's size is computed
 * from. Values that are read are not entries put in: sizes are those of stores only, while a read
 * tells the curve what an entry takes that was there before. What the server throws out or lets
 * expire is not seen, and need not be: a lookup of it that fails is a hit of a larger cache. Pure.
 */
#ifndef CACHE_USES_H
#define CACHE_USES_H

#include "base/hash.h"
#include "cache/item.h"
#include "cache/sizing.h"
#include "proto/proto.h"

struct cache_uses {
	const struct item_kind *kind;
	u64 overhead; /* bytes of an entry besides what `kind` says */
	struct hash_secret secret;
	struct sizing *sizing; /* with shards; the caller's */
};

/* One key of a command, answered or not. */
void uses_command(const struct cache_uses *u, const struct command *c);

#endif
