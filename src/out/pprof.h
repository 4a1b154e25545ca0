/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks as a profile that pprof and what takes its files reads (Go's pprof, Parca, Pyroscope,
 * speedscope): a gzip-compressed message "Profile". Source: proto/profile.proto of google/pprof.
 */
#ifndef OUT_PPROF_H
#define OUT_PPROF_H

#include "out/flame.h"

struct pprof {
	const char *title;              /* a comment in the file */
	const char *names[FLAME_PARTS]; /* of each part of f->n_parts: "inuse_space", "us" */
	u32 chosen;                     /* the part that is shown first */
	u64 start_ns, duration_ns;      /* CLOCK_REALTIME; how long it is of */
};

/* Adds the file. */
void pprof_write(struct buf *b, const struct flame *f, const struct pprof *o);

#endif
