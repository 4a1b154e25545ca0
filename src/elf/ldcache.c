/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finding a library in /etc/ld.so.cache (glibc, sysdeps/generic/dl-cache.h).
 *
 *     "glibc-ld.so.cache1.1" | u32 entries | u32 ... to byte 48
 *     entries of 24 bytes: u32 flags, key, value, os; u64 hwcap    key, value: text offsets
 *
 * The one idea: a linear look at every entry, each offset checked, since it is asked for a
 * handful of names per run. Entries for special processors (hwcap) are left out. The loader
 * sorts newest version first, so the first match is the newest. The cache may be one of a
 * container: texts and the file are as long as paths are and as libraries fill it, not longer.
 */
#include "elf/ldcache.h"

#include <limits.h>
#include <string.h>

#include "arch/arch.h"

#define MAGIC       "glibc-ld.so.cache1.1"
#define HEADER_SIZE 48u

struct entry {
	u32 flags, key, value, os;
	u64 hwcap;
};

bool ldcache_name_is(const char *file, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(file, name, n) != 0)
		return false;
	return !file[n] || strncmp(file + n, ".so.", 4) == 0;
}

/* The text at an offset, NULL when it does not lie in the file or is longer than a path. */
static const char *text_at(const char *p, size_t n, u32 off)
{
	return off < n && memchr(p + off, 0, MIN(n - off, PATH_MAX)) ? p + off : NULL;
}

const char *ldcache_find(const void *p, size_t n, const char *name)
{
	const char *bytes = p;
	u32 count;

	if (n < HEADER_SIZE || n > LDCACHE_MAX || memcmp(bytes, MAGIC, strlen(MAGIC)) != 0)
		return NULL;
	memcpy(&count, bytes + strlen(MAGIC), sizeof(count));
	if (count > (n - HEADER_SIZE) / sizeof(struct entry))
		return NULL;
	for (u32 i = 0; i < count; i++) {
		const char *key, *value;
		struct entry e;

		memcpy(&e, bytes + HEADER_SIZE + i * sizeof(e), sizeof(e));
		if (e.flags != arch.libraries.cache_flags || e.hwcap)
			continue;
		key = text_at(bytes, n, e.key);
		value = key && ldcache_name_is(key, name) ? text_at(bytes, n, e.value) : NULL;
		if (value)
			return value;
	}
	return NULL;
}
