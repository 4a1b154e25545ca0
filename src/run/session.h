/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One run of a compiled unit, from load to the last printed map. It writes the script's output
 * to one descriptor; everything said to the user besides goes through `report`, so nothing
 * here knows about stderr.
 */
#ifndef RUN_SESSION_H
#define RUN_SESSION_H

#include "base/err.h"
#include "out/out.h"
#include "run/child.h"
#include "run/graph.h"
#include "run/file_watch.h"
#include "unit/features.h"
#include "unit/unit.h"

struct view; /* view.h */

enum buffering {
	BUFFERING_LINE, /* written when no more events wait */
	BUFFERING_FULL, /* written in pieces of 64 KiB, and at the end */
	BUFFERING_NONE, /* after each event */
};

struct session_options {
	bool verbose;
	bool quiet;                   /* no notes */
	const struct out_ops *format; /* NULL: text */
	bool keep_errors;             /* -k: warn about failed reads, lookups and deletes too */
	bool dry_run;                 /* end after attaching; BEGIN and END do not run */
	bool mangled;                 /* --no-demangle */
	bool escape, no_escape;       /* --escape, --escape=false; else on a terminal */
	bool lines;                   /* --lines: SYM_LINES_ALL, else as the unit says */
	enum buffering buffering;     /* -B */
	const char *output;           /* -o: file to write to (made or emptied), NULL: output_fd */
	int output_fd;                /* usually 1 */
	struct sym_graft graft;       /* left out of stacks */
	u64 unwind_limit;             /* bytes for unwind tables, 0: as the unit says */
	u64 map_limit;    /* bytes for maps of as many keys as fit, 0: as the unit says */
	u64 stack_limit;  /* bytes for stacks that are kept, 0: as the unit says */
	s32 pid;          /* -p: end when this process ends; 0 none */
	const char *page; /* a file for a report in HTML, NULL: none is wanted */
	const struct graph_options *graph; /* flame graph, written at the end; NULL: none */
	const struct features *features;   /* NULL: the loader asks the kernel itself */
	file_watch_expand_fn *expand;      /* in files loaded later; NULL: not looked at */
	const struct view *view;           /* NULL: records and maps are printed */
	/* `loc` is a place in the unit's source or NULL. */
	void (*report)(void *ctx, enum report kind, const struct loc *loc, const char *text);
	void *report_ctx;
};

/*
 * Runs the unit until exit(), SIGINT, SIGTERM, SIGHUP, the end of the child or of process `pid`,
 * or until nobody reads the output any more. `child` may be NULL; it is released after all probes
 * are attached, ended with the session, and stays the caller's to be freed. Takes these
 * signals (stop.h) and ignores SIGPIPE from when BEGIN runs. Returns the exit code: that of
 * exit(n), else that of the child, else 0; 1 when the output could not be written, which is
 * reported then. -1 and *e when the unit could not be loaded, attached or run.
 */
int session_run(const struct unit *u, const struct session_options *o, struct child *child,
                struct err *e);

#endif
