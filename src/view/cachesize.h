/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* memtap cachesize: its options, and the script made of them. */
#ifndef VIEW_CACHESIZE_H
#define VIEW_CACHESIZE_H

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"
#include "cache/item.h"
#include "cache/sizing.h"
#include "out/out.h"
#include "run/view.h"

struct cachesize_options {
	const char *size, *key, *get, *get_key, *evict, *limit, *overhead, *alloc, *svg;
	const char *report;
	const char *command, *format, *output, *via;
	const struct out_ops *out; /* what format and json choose */
	u32 entries, samples, duration, pid;
	bool json, quiet, verbose, script, help;
	/* Made of the above: */
	const char *put;
	const struct item_kind *kind; /* of a server that is known; NULL: probes are named */
	u64 limit_bytes, overhead_bytes;
};

/*
 * The script. Its maps: @sizes, how many entries of each size, which keeps its eight highest binary
 * digits; @bytes, @least and @most of exact sizes; @gets, @evicted; @threshold, above which a
 * hash is not sent, 0 for none. Its records: enum shards_use, hash, size.
 */
void cachesize_script(struct buf *b, const struct cachesize_options *o);

struct cachesize_server;

/* The script for a known server, o->kind, which is the process o->pid: what mctop captures. */
void cachesize_server_script(struct buf *b, const struct cachesize_options *o);

/* Watches that process; into `s`, which has its options and shards, and stays the caller's. */
struct cachesize_server *cachesize_server_new(const struct cachesize_options *o, struct sizing *s);
void cachesize_server_free(struct cachesize_server *w);
/* The functions of a view, see run/view.h. */
bool cachesize_server_start(struct cachesize_server *w, const struct view_of *v, struct err *e);
bool cachesize_server_record(struct cachesize_server *w, const struct view_of *v,
                             const struct urecord *r, const u8 *bytes);
/* Completes `s`. */
void cachesize_server_end(struct cachesize_server *w, const struct view_of *v);

/* "10M" is 10485760; K, M, G and T, in any case. False and *e. */
bool cachesize_bytes(const char *text, const char *option, u64 *bytes, struct err *e);

#endif
