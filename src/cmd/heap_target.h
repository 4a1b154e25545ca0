/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process of `memtap heap`: the code that samples is put into it before its script is compiled,
 * and taken out when that has run.
 */
#ifndef CMD_HEAP_TARGET_H
#define CMD_HEAP_TARGET_H

#include "cmd/run_options.h"
#include "cmd/script_args.h"
#include "sym/sym.h"

struct heap_target {
	s32 pid;
	struct sym_graft graft;
	bool ours; /* the code is to be taken out again */
	bool done; /* all that was asked for: there is no session */
};

/* False and *e when it can not be put in, or is not asked for rightly; `pid` 0: no process is. */
bool heap_target_begin(struct heap_target *t, const struct run_options *o, s32 pid,
                       const struct script_args *args, struct err *e);
/* False and *e when it stays in the process. */
bool heap_target_end(struct heap_target *t, const struct run_options *o, struct err *e);

#endif
