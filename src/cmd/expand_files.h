/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Attach points once more, in files that were loaded after the script was compiled.
 */
#ifndef CMD_EXPAND_FILES_H
#define CMD_EXPAND_FILES_H

#include "run/file_watch.h"

/* A file_watch_expand_fn. */
void expand_files(const struct file_watch_query *f, const struct features *features,
                  file_watch_sites_fn *each, void *ctx);

#endif
