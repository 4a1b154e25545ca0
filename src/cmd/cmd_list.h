/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `-l`: the probes there are, and with -v their arguments. */
#ifndef CMD_CMD_LIST_H
#define CMD_CMD_LIST_H

#include "cmd/job.h"

/*
 * Lists on stdout what matches patterns, with ',' between them ("tracepoint:vmscan:*", "*fault*",
 * "uprobe:/bin/sh", "/bin/sh", "struct page"; NULL: everything). With a pid in r, patterns for
 * files mean those of that process. Returns the exit code; messages are printed.
 */
int cmd_list_pattern(struct world *w, const char *pattern, const struct request *r, bool verbose);
/* True for the path, with a '/' in it, of a program or library. */
bool cmd_list_is_program(const char *path);
/* The probes a script would attach, after STAGE_SITES. */
void cmd_list_script(const struct job *j, bool verbose);

#endif
