/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps as metrics: what Prometheus and all that speaks its protocol read. Two forms of text,
 * OpenMetrics 1.0 and Prometheus' own (version 0.0.4), in blocks of a family each, which begin
 * with "# TYPE"; what ends a page is added by who puts it together.
 *
 *   @reads = count()                 reads_total 12                        counter
 *   @bytes[comm] = sum(args.len)     bytes_total{key="cat"} 4096           counter
 *   @ns = hist($ns)                  ns_bucket{le="1023"} 5 ... ns_count   histogram
 *   @ns = avg($ns), stats($ns)       ns_count, ns_sum                      summary
 *   @x = 5, max(x), min(x)           x 5                                   gauge
 *   @x = comm                        x_info{value="cat"} 1                 info
 *   @ = count()                      value_total 12
 *   @wait_ns = sum($ns)              wait_seconds_total 0.000001500        also _us, _ms
 *
 * A sum of signed numbers may fall and is a gauge. The parts of a key are labels: of a record by
 * their names, of a tuple key0, key1 ... Several aggregations under one key are a family each.
 * Beside the path of a control group, cgroup_path() or a string called cgroup, is what it says
 * (out/cgroup_names.h): container, pod, namespace, unit.
 */
#ifndef OUT_METRICS_H
#define OUT_METRICS_H

#include "out/cgroup_names.h"
#include "out/metrics_names.h"
#include "out/out.h"

/* METRICS_NATIVE is what metrics_proto() reads: METRICS_TEXT, and after each histogram that has one
 * a line NAME_native (out/metrics_native.h). */
enum metrics_form { METRICS_OPENMETRICS, METRICS_TEXT, METRICS_NATIVE, METRICS_FORMS };

struct metrics_known;

/* The series of a map from one page to the next (out/metrics_series.c). All zero: none yet. */
struct metrics_shown {
	struct metrics_names names;
	struct arena arena;
	struct metrics_known *known;
	u32 n_known;
	u64 *kept;  /* what "other" has of series that are in it no more, count by count */
	u64 *other; /* what it showed */
	bool rest;  /* ... if it did */
	u64 *ended; /* hashes of the last ones that ended, as many as there are places */
	u32 n_ended, next_ended;
};

struct metrics {
	const struct out *out;
	enum metrics_form form;
	const char *labels; /* of every series: "collector=\"faults\"" */
	u32 max_series;     /* of a map; what is beyond is added up in one with the label other */
	u64 now;            /* ms */
	u64 idle;           /* ms after which a series ends whose key does not come; 0 never */
	/* Removes a row of a map, whose series ended. False: it stays. NULL: none ends. */
	bool (*end)(void *ctx, const struct umap *map, const u8 *key);
	void *ctx;
	/* So far: lines written, series that had no place, and those that ended. */
	u64 samples, left_out, ended;
};

/* Adds the families of a map. Series that had a place on the last page keep it; places that are
 * free go to the largest. No counter goes back, but for one that ended and begins at 0 again. */
void metrics_map(struct buf *b, struct metrics *m, const struct table *t, struct metrics_shown *s);
void metrics_shown_free(struct metrics_shown *s);

/* "# TYPE NAME KIND" and "# HELP NAME TEXT" of a family, kind as OpenMetrics names it. */
void metrics_family(struct buf *b, enum metrics_form form, const char *name, const char *kind,
                    const char *help);
/* A label's value in quotes. Bytes that are not UTF-8 become \xNN. */
void metrics_label(struct buf *b, struct str value);
/* The labels that the path of a control group gives, with a comma before when *b is not empty. */
void metrics_cgroup(struct buf *b, const struct cgroup_names *n);

#endif
