/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's event directory, whether the system has mounted it or not.
 */
#ifndef WORLD_TRACEFS_H
#define WORLD_TRACEFS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct tracefs {
	char dir[64]; /* path that can be opened, "" before tracefs_open */
	int fd;       /* a mount of our own, -1 none; 0 before tracefs_open */
	int events;   /* its directory of events, -1 before it is asked for */
};

/* Finds tracefs; with `dir` that directory is taken. Asks the kernel for a private mount, seen
 * by nobody else, when there is none. */
bool tracefs_open(struct tracefs *t, const char *dir, struct err *e);
void tracefs_close(struct tracefs *t);

/* Appends the format of an event, "group/name"; of its print format perhaps nothing. *e has the
 * errno as its code where it can not be read. */
bool tracefs_format(struct tracefs *t, const char *event, struct buf *b, struct err *e);
/* Sorted names of the sub-directories of `path` that match; they live in the arena. */
bool tracefs_list(struct arena *a, const char *path, struct str glob, const char ***names, u32 *n,
                  struct err *e);

#endif
