/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From what a user calls a program or library to the path of its file.
 */
#ifndef WORLD_RESOLVE_H
#define WORLD_RESOLVE_H

#include "base/arena.h"
#include "base/err.h"

struct resolver {
	struct arena *arena; /* for the answers */
	const char *root;    /* put before every directory that is searched, "" normally */
	const char *path;    /* directories of programs, as in $PATH */
};

/*
 * `name` with a '/' is a path, made absolute but not otherwise changed (symbolic links stay:
 * /proc/PID/root has to). Without, it is a program in the path, then a library as the dynamic
 * loader would find it. NULL and *e when there is no such file.
 */
const char *resolve_file(const struct resolver *r, const char *name, struct err *e);

/* A library as the dynamic loader would find it when no program says where; NULL. */
const char *resolve_library(const struct resolver *r, const char *name);

#endif
