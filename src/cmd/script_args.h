/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What stands after a script: options of its own, memtap's, and parameters.
 */
#ifndef CMD_SCRIPT_ARGS_H
#define CMD_SCRIPT_ARGS_H

#include "base/opt.h"
#include "cmd/job.h"
#include "cmd/run_options.h"

struct script_args {
	const struct request_option *options; /* that were given */
	u32 n_options;
	const char **params;
	u32 n_params;
};

/*
 * Splits what is `behind` a script that is parsed. memtap's options go to *o, where they add to
 * what is there; an option of the script with the same name or letter comes first. After "--" there
 * are the script's only, and what begins with '-' and a letter that is none of them is a parameter.
 * False and *e. Everything lives in the job's arena or is borrowed from `behind`.
 */
bool script_args_parse(struct script_args *args, struct job *j, struct run_options *o,
                       const struct opt_rest *behind, struct err *e);
/* The value of an option of the script's, by its long name; NULL: it is not given. */
const char *script_args_option(const struct script_args *args, const char *name);

#endif
