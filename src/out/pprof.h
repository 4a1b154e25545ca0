/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A profile as pprof and what takes its files reads it (Go's pprof, Parca, Pyroscope, speedscope):
 * a gzip-compressed message "Profile". Source: proto/profile.proto of google/pprof.
 */
#ifndef OUT_PPROF_H
#define OUT_PPROF_H

#include "out/profile.h"

/* Adds the file. */
void pprof_write(struct buf *b, struct profile *p);

#endif
