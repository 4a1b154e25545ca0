/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernel addresses to names.
 */
#ifndef SYM_KSYM_H
#define SYM_KSYM_H

#include "base/base.h"

struct kallsyms;

/* All zero is ready to use: nothing is read before the first question. */
struct ksym {
	struct kallsyms *table;
	bool tried;
};

/* NULL when the address is in no function or the table can not be read. */
const char *ksym_name(struct ksym *k, u64 addr, u64 *off);
void ksym_free(struct ksym *k);

#endif
