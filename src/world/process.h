/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files as processes see them: what they have mapped, and what a name or a path means to one that
 * lives in another root (a container, a chroot). Paths handed out can be opened from here.
 */
#ifndef WORLD_PROCESS_H
#define WORLD_PROCESS_H

#include "world/resolve.h"

typedef bool process_file_fn(void *ctx, const char *path);

/* Executable files mapped by a process, each once, as /proc/PID/root/...; cb returns false to
 * stop. False and *e when there is no such process or we may not look. */
bool process_files(struct arena *a, s32 pid, process_file_fn *cb, void *ctx, struct err *e);
/* The same for all processes that can be looked at: a file of several is given once, by its own
 * path where one of them has our root. */
bool process_files_all(struct arena *a, process_file_fn *cb, void *ctx, struct err *e);
/* resolve_file() as process `pid` means it (0: nobody): a bare name is first looked for among
 * its mapped files, then, like a path, in its root, then in ours. */
const char *process_resolve(const struct resolver *r, s32 pid, const char *name, struct err *e);
/* Regular files that match a pattern of the shell. */
bool process_glob(const struct resolver *r, const char *pattern, process_file_fn *cb, void *ctx,
                  struct err *e);

#endif
