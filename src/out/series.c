/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A time series as a drawing that runs downwards: a line for each interval, a star where its
 * value lies between the smallest and the largest, a dot at zero.
 */
#include "out/series.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "out/value.h"

#define WIDTH 53u /* of the drawing, both edges included */

struct range {
	u32 first, last; /* intervals with a value */
	s64 low, high;
};

static s64 value_of(const struct cell *c, u32 i, u32 div)
{
	s64 v = (s64)c->buckets[i * 2 + 1];

	return div > 1 ? v / (s64)div : v;
}

static bool has_value(const struct cell *c, u32 i)
{
	return c->buckets[i * 2];
}

static bool find_range(const struct cell *c, u32 div, struct range *r)
{
	bool any = false;

	for (u32 i = 0; i < c->n_buckets; i++) {
		s64 v = value_of(c, i, div);

		if (!has_value(c, i))
			continue;
		if (!any)
			*r = (struct range){ i, i, v, v };
		r->last = i;
		r->low = MIN(r->low, v);
		r->high = MAX(r->high, v);
		any = true;
	}
	return any;
}

bool series_is_empty(const struct cell *c)
{
	struct range r;

	return !find_range(c, 1, &r);
}

/* Column of a value. */
static u32 column(const struct range *r, s64 v)
{
	unsigned __int128 span = (u64)r->high - (u64)r->low;

	return span ? (u32)((unsigned __int128)((u64)v - (u64)r->low) * (WIDTH - 1) / span) : 0;
}

static void print_scale(struct buf *b, const struct range *r)
{
	char low[32], high[32];

	snprintf(low, sizeof(low), "%" PRId64, r->low);
	snprintf(high, sizeof(high), "%" PRId64, r->high);
	buf_printf(b, "%13s%s", "", low);
	if (strlen(low) + strlen(high) < WIDTH)
		buf_fill(b, ' ', WIDTH - (u32)(strlen(low) + strlen(high)));
	buf_printf(b, "%s\n", high);
}

static void print_edge(struct buf *b, const char *head, char corner)
{
	buf_printf(b, "%-13s%c", head, corner);
	buf_fill(b, '_', WIDTH - 2);
	buf_printf(b, "%c\n", corner);
}

u64 series_time(const struct out *o, const struct type *t, const struct cell *c, u32 i)
{
	return ((u64)c->n + i) * (u64)t->step + o->namer->boot_to_real;
}

static void print_line(struct buf *b, const struct out *o, const struct type *t,
                       const struct cell *c, const struct range *r, u32 i, u32 div)
{
	u64 at = series_time(o, t, c, i);
	char line[WIDTH + 1];

	value_time(b, "%H:%M:%S", at);
	buf_printf(b, ".%03u ", (u32)(at / 1000000 % 1000));
	memset(line, ' ', WIDTH);
	line[0] = line[WIDTH - 1] = '|';
	line[WIDTH] = 0;
	if (r->low < 0 && r->high > 0)
		line[column(r, 0)] = '.';
	if (has_value(c, i))
		line[column(r, value_of(c, i, div))] = '*';
	buf_puts(b, line);
	if (has_value(c, i))
		buf_printf(b, " %" PRId64, value_of(c, i, div));
	buf_putc(b, '\n');
}

void series_print(struct buf *b, const struct out *o, const struct type *t, const struct cell *c,
                  u32 div)
{
	struct range r;

	if (!find_range(c, div, &r))
		return;
	print_scale(b, &r);
	print_edge(b, "hh:mm:ss.ms", '|');
	for (u32 i = r.first; i <= r.last; i++)
		print_line(b, o, t, c, &r, i, div);
	print_edge(b, "", 'v');
	print_scale(b, &r);
}
