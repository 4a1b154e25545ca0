/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any text as the arguments of a USDT note. */
#include <stdlib.h>
#include <string.h>

#include "elf/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(const struct usdt_arg *a)
{
	if (a->size != 1 && a->size != 2 && a->size != 4 && a->size != 8)
		abort();
	if (a->at.reg > 152 || a->at.index > 152 || a->at.scale > 8)
		abort();
	if (a->at.form == OPERAND_REG && a->at.reg < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct usdt_site s = { 0 };
	char *z = malloc(n + 1);

	memcpy(z, p, n);
	z[n] = 0;
	if (usdt_parse(z, &s) == (s.bad != NULL) || s.n_args > USDT_ARGS_MAX)
		abort();
	for (u32 i = 0; i < s.n_args; i++)
		check(&s.args[i]);
	free(z);
	return 0;
}
