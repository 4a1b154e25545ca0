/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The files that a unit's user probes are in: a probe is a file's, not its path's. */
#ifndef RUN_PROBED_H
#define RUN_PROBED_H

#include <sys/stat.h>

#include "base/arena.h"
#include "unit/unit.h"

struct probed {
	struct stat *files; /* in the arena */
	u32 n;
};

/* As they are now; one that is gone is left out. */
void probed_read(struct arena *a, const struct unit *u, struct probed *p);
/* Does the process run code of one of them, as it was then? True when there are none. */
bool probed_in(const struct probed *p, u32 pid);

#endif
