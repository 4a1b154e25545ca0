/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The types of an ELF object of BPF: what its maps are, and that its functions are functions. */
#ifndef UNIT_OBJECT_TYPES_H
#define UNIT_OBJECT_TYPES_H

#include "unit/unit.h"

/* Types by their ids, which begin with 1; 0 is void. */
struct object_types {
	struct buf types, strings;
	u32 n;
};

/* A variable in its section. */
struct object_var {
	u32 type, off, size;
};

void object_types_init(struct object_types *t);
void object_types_free(struct object_types *t);
/* Offset of the name among the strings. */
u32 object_types_string(struct object_types *t, const char *name);
/* A function of the object; its id. */
u32 object_types_func(struct object_types *t, const char *name);
/* A variable that describes a map by the types of its members, and how large it is. */
struct object_var object_types_map(struct object_types *t, const char *name, const struct umap *m,
                                   u32 off);
/* A variable that is the value of a map; size is a multiple of 8. */
struct object_var object_types_data(struct object_types *t, const char *name, u32 size);
void object_types_section(struct object_types *t, const char *name, u32 size,
                          const struct object_var *vars, u32 n);
/* The bytes of .BTF. */
void object_types_write(const struct object_types *t, struct buf *b);

#endif
