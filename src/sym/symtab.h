/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of one ELF file, to be searched by file offset.
 */
#ifndef SYM_SYMTAB_H
#define SYM_SYMTAB_H

#include "base/base.h"

struct symtab;

/* NULL when the file is missing, foreign, or has no function symbols. */
struct symtab *symtab_read(const char *path);
/* NULL is fine. */
void symtab_free(struct symtab *t);
/* Name of the function whose code is at that file offset, and the distance from its start. */
const char *symtab_name(const struct symtab *t, u64 offset, u64 *off);
u32 symtab_count(const struct symtab *t);

#endif
