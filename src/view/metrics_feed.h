/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A script whose maps are metrics: in place of printing, it answers `memtap serve`, which runs it
 * in a process of its own. Over a socket, one byte asks (METRICS_ASK plus the form, or what else of
 * enum feed_ask), and a page is the answer: struct metrics_answer and so many bytes. When the other
 * side is gone, it ends.
 *
 * FEED_TABLES: a line for each map that is a metric, its name without '@', a tab, and what --json
 * prints of it; for each with a stack in its key, '*', its name, a tab and what it counts.
 * FEED_STACKS: of the latter "*NAME\tUNIT\n" and their max_series heaviest stacks, as
 * flame_fold_whole() has them.
 *
 * FEED_OTLP: for each map with stacks of which more came since the last such question, or the
 * start, a size (u32) and so many bytes, an ExportProfilesServiceRequest of that
 * (out/otlp_profile.h).
 *
 * FEED_PROFILE: what a map with stacks has more than at a mark, as a file for pprof. The mark is
 * gone then; there is one file of it. FEED_MARK: what it has now is the mark, "marked"; by another
 * name than that of such a map the mark is only taken away. Nothing is the answer when there is no
 * such map, or no mark of it.
 *
 * Counters only go up: clear() and zero() of a map that adds up are left undone, as is the taking
 * of what print() shows. Numbers by key that programs read themselves are notes they keep, as
 * @start[tid], and no metrics; neither are maps with a stack in their key. A key that has not been
 * counted for long goes from its map, unless programs read that.
 */
#ifndef VIEW_METRICS_FEED_H
#define VIEW_METRICS_FEED_H

#include "out/metrics.h"
#include "run/view.h"

#define METRICS_ASK 'a'

enum feed_ask {
	FEED_METRICS, /* and the other forms */
	FEED_TABLES = METRICS_FORMS,
	FEED_LOOK, /* the same, of each table the FEED_TOP largest rows */
	FEED_STACKS,
	FEED_OTLP,
	FEED_PROFILE, /* these are followed by struct feed_about */
	FEED_MARK,
	FEED_ASKS
};
#define FEED_TOP 20u

struct metrics_answer {
	u32 bytes;
};

/* Which map, by its name without '@', and which mark. */
#define FEED_MARKS 8u
#define FEED_START FEED_MARKS /* in place of one: when the collector began */
struct feed_about {
	u8 mark;
	char map[63]; /* NUL-terminated */
};

/* What a script shows by a view of its own in place of its maps. */
struct metrics_source {
	struct view *view; /* its `end` is not called; its fd may change in any call */
	void (*add)(void *ctx, const struct view_of *v, const struct metrics *m, struct buf *b);
	/* ... as FEED_TABLES has it. */
	void (*tables)(void *ctx, const struct view_of *v, struct buf *b);
};

struct metrics_feed_options {
	int fd;
	const struct metrics_source *source; /* NULL: its maps. Borrowed */
	const char *name;                    /* of the collector, a label of every series */
	const char *version;                 /* of memtap */
	u32 max_series;                      /* of each map */
	u32 idle; /* seconds after which a series ends whose key does not come; 0 never */
};

/* The options' texts are borrowed. NULL and *e. */
struct view *metrics_feed_open(const struct metrics_feed_options *o, struct err *e);
void metrics_feed_close(struct view *v);

#endif
