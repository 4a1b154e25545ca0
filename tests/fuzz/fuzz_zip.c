/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as a zip archive: a member that is found lies inside. */
#include <stdlib.h>

#include "elf/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const char *const names[] = { "x", "lib/x.so", "" };
	size_t off, size;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (zip_find(p, n, str_of(names[i]), &off, &size, &e) &&
		    (off > n || size > n - off))
			abort();
	return 0;
}
