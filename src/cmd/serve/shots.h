/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stacks that collectors had, minute by minute, so that those of the last minutes can be shown
 * and compared with those before. They are kept packed, SHOTS_BYTES in all at most, the last ones.
 */
#ifndef CMD_SERVE_SHOTS_H
#define CMD_SERVE_SHOTS_H

#include "base/buf.h"
#include "base/str.h"

#define SHOTS       64u
#define SHOTS_BYTES (1u << 20)
#define SHOTS_MS    60000u /* between two */

struct shot {
	char *name;   /* "faults/faults", NULL: free */
	u64 start;    /* which start of its collector it is of: another one counts anew */
	u64 at;       /* ms of CLOCK_MONOTONIC */
	struct buf z; /* packed by zlib */
	u32 size;     /* unpacked */
};

struct shots {
	struct shot v[SHOTS]; /* a ring */
	u32 next;
	size_t bytes;
	u64 due; /* ms: when to take the next ones */
};

void shots_add(struct shots *s, const char *name, u64 start, u64 at, struct str folded);
/* The one of a table that was taken nearest to `at`; NULL: there is none. */
const struct shot *shots_find(const struct shots *s, const char *name, u64 start, u64 at);
void shots_unpack(const struct shot *one, struct buf *to);
/* What stacks, folded, have more than in an earlier shot. */
void shots_less(struct buf *to, struct str now, struct str before);
void shots_free(struct shots *s);

#endif
