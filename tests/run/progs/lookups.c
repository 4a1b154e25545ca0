/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lookups in a cache that is filled after each miss, and what caches of other sizes would have hit.
 *
 *   ./lookups USES KEYS CAPACITY SIZE...
 *
 * looks up USES times one of KEYS keys, low numbers more often, in an LRU cache of CAPACITY
 * entries, then prints the hits of that one and of caches of each SIZE: "SIZE HITS" a line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lru {
	uint32_t *newer, *older, used, limit; /* rings through 0; key k is k + 1 */
	uint8_t *here;
	unsigned long hits, evicted;
};

static void lru_open(struct lru *c, uint32_t keys, uint32_t limit)
{
	*c = (struct lru){ .limit = limit };
	c->newer = calloc(keys + 1, sizeof(*c->newer));
	c->older = calloc(keys + 1, sizeof(*c->older));
	c->here = calloc(keys + 1, 1);
	if (!c->newer || !c->older || !c->here)
		abort();
}

static void lru_unlink(struct lru *c, uint32_t k)
{
	c->older[c->newer[k]] = c->older[k];
	c->newer[c->older[k]] = c->newer[k];
	c->here[k] = 0;
	c->used--;
}

static void lru_push(struct lru *c, uint32_t k)
{
	c->newer[k] = 0;
	c->older[k] = c->older[0];
	c->newer[c->older[0]] = k;
	c->older[0] = k;
	c->here[k] = 1;
	c->used++;
}

/* The functions that are looked at. */
__attribute__((noinline)) int cache_get(struct lru *c, const char *key, uint32_t k)
{
	__asm__ volatile("" : : "r"(key));
	if (!c->here[k])
		return 0;
	lru_unlink(c, k);
	lru_push(c, k);
	c->hits++;
	return 1;
}

__attribute__((noinline)) void cache_evict(struct lru *c, uint32_t k)
{
	lru_unlink(c, k);
	c->evicted++;
}

__attribute__((noinline)) void cache_put(struct lru *c, const char *key, size_t key_size,
                                         uint32_t k, size_t size)
{
	__asm__ volatile("" : : "r"(key), "r"(key_size), "r"(size));
	lru_push(c, k);
	if (c->used > c->limit)
		cache_evict(c, c->newer[0]);
}

static uint32_t next_key(uint64_t *state, uint32_t keys)
{
	uint32_t least = keys;

	for (int i = 0; i < 4; i++) {
		uint32_t k;

		*state = *state * 6364136223846793005u + 1442695040888963407u;
		k = (uint32_t)((*state >> 32) * keys >> 32);
		least = k < least ? k : least;
	}
	return least;
}

static unsigned long run(struct lru *c, unsigned long uses, uint32_t keys, int is_seen)
{
	uint64_t state = 1;
	char key[32];

	for (unsigned long i = 0; i < uses; i++) {
		uint32_t k = next_key(&state, keys) + 1;
		int n = snprintf(key, sizeof(key), "user:%u:feed", k);

		if (!is_seen) {
			if (c->here[k]) {
				lru_unlink(c, k);
				c->hits++;
			}
			lru_push(c, k);
			if (c->used > c->limit)
				lru_unlink(c, c->newer[0]);
		} else if (!cache_get(c, key, k)) {
			cache_put(c, key, (size_t)n, k, 100 + k % 100);
		}
	}
	return c->hits;
}

int main(int argc, char **argv)
{
	unsigned long uses = argc > 4 ? strtoul(argv[1], NULL, 10) : 0;
	uint32_t keys = uses ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

	if (!keys) {
		fprintf(stderr, "usage: lookups USES KEYS CAPACITY SIZE...\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		struct lru c;

		lru_open(&c, keys, (uint32_t)strtoul(argv[i], NULL, 10));
		printf("%s %lu\n", argv[i], run(&c, uses, keys, i == 3));
		if (i == 3)
			printf("evicted %lu\n", c.evicted);
	}
	return 0;
}
