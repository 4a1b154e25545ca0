/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a server is asked, by command, as its protocol spells it: how often, how much time of a
 * processor that took, and how large keys and values are, in powers of two.
 *
 * Bounded: VERBS at most, and what comes after these is counted as VERBS_OTHER. Pure.
 */
#ifndef CACHE_VERBS_H
#define CACHE_VERBS_H

#include "base/buf.h"
#include "out/tree.h"
#include "proto/proto.h"

#define VERBS        512u
#define VERBS_OTHER  "others"
#define SIZE_CLASSES 32u /* 0, 1, 2 to 3, 4 to 7, ... and the last is all from 2^30 on */

struct size_classes {
	u64 n[SIZE_CLASSES];
};

struct verb_count {
	const char *name;
	u64 calls;
	u64 cpu, timed; /* nanoseconds, and the calls of which it is known */
	struct size_classes values;
};

/* All zero is empty. */
struct verbs {
	struct verb_count *v; /* VERBS + 1 */
	u32 n;
	struct verb_count *last; /* that was counted: mostly the next one is the same */
	u16 by_name[VERBS * 2];  /* of the pointer: number + 1 */
	struct size_classes keys;
};

void verbs_free(struct verbs *s);
void verbs_clear(struct verbs *s);
void verbs_count(struct verbs *s, const struct command *c);
/* A line for each, by calls, and one for the sizes of keys. */
void verbs_text(struct buf *b, const struct verbs *s);
/* Two members of the object that is open: lists. */
void verbs_tree(struct tree *t, const struct verbs *s);

#endif
