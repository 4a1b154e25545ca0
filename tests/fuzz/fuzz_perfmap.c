/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any text as a perf map: read at once, and in two parts, it gives the same. */
#include <stdlib.h>
#include <string.h>

#include "read/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void on_line(void *ctx, u64 start, u64 size, struct str name)
{
	u64 *sum = ctx;

	if (!size || !name.n || start + size < start || memchr(name.p, '\n', name.n))
		abort();
	*sum = *sum * 31 + start + size * 7 + name.n;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const char *text = (const char *)p;
	u64 whole = 0, parts = 0;
	size_t read = perfmap_parse(text, n, on_line, &whole);
	size_t half = perfmap_parse(text, n / 2, on_line, &parts);

	if (read > n || half > n / 2)
		abort();
	perfmap_parse(text + half, n - half, on_line, &parts);
	if (whole != parts)
		abort();
	return 0;
}
