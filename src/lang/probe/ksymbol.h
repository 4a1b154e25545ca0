/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Symbols of the kernel by name. Static ones of several files, or of modules, may share it. */
#ifndef LANG_PROBE_KSYMBOL_H
#define LANG_PROBE_KSYMBOL_H

#include "lang/parse/world.h"

#define KSYMBOLS_SHOWN 6u

struct ksymbols {
	struct kallsyms_place v[KSYMBOLS_SHOWN]; /* the first ones */
	u32 n;                                   /* places there are */
};

/* Symbols of that name, functions alone when only they will do; one place counts once. `module` is
 * NULL for any and "vmlinux" for the kernel itself. */
void ksymbols_find(struct world *w, const char *name, const char *module, bool functions,
                   struct ksymbols *s);
/* What to write for each instead, one after the other: in kaddr() or (a provider, "kprobe") in an
 * attach point. */
const char *ksymbols_choices(struct world *w, struct arena *a, const struct ksymbols *s,
                             const char *name, const char *provider);

#endif
