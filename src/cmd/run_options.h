/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The options of the default command, and its usage text. */
#ifndef CMD_RUN_OPTIONS_H
#define CMD_RUN_OPTIONS_H

#include "base/opt.h"
#include "cmd/cmd_dump.h"
#include "run/session.h"

struct run_options {
	const char *program, *command, *format, *output, *dump, *buffering;
	const char *include_dir, *include_file, *no_feature, *mode, *probe_filter;
	const char *functions, *emit_elf;
	const char *emit_llvm, *aot;
	u32 pid, unwind_memory;
	bool list, quiet, verbose, keep_errors, dry_run, unsafe, no_warnings, exact_site, help,
		version;
	bool no_demangle, lines;
	bool info, fmt, test, bench, verify_llvm, usdt_file_activation, btf;
	/* Made of the above: */
	struct dump_request dumped;
	enum buffering output_buffering;
	struct features without; /* --no-feature: known, and not there */
};

/* Reads and checks the command line. False and *e. */
bool run_options_parse(struct run_options *o, struct arena *a, int argc, char **argv,
                       struct opt_rest *rest, struct err *e);
void run_options_usage(struct buf *b);

#endif
