/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Processes of memtap serve: memtap once more, each with a stream to the one that started it. */
#ifndef CMD_SERVE_OWN_H
#define CMD_SERVE_OWN_H

#include <sys/types.h>

#define OWN_FD 3 /* the process's end of the stream */

/*
 * Runs this program with argv; *fd is our end. It has no input and no output but standard error,
 * which is ours, and ends when we do. Where it can not be run it says so itself, with its `name`,
 * and ends. 0 when there can be no process.
 */
pid_t own_start(const char *name, char *const argv[], int *fd);

#endif
