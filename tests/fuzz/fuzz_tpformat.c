/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any text as the format file of a tracepoint. */
#include <stdlib.h>
#include <string.h>

#include "read/tpformat.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct arena a = { 0 };
	struct tpformat f;
	struct err e;

	if (tpformat_parse(&a, (struct str){ (const char *)p, (u32)n }, &f, &e)) {
		for (u32 i = 0; i < f.n_fields; i++) {
			const struct tpfield *t = &f.fields[i];

			if (!*t->name || !*t->type || t->off + t->size > 65536 || t->count > 65536)
				abort();
		}
	}
	arena_free(&a);
	return 0;
}
