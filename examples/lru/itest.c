/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A small LRU cache and a program that fills it: the target of memtap's first example.
 *
 *   ./itest N [SEED]
 *
 * inserts N entries of random size, 1 to 16383 bytes, into a cache that holds 1 MiB, and says
 * how many it still holds. The same seed gives the same sizes.
 *
 * The cache is a hash table whose entries also hang in a list, most recently used first; when
 * an insert makes it too large, entries go from the list's end. Nothing here knows that it
 * may be traced.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS  1024u
#define CAPACITY (1024u * 1024u)
#define MAX_SIZE 16383u

struct slice {
	uint8_t *data;
	size_t len;
};

struct entry {
	struct entry *chain;         /* next in the same bucket */
	struct entry *newer, *older; /* neighbours in order of use */
	uint8_t *data;
	size_t len;
	char key[32];
};

static struct {
	struct entry *buckets[BUCKETS];
	struct entry *newest, *oldest;
	size_t bytes, entries;
} cache;

static uint32_t hash(const char *key)
{
	uint32_t h = 2166136261u;

	for (; *key; key++)
		h = (h ^ (uint8_t)*key) * 16777619u;
	return h % BUCKETS;
}

static struct entry **find(const char *key)
{
	struct entry **e = &cache.buckets[hash(key)];

	while (*e && strcmp((*e)->key, key))
		e = &(*e)->chain;
	return e;
}

static void list_remove(struct entry *e)
{
	*(e->newer ? &e->newer->older : &cache.newest) = e->older;
	*(e->older ? &e->older->newer : &cache.oldest) = e->newer;
}

static void list_push(struct entry *e)
{
	e->newer = NULL;
	e->older = cache.newest;
	*(e->older ? &e->older->newer : &cache.oldest) = e;
	cache.newest = e;
}

static void evict(struct entry **at)
{
	struct entry *e = *at;

	*at = e->chain;
	list_remove(e);
	cache.bytes -= e->len;
	cache.entries--;
	free(e->data);
	free(e);
}

/* Stores a copy of value under key, replacing what was there. */
__attribute__((noinline)) int cache_insert(const uint8_t *key, struct slice value)
{
	struct entry **at = find((const char *)key);
	struct entry *e;

	if (*at)
		evict(at);
	e = calloc(1, sizeof(*e));
	if (!e || !(e->data = malloc(value.len))) {
		free(e);
		return -1;
	}
	snprintf(e->key, sizeof(e->key), "%s", (const char *)key);
	memcpy(e->data, value.data, value.len);
	e->len = value.len;
	at = &cache.buckets[hash(e->key)];
	e->chain = *at;
	*at = e;
	list_push(e);
	cache.bytes += e->len;
	cache.entries++;
	while (cache.bytes > CAPACITY)
		evict(find(cache.oldest->key));
	return 0;
}

int main(int argc, char **argv)
{
	static uint8_t bytes[MAX_SIZE];
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned int seed = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 1;
	char key[32];

	if (!n) {
		fprintf(stderr, "usage: itest N [SEED]\n");
		return 2;
	}
	for (unsigned long i = 0; i < n; i++) {
		struct slice value = { bytes, 1 + (size_t)rand_r(&seed) % MAX_SIZE };

		snprintf(key, sizeof(key), "key%lu", i);
		if (cache_insert((const uint8_t *)key, value)) {
			fprintf(stderr, "itest: out of memory\n");
			return 1;
		}
	}
	printf("%zu entries, %zu bytes\n", cache.entries, cache.bytes);
	return 0;
}
