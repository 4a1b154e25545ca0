/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is the same for all machines, and the list of those that there are.
 */
#include "arch/arch.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "memtap has no files in src/arch/ for this machine yet: see CONTRIBUTING.md, A machine"
#endif

const struct arch_reg *arch_reg(struct str name)
{
	for (u32 i = 0; i < arch.n_regs; i++)
		if (str_is(name, arch.regs[i].name))
			return &arch.regs[i];
	return NULL;
}
