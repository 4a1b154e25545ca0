/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Debug files from servers, for users who have named some in DEBUGINFOD_URLS.
 */
#ifndef SYM_DEBUGINFOD_H
#define SYM_DEBUGINFOD_H

#include "base/buf.h"

/* Path of the debug file with that build id (hexadecimal) in the user's cache, fetched when it is
 * not there. False when no server is set up or none has it. All calls together wait for half a
 * minute at most. */
bool debuginfod_find(const char *build_id, struct buf *path);
/* From any thread: no more is fetched from now on, and a call that waits for a server returns. */
void debuginfod_give_up(void);
/* Was a debug file wanted, and the library that fetches them is not there? */
bool debuginfod_is_missing(void);

#endif
