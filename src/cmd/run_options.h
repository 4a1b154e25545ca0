/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The options of the default command, and its usage text. */
#ifndef CMD_RUN_OPTIONS_H
#define CMD_RUN_OPTIONS_H

#include "base/opt.h"
#include "cmd/cmd_dump.h"
#include "run/session.h"
#include "view/metrics_feed.h"

struct run_options {
	const char *program, *command, *format, *output, *dump, *buffering;
	const char *no_feature, *mode, *probe_filter, *escape;
	struct opt_rest include_dirs, include_files;
	const char *functions, *emit_elf, *debug_dirs;
	const char *emit_llvm, *aot, *feed_words;
	const char *folded, *flame, *pprof, *flame_title, *flame_map, *flame_diff, *report;
	u32 pid, dwarf_pid, unwind_memory, stack_memory, map_memory;
	bool list, quiet, verbose, keep_errors, dry_run, unsafe, no_warnings, exact_site, help,
		version;
	bool no_demangle, lines, json;
	bool info, fmt, test, bench, verify_llvm, usdt_file_activation, btf;
	/* Made of the above: */
	struct dump_request dumped;
	const struct out_ops *out; /* what format and json choose */
	enum buffering output_buffering;
	struct graph_options graph;
	bool graph_to_stdout;             /* then what the script prints goes to standard error */
	struct features without;          /* --no-feature: known, and not there */
	struct metrics_feed_options feed; /* its name NULL: not started by memtap serve */
};

/* The options as a table for opt_parse; they go into a struct run_options. */
const struct opt *run_options_rows(u32 *n);
/* The index of the first word that is no option, where a subcommand may stand: a script of -e and a
 * pattern of -l have parameters there. 0: there is none. */
u32 run_options_word(int argc, char **argv);
/* Checks what was read and fills in what is made of it. False and *e. */
bool run_options_finish(struct run_options *o, struct err *e);
/* What `memtap serve` starts a collector with, --feed FD,SERIES,IDLE,NAME, into o->feed. */
bool run_options_feed(struct run_options *o, struct err *e);
/* True, or false and *e: the file is asked for and can not be read. path may be NULL. */
bool run_options_readable(const char *path, struct err *e);
/* Of what was given, that which is accepted and has nothing to do here, a line each. */
void run_options_without_effect(const struct run_options *o, struct buf *b);
/* The file with the kernel's types that the environment names, NULL: none. */
const char *run_options_btf(void);
void run_options_usage(struct buf *b);

#endif
