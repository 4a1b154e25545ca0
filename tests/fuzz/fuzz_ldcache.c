/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as the loader's cache, /etc/ld.so.cache: what is found ends within them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "elf/ldcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const char *const names[] = { "libx.so.3", "libx", "" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *found = ldcache_find(p, n, names[i]), *bytes = (const char *)p;

		if (found && (found < bytes || found >= bytes + n || strlen(found) >= PATH_MAX))
			abort();
	}
	return 0;
}
