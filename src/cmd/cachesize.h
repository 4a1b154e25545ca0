/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* memtap cachesize: its options, and the script made of them. */
#ifndef CMD_CACHESIZE_H
#define CMD_CACHESIZE_H

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

struct cachesize_options {
	const char *size, *key, *get, *get_key, *evict, *limit, *overhead, *alloc, *svg;
	const char *command, *format, *output;
	u32 entries, samples, duration, pid;
	bool json, quiet, verbose, script, help;
	/* Made of the above: */
	const char *put;
	u64 limit_bytes, overhead_bytes;
};

/*
 * The script. Its maps: @sizes, how many entries of each size, which keeps its eight highest binary
 * digits; @bytes, @least and @most of exact sizes; @gets, @evicted; @threshold, above which a
 * hash is not sent, 0 for none. Its records: enum shards_use, hash, size.
 */
void cachesize_script(struct buf *b, const struct cachesize_options *o);
/* "10M" is 10485760; K, M, G and T, in any case. False and *e. */
bool cachesize_bytes(const char *text, const char *option, u64 *bytes, struct err *e);

#endif
