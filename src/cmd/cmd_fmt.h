/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `--fmt`: a script in the usual form, on stdout. */
#ifndef CMD_CMD_FMT_H
#define CMD_CMD_FMT_H

#include "cmd/job.h"

/* The job has its source and needs no world. Returns the exit code; messages are printed. */
int cmd_fmt_print(struct job *j, bool warnings);

#endif
