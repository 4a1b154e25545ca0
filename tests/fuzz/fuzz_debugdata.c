/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as .gnu_debugdata: unpacked, and read as the ELF file it should be. */
#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"
#include "elf/xz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define LIMIT (1u << 20)

static bool on_symbol(void *ctx, const struct elf_sym *s)
{
	*(size_t *)ctx += strlen(s->name) + s->room;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf text = { 0 };
	size_t total = 0;
	struct elf *f;
	struct err e;

	if (xz_unpack(p, n, LIMIT, &text, &e)) {
		f = elf_open_memory(buf_text(&text), text.n, "input", &e);
		if (f)
			elf_each(f, on_symbol, &total);
		elf_close(f);
	}
	if (text.n > LIMIT)
		abort();
	buf_free(&text);
	return 0;
}
