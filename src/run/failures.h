/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What went wrong inside the programs: counters of the data map that grew since they were last
 * looked at become warnings.
 */
#ifndef RUN_FAILURES_H
#define RUN_FAILURES_H

#include "run/event.h"

struct failures {
	u64 *seen; /* per word of the data map */
	u32 n;
	u64 unread; /* failed reads that were not reported */
	u64 unheld; /* counts that found no memory, as far as that was reported */
};

void failures_init(struct failures *t, const struct unit *u);
/* Reports each counter that grew: as a warning, in JSON as part of the output. Called once a
 * second and before failures_end(). */
void failures_check(struct failures *t, struct events *ev);
/* Sums up what was not worth a line each. */
void failures_end(const struct failures *t, struct events *ev);
/* Stacks of which programs could keep nothing, so far. */
u64 failures_stacks(const struct events *ev);
/* Counts of maps that are emptied as they fill which found no room in the ring either, so far. */
u64 failures_spilled(const struct events *ev);
void failures_free(struct failures *t);

#endif
