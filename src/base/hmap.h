/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One hash map, keyed by bytes, values are pointers. Open addressing, keys are
 * borrowed (they must live as long as the map). All zero is an empty map.
 */
#ifndef BASE_HMAP_H
#define BASE_HMAP_H

#include "base/base.h"

struct hmap_slot {
	const void *key; /* NULL: free */
	u32 n;
	u32 hash;
	void *value;
};

struct hmap {
	struct hmap_slot *slots;
	u32 n, cap; /* cap is 0 or a power of two */
};

/* The value's place, or NULL when the key is absent. Valid until the next hmap_put. */
void **hmap_find(const struct hmap *m, const void *key, size_t n);
/* Sets or replaces. n must be below 4 GiB. */
void hmap_put(struct hmap *m, const void *key, size_t n, void *value);
void hmap_free(struct hmap *m);

#endif
