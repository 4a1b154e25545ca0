/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A script in a test tube: compiled against a world made of files, run in the interpreter,
 * its output rendered as memtap would print it.
 */
#ifndef INTERP_LAB_H
#define INTERP_LAB_H

#include "agg/held.h"
#include "base/buf.h"
#include "interp/interp.h"
#include "lang/parse/lang.h"
#include "run/above.h"

struct lab {
	struct arena arena;
	struct world *world;
	struct unit *u;
	struct held *held;  /* by map: what found no room in it */
	struct above above; /* headings of tables that are not printed yet */
	struct interp *in;  /* NULL until lab_compile succeeded */
	struct buf output;  /* what the records and the trace printed so far, then the maps */
	struct buf problem; /* why the last call failed */
	bool exited;
	u32 n_warnings;
};

void lab_init(struct lab *l);
/* A kernel that has bpf_loop(). */
void lab_init_loop(struct lab *l);
/* One that does not go through maps either. */
void lab_init_walk(struct lab *l);
void lab_free(struct lab *l);
/* Compiles; every program must pass the self-check. False: l->problem is the diagnostics. */
bool lab_compile(struct lab *l, const char *text);
/* Runs all programs of a kind in order and renders their records. */
bool lab_fire(struct lab *l, enum attach_kind kind, const void *ctx, u32 ctx_size);
/* Appends all maps that hold anything, in name order. */
void lab_print_maps(struct lab *l);
/* Sum of all runtime error counters of that kind. */
u64 lab_errors(struct lab *l, enum uerror_kind kind);
/* BEGIN, END, maps. The text is l->output; NULL on failure, see l->problem. */
const char *lab_begin(struct lab *l, const char *text);

#endif
