/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the structs of a script come from, numbered: a type is plain data, and says by a number
 * where its members are looked up. Everything here is borrowed from the world.
 */
#ifndef LANG_PARSE_ORIGINS_H
#define LANG_PARSE_ORIGINS_H

#include "base/arena.h"
#include "btf/btf.h"
#include "elf/dwarf_file.h"
#include "unit/type.h"

struct origins {
	VEC(struct btf *) btf;
	VEC(struct dwarf_file *) debug;
};

/* The number of one, given when it is first asked for. */
struct origin origins_of_btf(struct arena *a, struct origins *o, struct btf *b);
struct origin origins_of_debug(struct arena *a, struct origins *o, struct dwarf_file *d);
/* NULL: the struct comes from elsewhere. */
struct btf *origins_btf(const struct origins *o, const struct type *t);
struct dwarf_file *origins_debug(const struct origins *o, const struct type *t);

#endif
