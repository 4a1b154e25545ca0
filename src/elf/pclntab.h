/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The function table that every Go program carries, stripped or not.
 */
#ifndef ELF_PCLNTAB_H
#define ELF_PCLNTAB_H

#include "base/base.h"

struct elf;

/* The functions of a Go program in the order of their addresses; cb false stops. `name` points
 * into the file. False when the file has no table, or one of an unknown form. */
bool pclntab_each(struct elf *f, bool (*cb)(void *ctx, u64 vaddr, u64 size, const char *name),
                  void *ctx);
/* The same for the bytes of the table; `text` is the address of the program's code, for tables
 * that do not say it. */
bool pclntab_parse(const u8 *p, size_t n, u64 text,
                   bool (*cb)(void *ctx, u64 vaddr, u64 size, const char *name), void *ctx);

#endif
