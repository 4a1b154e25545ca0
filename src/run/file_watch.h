/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files that followed processes load after the script was compiled: libraries of dlopen(), programs
 * that they exec. Attach points with a pattern for the file stand for those, too.
 */
#ifndef RUN_FILE_WATCH_H
#define RUN_FILE_WATCH_H

#include "kern/live.h"

/* Attach points, and the files of a process that they are to be looked for in. */
struct file_watch_query {
	const char *text; /* a script: an attach point and an empty body for each program */
	bool exact;       /* no probe is moved off the first instruction of its function */
	s32 pid;
	const char *const *paths;
	u32 n;
};

/* Sites of the probe with that number in the text; they are gone after the call. */
typedef void file_watch_sites_fn(void *ctx, u32 probe, struct usite *sites, u32 n);
/* Calls back with all sites there are. That is the compiler's part, which a session does not see:
 * it is given to it (session_options.expand). */
typedef void file_watch_expand_fn(const struct file_watch_query *f, const struct features *features,
                                  file_watch_sites_fn *each, void *ctx);

struct file_watch;

/* NULL when the unit has no such attach points, or nobody expands them. All live as long as the
 * result; what is asked of the kernel starts with `features`, which may be NULL. */
struct file_watch *file_watch_new(const struct unit *u, struct live *live,
                                  const struct features *features, file_watch_expand_fn *expand);
void file_watch_free(struct file_watch *l);
/* Attaches to the files of a followed process that have not been looked at. Returns in how many of
 * them there was a place to attach to; *failed counts the programs that could not be. */
u32 file_watch_look(struct file_watch *l, s32 pid, u32 *failed);
/* Forgets processes that have ended, whose numbers may be given out again. */
void file_watch_forget_gone(struct file_watch *l);

#endif
