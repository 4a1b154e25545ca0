/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files that followed processes load after the script was compiled: libraries of dlopen(), programs
 * that they exec. Attach points with a pattern for the file stand for those, too.
 */
#ifndef RUN_LATE_H
#define RUN_LATE_H

#include "kern/live.h"

struct late;

/* NULL when the unit has no such attach points. Both live as long as the result; what is asked of the
 * kernel starts with `features`, which may be NULL. */
struct late *late_new(const struct unit *u, struct live *live, const struct features *features);
void late_free(struct late *l);
/* Attaches to the files of a followed process that have not been looked at. Returns in how many of them
 * there was a place to attach to; *failed counts the programs that could not be. */
u32 late_look(struct late *l, s32 pid, u32 *failed);
/* Forgets processes that have ended, whose numbers may be given out again. */
void late_forget_gone(struct late *l);

#endif
