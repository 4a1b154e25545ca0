/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the structs of a script come from. There are few: the kernel, a module, a traced program.
 */
#include "lang/parse/origins.h"

struct origin origins_of_btf(struct arena *a, struct origins *o, struct btf *b)
{
	struct origin from = { ORIGIN_BTF, 0 };

	while (from.nr < o->btf.n && o->btf.v[from.nr] != b)
		from.nr++;
	if (from.nr == o->btf.n)
		vec_add(a, &o->btf, b);
	return from;
}

struct origin origins_of_debug(struct arena *a, struct origins *o, struct dwarf_file *d)
{
	struct origin from = { ORIGIN_DEBUG, 0 };

	while (from.nr < o->debug.n && o->debug.v[from.nr] != d)
		from.nr++;
	if (from.nr == o->debug.n)
		vec_add(a, &o->debug, d);
	return from;
}

struct btf *origins_btf(const struct origins *o, const struct type *t)
{
	return t->origin.kind == ORIGIN_BTF ? o->btf.v[t->origin.nr] : NULL;
}

struct dwarf_file *origins_debug(const struct origins *o, const struct type *t)
{
	return t->origin.kind == ORIGIN_DEBUG ? o->debug.v[t->origin.nr] : NULL;
}
