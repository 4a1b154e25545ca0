/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks by their numbers, in little memory: what is outside of the kernel of the table of stacks.
 */
#ifndef AGG_STACKS_H
#define AGG_STACKS_H

#include "unit/unit.h"

struct stacks;

/* Starts empty; takes at most `limit` bytes. */
struct stacks *stacks_new(u64 limit);
/* NULL is fine. */
void stacks_free(struct stacks *s);
/* Keeps a stack, unless it is there. False when there is no more room. */
bool stacks_put(struct stacks *s, u64 id, const struct ustack_value *v);
/* False when it is not there. */
bool stacks_find(const struct stacks *s, u64 id, struct ustack_value *v);
/* Those put since the last call of this are recent. */
void stacks_age(struct stacks *s);
/* Forgets all that are neither recent, nor of the last age, nor wanted by `keep`. */
void stacks_sweep(struct stacks *s, bool (*keep)(void *ctx, u64 id), void *ctx);

struct stacks_stat {
	u64 stacks, frames; /* frames that are kept, each once for all stacks that go on from it */
	u64 bytes, limit;
};
struct stacks_stat stacks_stat(const struct stacks *s);

#endif
