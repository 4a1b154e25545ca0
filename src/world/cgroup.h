/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Control groups of the unified hierarchy (cgroup2), by path and by process. */
#ifndef WORLD_CGROUP_H
#define WORLD_CGROUP_H

#include "base/arena.h"
#include "base/err.h"
#include "base/base.h"

/* The id of the group with that directory. */
bool cgroup_id(const char *path, u64 *id, struct err *e);
/* The directory that a path means: itself, or of "/proc/PID/cgroup" that of the process. NULL and
 * *e when there is none. */
const char *cgroup_dir(struct arena *a, const char *path, struct err *e);

#endif
