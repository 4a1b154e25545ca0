/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names for a whole BTF written as one C file. BTF may hold several types of one name, where C
 * allows one struct, union or enum, and one typedef or enumerator: the later ones get "___2".
 */
#ifndef CTEXT_C_NAMES_H
#define CTEXT_C_NAMES_H

#include <memtap/btf.h>

#include "base/arena.h"

struct c_name {
	u32 off; /* of the text in BTF's strings, 0: free */
	u32 hash;
	u32 kind; /* of tags: the first type's */
	u32 n;    /* how many have it so far */
};

struct c_name_table {
	struct c_name *v;
	u32 n, cap;
};

struct c_renamed {
	u32 id;
	const char *name;
};

struct c_names {
	const struct btf *btf;
	struct arena arena;
	struct c_name_table tags;  /* struct, union, enum */
	struct c_name_table words; /* typedefs and enumerators */
	VEC(u32) owners;           /* ids of the types that have a name in the tables */
	VEC(struct c_renamed) renamed;
};

/* Looks at all names. False when memory has run out. */
bool c_names_init(struct c_names *n, const struct btf *btf);
void c_names_free(struct c_names *n);
/* What a named struct, union, enum, forward declaration or typedef is called. */
const char *c_names_of(const struct c_names *n, const struct btf_info *t);
/* What an enumerator is called; each call is one more of it. */
const char *c_names_enumerator(struct c_names *n, const struct btf_enumerator *v);

#endif
