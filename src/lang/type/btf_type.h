/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Kernel types (BTF) as types of the language, made when they are asked for: a struct knows
 * its name, size and BTF id, its members are looked up one by one.
 */
#ifndef LANG_TYPE_BTF_TYPE_H
#define LANG_TYPE_BTF_TYPE_H

#include "btf/btf.h"
#include "lang/parse/ast.h"

/* The type with that id; pointers in it point into `space` unless marked __user. Damaged or
 * meaningless ids give type_none. */
const struct type *btf_type(struct script *s, struct btf *b, u32 id, enum space space);
/* A member of a STRUCT type; false when it has none of that name. */
bool btf_type_member(struct script *s, const struct type *t, const char *name, struct field *f);
/* Calls back for each field, those of anonymous structs inside as if they were its own. */
void btf_type_each(struct script *s, const struct type *t,
                   void (*cb)(void *ctx, const struct field *f), void *ctx);
/* Offers the names of a STRUCT's members. */
void btf_type_offer(const struct script *s, const struct type *t, struct near *n);

#endif
