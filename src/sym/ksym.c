/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of kernel addresses from /proc/kallsyms. The file is 5 MB of text, so it is read when
 * the first address must be named; a failure is remembered and addresses then stay numbers.
 */
#include "sym/ksym.h"

#include "read/kallsyms.h"

const char *ksym_name(struct ksym *k, u64 addr, u64 *off)
{
	if (!k->tried) {
		struct err e;

		k->tried = true;
		k->table = kallsyms_open("/proc/kallsyms", &e);
	}
	return k->table ? kallsyms_name(k->table, addr, off) : NULL;
}

void ksym_free(struct ksym *k)
{
	if (k->table)
		kallsyms_close(k->table);
	*k = (struct ksym){ 0 };
}
