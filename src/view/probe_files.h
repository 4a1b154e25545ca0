/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The files that a unit's user probes are in: a probe is a file's, not its path's. */
#ifndef VIEW_PROBE_FILES_H
#define VIEW_PROBE_FILES_H

#include <sys/stat.h>

#include "base/arena.h"
#include "unit/unit.h"

struct probe_files {
	struct stat *files; /* in the arena */
	u32 n;
};

/* As they are now; one that is gone is left out. */
void probe_files_read(struct arena *a, const struct unit *u, struct probe_files *p);
/* Does the process run code of one of them, as it was then? True when there are none. */
bool probe_files_mapped(const struct probe_files *p, u32 pid);

#endif
