/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of one file, to be searched by file offset: filled, finished, asked.
 */
#ifndef SYM_SYMTAB_H
#define SYM_SYMTAB_H

#include "base/base.h"

struct elf;
struct symtab;

struct symtab *symtab_new(void);
/* NULL is fine. */
void symtab_free(struct symtab *t);
/* One function. False when the table is full. */
bool symtab_add(struct symtab *t, u64 offset, u64 size, const char *name, size_t length);
/* The function symbols of `symbols` (the file itself, or one that holds its symbols), placed by
 * the segments of `file`. */
void symtab_add_elf(struct symtab *t, struct elf *file, struct elf *symbols);
/* Sorts; to be called once, before names are asked for. */
void symtab_finish(struct symtab *t);
/* Name of the function whose code is at that file offset, and the distance from its start; NULL
 * when there is none. Demangled where asked for. Lives until the next call. */
const char *symtab_name(struct symtab *t, u64 offset, bool demangled, u64 *off);
/* Memory it takes. */
size_t symtab_bytes(const struct symtab *t);

#endif
