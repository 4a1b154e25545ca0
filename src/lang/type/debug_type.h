/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Types of a traced program (its debug information) as types of the language, made when they are
 * asked for: the twin of btf_type.h.
 */
#ifndef LANG_TYPE_DEBUG_TYPE_H
#define LANG_TYPE_DEBUG_TYPE_H

#include "elf/dwarf_file.h"
#include "lang/parse/ast.h"

/* The type with that number; what has no value that could be read gives type_none. */
const struct type *debug_type(struct script *s, struct dwarf_file *d, u32 die);
/* A member of a STRUCT type, those of anonymous and inherited parts too. */
bool debug_type_member(struct script *s, const struct type *t, const char *name, struct field *f);
/* Calls back for each field, those of anonymous and inherited parts as if they were its own. */
void debug_type_each(struct script *s, const struct type *t,
                     void (*cb)(void *ctx, const struct field *f), void *ctx);
/* A declaration as C has it: "const char *name", "struct item *const i", "std::string &s". */
void debug_type_declare(struct buf *b, struct dwarf_file *d, u32 die, const char *name);

#endif
