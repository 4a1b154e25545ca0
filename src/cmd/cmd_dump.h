/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `-d`: what a script has become after a stage of compiling, on stdout. */
#ifndef CMD_CMD_DUMP_H
#define CMD_CMD_DUMP_H

#include "cmd/job.h"

/* The words of -d, as an option table wants them. */
#define DUMP_STAGES "ast|types|unit|bpf"

/* How far a script must be compiled for that dump. */
enum stage dump_stage(const char *what);
void dump_print(const struct job *j, const char *what);

#endif
