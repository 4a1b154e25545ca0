/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Records from the ring become output: a table from a record's action to the function that
 * does it.
 */
#ifndef RUN_EVENT_H
#define RUN_EVENT_H

#include "kern/live.h"
#include "out/out.h"
#include "run/above.h"
#include "run/graph.h"
#include "run/file_watch.h"
#include "run/output.h"
#include "run/session.h"
#include "run/taken.h"
#include "run/stackmap.h"
#include "world/stop.h"
#include "run/unwind.h"
#include "run/view.h"
#include "sym/sym.h"

/* What became of follow(), for the end. */
struct followed {
	u64 processes; /* besides the first, unless they were followed at once */
	u64 files;     /* that they loaded later and that had places to attach to */
	u64 failed;    /* processes and programs that could not be attached */
	u64 longest;   /* nanoseconds from the event that reported one until it was attached */
};

/* What is printed once more, as JSON, for a report: at most COPY_BYTES, the last of it. */
struct event_copy {
	struct out out;
	struct buf text;
	u64 n_cut; /* bytes that made room */
};
#define COPY_BYTES (8u << 20)

struct events {
	const struct unit *unit;
	struct live *live;
	const struct session_options *options;
	struct output *output;
	struct stackmap *stacks;  /* NULL: the script takes none */
	struct unwind *unwind;    /* NULL: no stacks are walked by tables */
	struct graph *graph;      /* takes in what a map had before it is cleared; may be NULL */
	struct sym *sym;          /* hears of processes at first sight; may be NULL */
	struct file_watch *files; /* files that are loaded later; may be NULL */
	struct stop *stop;        /* the wish to end; may be NULL */
	struct followed followed;
	struct taken taken; /* the rows of maps */
	struct above above; /* headings of tables that are not printed yet */
	struct out out;
	struct event_copy *copy; /* NULL: no report is wanted */
	struct buf scratch;      /* of one record */
	bool exiting;            /* exit() was seen: later records are dropped */
	bool exit_called;
	bool is_walking; /* an iterator, whose walk exit() does not cut short */
	int exit_code;
	u32 n_errors;  /* errorf() */
	u32 n_lines;   /* printf() that were printed */
	u64 n_dropped; /* records that there was no time for at the end */
	bool mute;     /* nobody reads what is reported */
};

/* Does one record; `size` bytes as they came from the ring. */
void event_handle(struct events *ev, const void *record, u32 size);
/* Counts one for which there is no time any more. */
bool event_drop(void *ctx, const void *record, u32 size);
/* Prints a map at the end: one without key that nothing was put into is left out. */
void event_print_last(struct events *ev, u32 map);
/* Puts what the flame graph's map has now into the graph, when there is one. */
void event_take_graph(struct events *ev);
/* Says something to the user, after the output so far. */
void event_report(struct events *ev, enum report kind, const struct loc *loc, const char *text);
/* A warning about n things of the whole run, for its end; in JSON part of the output. */
void event_summary(struct events *ev, u64 n, const char *text);
/* Says how much of the processes that were followed could not be seen. */
void event_report_followed(struct events *ev);
/* Says of how many processes nothing has a name, as we may not look into them. */
void event_report_denied(struct events *ev);
/* At the end: addresses without a name because of their file. */
void event_report_unread(struct events *ev);
void events_free(struct events *ev);

#endif
