/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What was not seen of what a server was asked and answered: in each report, in all its forms. */
#ifndef CACHE_MISSED_H
#define CACHE_MISSED_H

#include "base/buf.h"
#include "out/tree.h"

struct missed {
	u64 events;      /* system calls that were missed */
	u64 commands;    /* not counted because of missing bytes */
	u64 error;       /* ... off by less than this two times out of three */
	bool at_least;   /* ... there may be more besides */
	u64 replies;     /* calls that were counted without their answer */
	u64 from_master; /* bytes that a replica's master sent: commands that are not counted */
	u64 unknown;     /* commands by names that are not known, whose keys are not counted */
	u64 unconfirmed; /* calls not counted because no answer confirmed them: proto_unconfirmed */
};

/* As a part of a line: "0 events lost, 0 commands lost". */
void missed_print(struct buf *b, const struct missed *m);
/* As members of the object that is open. */
void missed_tree(struct tree *t, const struct missed *m);

#endif
