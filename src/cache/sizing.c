/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What follows from the sizes and uses of a cache's entries; see sizing.h. */
#include "cache/sizing.h"

#include <stdio.h>
#include <string.h>

#define NEARLY_ALL 0.999 /* the end of the curve: what comes after it are single hits */

u64 sizing_taken(const struct sizing *s, u64 size)
{
	return size > UINT64_MAX - s->o.overhead ? UINT64_MAX
	                                         : alloc_bytes(s->o.alloc, size + s->o.overhead);
}

static struct sizing_memory memory_of(const struct sizing *s, double entries)
{
	if (s->o.how)
		return (struct sizing_memory){
			.entries = (u64)entries,
			.mean = entries * sizes_mean(&s->taken),
			.p95 = entries * (double)sizes_at(&s->taken, 0.95),
			.p99 = entries * (double)sizes_at(&s->taken, 0.99),
		};
	return (struct sizing_memory){
		.entries = (u64)entries,
		.mean = entries * sizes_taken(&s->sizes, s->o.alloc, s->o.overhead),
		.p95 = entries * (double)sizing_taken(s, sizes_at(&s->sizes, 0.95)),
		.p99 = entries * (double)sizing_taken(s, sizes_at(&s->sizes, 0.99)),
	};
}

u32 sizing_memory(const struct sizing *s, struct sizing_memory rows[SIZING_ROWS])
{
	u64 wanted = s->o.entries;
	u32 n = 0;

	for (u64 entries = 1000; entries <= 1000000; entries *= 10) {
		if (wanted && wanted <= entries) {
			if (wanted < entries)
				rows[n++] = memory_of(s, (double)wanted);
			wanted = 0;
		}
		rows[n++] = memory_of(s, (double)entries);
	}
	if (wanted)
		rows[n++] = memory_of(s, (double)wanted);
	return n;
}

struct sizing_memory sizing_fits(const struct sizing *s)
{
	struct sizing_memory one = memory_of(s, 1);
	double limit = (double)s->o.limit;

	return (struct sizing_memory){
		.mean = one.mean > 0 ? (double)(u64)(limit / one.mean) : 0,
		.p95 = one.p95 > 0 ? (double)(u64)(limit / one.p95) : 0,
		.p99 = one.p99 > 0 ? (double)(u64)(limit / one.p99) : 0,
	};
}

/* ---- the curve ---- */

static struct sizing_point point_at(const struct sizing *s, double entries, const char *mark)
{
	double most = shards_hits_most(s->shards), hits = shards_hits(s->shards, entries);

	return (struct sizing_point){
		.entries = entries,
		.bytes = most > 0 ? shards_bytes(s->shards, MIN(hits / most, 1) * (1 - 1e-9)) : 0,
		.hits = hits,
		.error = shards_error(s->shards, entries),
		.mark = mark,
	};
}

struct sizing_point sizing_share(const struct sizing *s, double share)
{
	return point_at(s, shards_entries(s->shards, share),
	                share == 0.95 ? "95 % of the hits" : NULL);
}

struct sizing_point sizing_knee(const struct sizing *s)
{
	return point_at(s, shards_knee(s->shards), "knee");
}

/* Puts a point at its place. One without a mark is left out where it would say the same again. */
static void curve_put(struct sizing_point *points, u32 *n, struct sizing_point p)
{
	u32 i = *n;

	if (*n == SIZING_POINTS)
		return;
	for (u32 j = 0; j < *n && !p.mark; j++)
		if (p.entries > points[j].entries * 0.96 && p.entries < points[j].entries * 1.04)
			return;
	for (; i && points[i - 1].entries > p.entries; i--)
		points[i] = points[i - 1];
	points[i] = p;
	++*n;
}

u32 sizing_curve(const struct sizing *s, struct sizing_point points[SIZING_POINTS])
{
	static const u32 steps[] = { 1, 2, 5 };
	double end, first;
	u32 n = 0;

	if (!s->shards || !(shards_hits_most(s->shards) > 0))
		return 0;
	end = shards_entries(s->shards, NEARLY_ALL);
	first = MAX(shards_entries(s->shards, 0.02), end / 100000);
	curve_put(points, &n, sizing_knee(s));
	curve_put(points, &n, sizing_share(s, 0.95));
	curve_put(points, &n, point_at(s, end, "no more to gain"));
	for (u64 power = 1; (double)power < end; power *= 10)
		for (u32 i = 0; i < ARRAY_SIZE(steps); i++) {
			double at = (double)(power * steps[i]);

			if (at >= first && at < end)
				curve_put(points, &n, point_at(s, at, NULL));
		}
	return n;
}

/* ---- numbers ---- */

void sizing_print_bytes(struct buf *b, double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	u32 i = 0;

	while (bytes >= 1023.5 && i + 1 < ARRAY_SIZE(units)) {
		bytes /= 1024;
		i++;
	}
	buf_printf(b, i && bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes, units[i]);
}

void sizing_print_count(struct buf *b, double n)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%.0f", n < 1e18 ? n : 1e18);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_putc(b, ',');
		buf_putc(b, digits[i]);
	}
}
