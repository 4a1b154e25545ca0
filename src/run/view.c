/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How a view finds its way in a unit; see view.h. */
#include "run/view.h"

#include <string.h>

s32 view_map(const struct view_of *v, const char *name)
{
	for (u32 i = 0; i < v->unit->maps.n; i++)
		if (v->unit->maps.v[i].role == UMAP_USER &&
		    strcmp(v->unit->maps.v[i].name, name) == 0)
			return (s32)i;
	return -1;
}

u64 view_number(const struct urecord *r, const u8 *bytes, u32 i)
{
	u64 n;

	memcpy(&n, bytes + r->args[i].off, sizeof(n));
	return n;
}
