/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What servers keep besides keys and values, and how they round it, with the settings they come
 * with; see item.h.
 *
 * memcached 1.4 to 1.6: 48 bytes of head, 8 of the CAS number, the key and a NUL, the value and its
 * line end, in a chunk of a slab class: 96 bytes, then a quarter more each, in multiples of 8, up
 * to half a page of 1 MiB; what is longer takes such chunks and one for the rest. Client flags that
 * are not 0 (4 bytes), the hash table and the free ends of pages are not in it.
 *
 * Redis and Valkey 4 to 7, with jemalloc: an entry of the table (24 bytes) and its slot (8 to 16
 * bytes, 11 on average, since tables double), the key as a string of its own, the value as a
 * string in one block with its object up to 44 bytes, in two above. Values that are numbers take
 * less, keys that expire 40 bytes and more besides; lists, hashes and sets are left out.
 */
#include "cache/item.h"

#include <string.h>

#include "agg/alloc.h"

#define MEMCACHED_HEAD  (48u + 8 + 1 + 2)
#define MEMCACHED_FIRST 96u
#define MEMCACHED_LAST  (512u << 10)
#define MEMCACHED_GROWN (MEMCACHED_LAST * 4 / 5) /* no class is between this and the last */

#define REDIS_ENTRY    24u
#define REDIS_SLOT     11u
#define REDIS_OBJECT   16u
#define REDIS_EMBEDDED 44u /* bytes of a value in one block with its object */

static u64 memcached_class(u64 n)
{
	u32 size = MEMCACHED_FIRST;

	if (!n)
		return 0;
	while (size < n && size <= MEMCACHED_GROWN)
		size = ROUND_UP(size + size / 4, 8u);
	return size > MEMCACHED_GROWN ? MEMCACHED_LAST : size;
}

static u64 item_memcached(u64 key, u64 value)
{
	u64 n = MEMCACHED_HEAD + key + value;

	return n / MEMCACHED_LAST * MEMCACHED_LAST + memcached_class(n % MEMCACHED_LAST);
}

/* A string with its head, which has the length, and a NUL. */
static u64 redis_string(u64 n)
{
	u64 head = n < 32 ? 1 : n < 256 ? 3 : n < 65536 ? 5 : n < 1ull << 32 ? 9 : 17;

	return alloc_bytes(ALLOC_JEMALLOC, head + n + 1);
}

static u64 item_redis(u64 key, u64 value)
{
	u64 bytes = alloc_bytes(ALLOC_JEMALLOC, REDIS_ENTRY) + REDIS_SLOT + redis_string(key);

	if (value <= REDIS_EMBEDDED)
		return bytes + alloc_bytes(ALLOC_JEMALLOC, REDIS_OBJECT + 3 + value + 1);
	return bytes + REDIS_OBJECT + redis_string(value);
}

static const struct item_kind kinds[] = {
	{ "memcached", { "memcached" }, "memcached's slabs", item_memcached },
	{ "redis",
	  { "redis-server", "valkey-server", "keydb-server" },
	  "Redis's objects and jemalloc",
	  item_redis },
};

const struct item_kind *item_find(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

const struct item_kind *item_of(const char *program)
{
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		for (u32 k = 0; k < ITEM_PROGRAMS && kinds[i].programs[k]; k++)
			if (strcmp(kinds[i].programs[k], program) == 0)
				return &kinds[i];
	return NULL;
}
