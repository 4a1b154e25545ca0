/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stubs through which a file calls functions of other files.
 */
#ifndef ELF_PLT_H
#define ELF_PLT_H

#include "base/base.h"

struct elf;

/* Each stub with the name of the function it jumps to (without version); cb false stops. */
void plt_each(struct elf *f,
              bool (*cb)(void *ctx, u64 vaddr, u64 size, const char *name, size_t length),
              void *ctx);
/* The word that the dynamic linker fills with the address of a function that the file calls by
 * name; 0: there is none. */
u64 plt_word(struct elf *f, const char *name);

#endif
