/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a script is compiled for: what the command line asked for beside the script itself. All zero
 * is a command line without options; what it points to is borrowed.
 */
#ifndef LANG_PARSE_REQUEST_H
#define LANG_PARSE_REQUEST_H

#include <regex.h>

#include "base/base.h"

struct request_option {
	const char *name, *value;
};

struct request {
	s32 pid;             /* -p PID or the process of -c, 0 none */
	const char *command; /* -c: path of its executable, else NULL */
	bool unsafe;         /* --unsafe */
	bool tests;          /* --test: test probes are run */
	bool exact_sites;    /* --exact-site */
	const regex_t *probe_filter; /* --probe-filter, or NULL */
	/* Options of the script that were given, by their long names. */
	const struct request_option *options;
	u32 n_options;
	const char *const *params; /* positional parameters $1... */
	u32 n_params;
	bool lists;       /* -l: names are as a script writes them, with quotes where needed */
	bool only_checks; /* nothing will be loaded: what may not be looked up is left out */
	bool no_args;     /* compiled without a command line: what a script with options asks of its
			   * parameters is taken as given */
	bool alone; /* others load the unit: nobody takes maps while programs count in them */
	const char *const *files; /* all that patterns stand for; NULL: those of the processes */
	u32 n_files;
};

#endif
