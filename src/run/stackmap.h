/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stacks of a session: those in the kernel's map and those taken out of it, as one.
 */
#ifndef RUN_STACKMAP_H
#define RUN_STACKMAP_H

#include "agg/stacks.h"
#include "kern/live.h"

struct stackmap;
struct taken;

/* NULL when the unit has no map of stacks. `limit` in bytes. */
struct stackmap *stackmap_new(const struct unit *u, struct live *l, u64 limit);
/* Stacks that are named by rows held there are kept as those are that rows in the kernel name. */
void stackmap_set_rows(struct stackmap *m, const struct taken *rows);
/* NULL is fine, here and below. */
void stackmap_free(struct stackmap *m);
/* Takes the stacks out of the kernel's map if it is time; to be called often. */
void stackmap_check(struct stackmap *m);
/* Takes the rest, when no program runs any more: naming them is faster then. */
void stackmap_end(struct stackmap *m);
/* Keeps a stack that no program has put into the map. */
void stackmap_put(struct stackmap *m, u64 id, const struct ustack_value *v);
/* False when the stack is lost. */
bool stackmap_find(struct stackmap *m, u64 id, struct ustack_value *v);
/* What is kept outside of the kernel; *lost: stacks for which there was no room there. */
struct stacks_stat stackmap_stat(const struct stackmap *m, u64 *lost);

#endif
