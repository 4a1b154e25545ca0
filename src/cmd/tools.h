/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The scripts of tools/ inside the program: `memtap NAME` runs tools/NAME.bt. Files below tools/,
 * such as lib/capture.bt, are no tools; scripts import them.
 */
#ifndef CMD_TOOLS_H
#define CMD_TOOLS_H

#include "base/arena.h"
#include "base/near.h"
#include "base/str.h"

/* What scripts/pack-tools wrote: names, each ending in NUL, the last one empty; the texts. */
extern const char packed_names[];
extern const unsigned char packed_tools[];
extern const unsigned packed_tools_size;

/* Is there a tool of that name? Costs no unpacking. */
bool tools_has(const char *name);
/* The same of a file below tools/, by its path there. */
bool tools_has_file(const char *path);
/* Offers the names of all tools. */
void tools_offer(struct near *n);
/* The text of a tool, or of a file below tools/, that is there, NUL-terminated, in the arena. */
struct str tools_text(struct arena *a, const char *name);
/* What lang/ asks for imported files: the text of a file below tools/, .p NULL when there is
 * none. */
struct str tools_library(struct arena *a, const char *path);
/* Each tool by its name, until cb returns false; the text is gone when cb returns. */
void tools_each(bool (*cb)(void *ctx, const char *name, struct str text), void *ctx);

#endif
