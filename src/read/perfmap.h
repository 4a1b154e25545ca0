/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The file in which a just-in-time compiler names its code for perf: "START SIZE NAME" lines,
 * numbers in hexadecimal.
 */
#ifndef READ_PERFMAP_H
#define READ_PERFMAP_H

#include "base/str.h"

/* Calls back for each whole line of that form; others are passed over. Returns how many bytes the
 * whole lines are, so that the rest can be read again once it has grown. */
size_t perfmap_parse(const char *text, size_t n,
                     void (*cb)(void *ctx, u64 start, u64 size, struct str name), void *ctx);

#endif
