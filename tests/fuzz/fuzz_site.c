/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as the code of a file: a function of any size at each of the first places. */
#include "elf/site.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct insn_decoder *decoder;
	struct site_code c = { p, n, n % 2 ? 0 : 0x7fffffff00 };
	struct site v[32] = { 0 };
	struct err e;

	if (!decoder)
		decoder = insn_decoder_open(&e);
	if (!decoder)
		return 0;
	for (u32 i = 0; i < ARRAY_SIZE(v); i++) {
		v[i].entry = c.vaddr + i * 5;
		v[i].size = n ? p[i % n] : 0;
		if (!site_is_cheap(&v[i], &c, i % 2))
			site_propose(&v[i], &c, decoder, i % 2);
	}
	sites_sort(v, ARRAY_SIZE(v));
	sites_strike_code(v, ARRAY_SIZE(v), &c, decoder);
	for (u32 i = 0; i < ARRAY_SIZE(v); i++)
		sites_strike(v, ARRAY_SIZE(v), c.vaddr + i, "a symbol");
	return 0;
}
