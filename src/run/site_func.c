/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one idea: `func` is where a probed function starts, and wherever its file was mapped, the
 * last bits of that address are those of the function's place in the file.
 */
#include "run/site_func.h"

#include <ctype.h>
#include <string.h>

#include "arch/arch.h"

/* "six" of "uprobe:PATH:six", "ns::f(int)" of `uprobe:PATH:cpp:"ns::f(int)"`. False: the probe is
 * at an address, a line, or after the start of its function. */
static bool function_of(const struct usite *s, struct str *name)
{
	const char *cpp = strstr(s->name, ":cpp:\""), *last = strrchr(s->name, ':');

	if (cpp) {
		cpp += strlen(":cpp:\"");
		*name = (struct str){ cpp, (u32)strcspn(cpp, "\"") };
		return true;
	}
	*name = str_of(last ? last + 1 : s->name);
	return name->n && !isdigit((u8)name->p[0]) && !memchr(name->p, '+', name->n);
}

bool site_func(const struct unit *u, u64 addr, struct str *name)
{
	const struct usite *found = NULL;

	for (u32 i = 0; i < u->progs.n; i++) {
		const struct uprog *p = &u->progs.v[i];

		for (u32 k = 0; attach_kind_has(p->kind, KIND_USER) && k < p->n_sites; k++) {
			const struct usite *s = &p->sites[k];
			u64 start = s->offset - s->moved;

			if ((start ^ addr) & (arch_page() - 1))
				continue;
			if (found && (found->offset - found->moved != start ||
			              strcmp(found->path, s->path) != 0))
				return false;
			found = s;
		}
	}
	return found && function_of(found, name);
}
