/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stacks of a session as a graph: which map they are of, and the files they go to.
 */
#ifndef RUN_GRAPH_H
#define RUN_GRAPH_H

#include "base/err.h"
#include "out/flame.h"
#include "out/profile.h"
#include "world/stop.h"

/* What is written: folded stacks, a picture, a profile. */
enum graph_file { GRAPH_FOLDED, GRAPH_SVG, GRAPH_PPROF, GRAPH_FILES };

struct graph_options {
	const char *paths[GRAPH_FILES]; /* "-" for stdout_fd, NULL none */
	const char *title;              /* NULL: one is made up */
	const char *before;             /* file of folded stacks to compare with, NULL none */
	const char *map;                /* "@name" or "@name.part"; NULL: the first that fits */
	int stdout_fd;
};

struct graph {
	const struct unit *unit;
	const struct graph_options *options;
	struct arena arena;
	struct flame flame, before;
	u32 map;
	const char *part;          /* of the map's values, or NULL */
	const char *also;          /* names of other maps that would do, or NULL */
	int fds[GRAPH_FILES];      /* -1 none */
	struct profile profile;    /* where one is written */
	struct profile_past began; /* when */
	bool drawn;                /* flame is wanted, too */
};

/* True when there is something to be done. NULL: not. */
bool graph_wanted(const struct graph_options *o);
/* Has the unit a map of which a graph can be drawn? */
bool graph_fits(const struct unit *u);
/* Finds the map and opens the files, which are emptied when they are written. Symbolic links are
 * not followed. With `picture` graph_picture() can be called. False and *e. */
bool graph_open(struct graph *g, const struct unit *u, const struct graph_options *o, bool picture,
                struct err *e);
/* Adds the rows that the map has now. */
void graph_take(struct graph *g, const struct out *o, const struct table *t);
/* Writes the files; a pipe is given up when `stop` was asked and nobody reads it. False and *e. */
bool graph_write(struct graph *g, struct stop *stop, struct err *e);
/* The picture alone; the graph has been sorted then. */
void graph_picture(struct graph *g, struct buf *b);
/* "Flame graph" or "Profile", by what is written, and how many stacks are in it. */
const char *graph_what(const struct graph *g);
u64 graph_stacks(const struct graph *g);
/* A graph that is all zero is fine. */
void graph_close(struct graph *g);

#endif
