/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The scripts of tools/ inside the program: `memtap NAME` runs tools/NAME.bt.
 */
#ifndef CMD_TOOLS_H
#define CMD_TOOLS_H

#include "base/arena.h"
#include "base/str.h"

/* What scripts/pack-tools wrote: names, each ending in NUL, the last one empty; the texts. */
extern const char packed_tool_names[];
extern const unsigned char packed_tools[];
extern const unsigned packed_tools_size;

/* Is there a tool of that name? Costs no unpacking. */
bool tools_has(const char *name);
/* Offers the names of all. */
void tools_offer(struct near *n);
/* The text of a tool that is there, NUL-terminated, in the arena. */
struct str tools_text(struct arena *a, const char *name);
/* Each tool by its name, until cb returns false; the text is gone when cb returns. */
void tools_each(bool (*cb)(void *ctx, const char *name, struct str text), void *ctx);

#endif
