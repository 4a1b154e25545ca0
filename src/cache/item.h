/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory that a cache server takes for an entry, from the lengths of its key and its value.
 * Estimates, see item.c. Pure.
 */
#ifndef CACHE_ITEM_H
#define CACHE_ITEM_H

#include "base/base.h"

#define ITEM_PROGRAMS 3u

struct item_kind {
	const char *name;                          /* "memcached" */
	const char *const programs[ITEM_PROGRAMS]; /* processes of it, the rest NULL */
	const char *how;                  /* "memcached's slabs": what memory is computed by */
	u64 (*bytes)(u64 key, u64 value); /* of 2^62 and more: anything */
};

/* NULL when there is none called so. */
const struct item_kind *item_find(const char *name);
/* The kind of the process of that name, NULL none. */
const struct item_kind *item_of(const char *program);

#endif
