/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as Go's function table: names must end inside, sizes must not be 0. */
#include <stdlib.h>
#include <string.h>

#include "elf/pclntab.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct input {
	const u8 *p;
	size_t n;
};

static bool on_function(void *ctx, u64 vaddr, u64 size, const char *name)
{
	const struct input *in = ctx;
	size_t at = (size_t)((const u8 *)name - in->p);

	(void)vaddr;
	if (!size || at >= in->n || at + strlen(name) >= in->n)
		abort();
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct input in = { p, n };

	pclntab_parse(p, n, 0x401000, on_function, &in);
	return 0;
}
