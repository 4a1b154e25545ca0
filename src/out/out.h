/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rows and records in a format, into a buffer. A format is a table of functions in a file of its
 * own, and a word in OUT_FORMATS. Nothing here writes to a descriptor.
 */
#ifndef OUT_OUT_H
#define OUT_OUT_H

#include "agg/table.h"
#include "base/buf.h"
#include "base/escape.h"
#include "out/tree.h"
#include "sym/frames.h"
#include "unit/unit.h"

/* Names for values that need the outside world; given by run/, backed by sym/. Each appends to
 * b. */
struct namer {
	void *ctx;
	/* A whole stack of `type` (KSTACK, USTACK, STACK) with the words of its value. */
	void (*stack)(void *ctx, struct buf *b, const struct type *type, const u64 *words);
	/* Its frames one by one, the outermost first; of a STACK the process's before the
	 * kernel's. */
	void (*frames)(void *ctx, const struct type *type, const u64 *words, frame_fn *fn,
	               void *fn_ctx);
	void (*ksym)(void *ctx, struct buf *b, u64 addr);
	void (*usym)(void *ctx, struct buf *b, u64 addr, u32 pid);
	void (*func)(void *ctx, struct buf *b, u64 addr, u32 pid); /* of a probe */
	void (*username)(void *ctx, struct buf *b, u64 uid);
	void (*cgroup_path)(void *ctx, struct buf *b, u64 id, const char *filter);
	void (*loadavg)(void *ctx, struct buf *b); /* "0.10 0.20 0.30" */
	u64 boot_to_real; /* ns to add to a boot time stamp for wall-clock time */
};

/* What is said to the user, besides the output. */
enum report {
	REPORT_NOTE, /* "Attached 3 probes", the verifier's log with -v; several lines possible */
	REPORT_WARNING, /* runtime errors, lost events, skipped probes, warnf() */
	REPORT_ERROR,   /* errorf() */
};

struct out {
	const struct unit *unit;
	const struct namer *namer;
	const struct out_ops *ops;
	/* Says something, `loc` being a place in the unit's source or NULL; on the way it writes
	 * what is in the buffer. NULL: errorf(), warnf() and losses are part of the output, and the
	 * rest is left out. */
	void (*say)(void *ctx, enum report kind, const struct loc *loc, const char *text);
	void *say_ctx;
	bool verbose; /* figures of the run are worth saying */
	/* Of values; what the script itself says stays. Formats that quote strings have NONE. */
	enum escape escape;
};

/* What went wrong in a program, n times. */
struct out_error {
	const struct loc *loc; /* where in the script, or NULL */
	const char *text;
	const char *helper; /* the helper function that failed, or NULL */
	s32 retcode;        /* and what it returned */
	u64 n;
	enum {
		COUNT_IN_TEXT, /* or of no use */
		COUNT_BEFORE,  /* "2 strings were cut" */
		COUNT_AFTER,   /* "@x is full (2 times)" */
	} count;               /* where n belongs in a sentence, when it is not 1 */
};

/* What became of a test probe. */
struct out_test {
	const char *name; /* without "test:" */
	u64 ns;
	bool passed;
	struct str output; /* what it printed */
};

/* The walking of stacks by tables. */
struct unwind_stat {
	u64 counts[N_UCOUNT]; /* stacks, see enum ucount */
	u32 processes, files, rows;
	u32 rich;       /* rows whose rule does not fit */
	u64 bytes;      /* of tables in the kernel */
	u32 no_room;    /* mappings left without a table: the limit is reached */
	u32 unreadable; /* files that could not be read */
	u64 ns;         /* spent reading and loading files */
};

/* What became of stacks. */
struct out_stacks {
	const struct unwind_stat *walked; /* NULL: none were */
	u64 kept;                         /* different ones */
	u64 bytes, limit;                 /* they take outside of the kernel's map, and may */
	u64 lost;                         /* for which there was no room, there or in the map */
};

/* What was taken out of maps as they filled. */
struct out_maps {
	u64 emptied;            /* how often one was */
	u64 rows, bytes, limit; /* outside of the kernel, when they were most */
	u64 lost;               /* counts there was no room for */
};

/* Of a function that is NULL the format prints nothing: call them with OUT. */
struct out_ops {
	/* Prints reports; NULL: they are laid out for people, by who makes them. */
	const struct tree_ops *tree;
	/* Rows of a map with keys may come in several calls of `map`, too. */
	bool map_in_parts;
	bool quotes; /* strings, so that nothing in them needs an escape of ours */
	void (*attached)(struct buf *b, const struct out *o, u32 n_probes);
	/* printf, and errorf and warnf: these with their place in the source and as one line. */
	void (*printf_)(struct buf *b, const struct out *o, const struct urecord *r,
	                const void *record);
	/* Titles of columns, above rows. */
	void (*heading)(struct buf *b, const struct out *o, const struct urecord *r,
	                const void *record);
	/* `text` is the formatted time (value_time). */
	void (*time_)(struct buf *b, const struct out *o, const char *text);
	void (*join)(struct buf *b, const struct out *o, const struct urecord *r,
	             const void *record);
	void (*value)(struct buf *b, const struct out *o, const struct type *t, const void *bytes);
	/* A whole map, already sorted; top 0 = all rows (else the last `top`), div 0 = 1. */
	void (*map)(struct buf *b, const struct out *o, const struct table *t, u32 top, u32 div);
	/* print(@m, top, "..."): the same rows, each by a template (unit/template.h). */
	void (*rows)(struct buf *b, const struct out *o, const struct table *t, u32 top,
	             const char *text);
	/* print(@m[k]) of an aggregation: its value alone. */
	void (*cell)(struct buf *b, const struct out *o, const struct type *t,
	             const struct cell *c);
	/* The script has ended, what follows is what its maps hold. */
	void (*last_maps)(struct buf *b, const struct out *o);
	/* Events; `why` may be NULL. */
	void (*lost)(struct buf *b, const struct out *o, u64 n, const char *why);
	void (*runtime_error)(struct buf *b, const struct out *o, const struct out_error *e);
	/* At the end. */
	void (*stacks)(struct buf *b, const struct out *o, const struct out_stacks *s);
	void (*maps)(struct buf *b, const struct out *o, const struct out_maps *m);
	/* Test i of n, once it has run. Those before it have been run too. */
	void (*test)(struct buf *b, const struct out *o, const struct out_test *tests, u32 i,
	             u32 n);
	/* What a file (kind "cat") or command ("syscall") contained or said. */
	void (*text)(struct buf *b, const struct out *o, const char *kind, const char *text);
};

#define OUT(out, op, b, ...)                                                                       \
	do {                                                                                       \
		if ((out)->ops->op)                                                                \
			(out)->ops->op(b, out, ##__VA_ARGS__);                                     \
	} while (0)

/* The formats that -f takes, the usual one first. out_NAME is the table of each. */
#define OUT_FORMATS(FIRST, NEXT) FIRST(text) NEXT(json)

#define OUT_FIRST_NAME(format) #format
#define OUT_NEXT_NAME(format)  "|" #format
#define OUT_FORMAT_NAMES       OUT_FORMATS(OUT_FIRST_NAME, OUT_NEXT_NAME) /* "text|json" */

#define OUT_DECLARE(format) extern const struct out_ops out_##format;
OUT_FORMATS(OUT_DECLARE, OUT_DECLARE)
#undef OUT_DECLARE

/* The format of an option -f, one of OUT_FORMAT_NAMES or NULL: the usual one. `json` is --json. */
const struct out_ops *out_format(const char *name, bool json);

/* One value as text, the one place that knows how each type looks (format.c and both outputs
 * use it). `bytes` is the value at rest. */
void value_print(struct buf *b, const struct out *o, const struct type *t, const void *bytes);
/* strftime of a wall-clock time, local zone, plus %f for the microseconds (six digits). */
void value_time(struct buf *b, const char *format, u64 real_ns);
/* printf: the directives of `text` over the args of a record, bpftrace's rules and sizes. */
void format_print(struct buf *b, const struct out *o, const char *text, const struct field *args,
                  u32 n_args, const void *record);
#endif
