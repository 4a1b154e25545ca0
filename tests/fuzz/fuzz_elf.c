/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as an ELF file: open it, list symbols, sections, notes, USDT sites, PLT stubs and
 * Go functions. */
#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"
#include "elf/pclntab.h"
#include "elf/plt.h"
#include "elf/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool on_symbol(void *ctx, const struct elf_sym *s)
{
	*(size_t *)ctx += strlen(s->name);
	return true;
}

static bool on_site(void *ctx, const struct usdt_site *s)
{
	*(size_t *)ctx += strlen(s->provider) + strlen(s->name) + strlen(s->spec) + s->n_args;
	return true;
}

static bool on_stub(void *ctx, u64 vaddr, u64 size, const char *name, size_t length)
{
	*(size_t *)ctx += vaddr + size + strnlen(name, length);
	return true;
}

static bool on_function(void *ctx, u64 vaddr, u64 size, const char *name)
{
	*(size_t *)ctx += vaddr + size + strlen(name);
	return true;
}

static u8 sum_bytes(const u8 *p, size_t n)
{
	u8 sum = 0;

	for (size_t i = 0; i < n; i++)
		sum ^= p[i];
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct err e;
	struct elf *f = elf_open_memory(p, n, "input", &e);
	volatile u8 sink = 0;
	size_t total = 0, bytes;
	struct elf_sym s;
	const u8 *section;
	char id[64];
	u64 addr;

	if (!f)
		return 0;
	elf_each(f, on_symbol, &total);
	elf_find(f, "main", &s);
	elf_offset(f, n, &addr);
	elf_vaddr(f, n, &addr);
	elf_build_id(f, id);
	if (elf_section(f, ".text", &section, &bytes, &addr))
		sink ^= sum_bytes(section, bytes);
	if (elf_section(f, ".debug_frame", &section, &bytes, &addr))
		sink ^= sum_bytes(section, bytes);
	usdt_each(f, on_site, &total, &e);
	plt_each(f, on_stub, &total);
	pclntab_each(f, on_function, &total);
	elf_close(f);
	(void)sink;
	return 0;
}
