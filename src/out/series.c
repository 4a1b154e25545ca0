/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A time series as a drawing that runs downwards: a line for each interval, a star where its
 * value lies between the smallest and the largest, a dot at zero, a dash where there is no value.
 * From the first interval with a value to the newest of the map.
 */
#include "out/series.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "out/value.h"

#define WIDTH 53u /* of the drawing, both edges included */

/* Columns for the number at the left end of the scale. */
#define LEFT 21

struct range {
	u32 first; /* interval with a value */
	u64 low, high;
	bool is_signed;
};

/* How finely times are written, by the length of an interval. */
static const struct unit_shown {
	u64 ns;
	const char *head;
	u32 digits; /* after the seconds */
	u32 width;  /* of the column of times, bytes of `head` */
} units_shown[] = {
	{ 1000000000, "hh:mm:ss", 0, 9 },
	{ 1000000, "hh:mm:ss.ms", 3, 13 },
	{ 1000, "hh:mm:ss.μs", 6, 16 },
	{ 0, "hh:mm:ss.ns", 9, 19 },
};

u64 series_value(const struct type *t, const struct cell *c, u32 i, u32 div)
{
	u64 v = c->buckets[i * 2 + 1];

	if (div <= 1)
		return v;
	return t->is_signed ? (u64)((s64)v / (s64)div) : v / div;
}

static bool has_value(const struct cell *c, u32 i)
{
	return c->buckets[i * 2];
}

/* Orders as unsigned numbers, and keeps distances. */
static u64 rank(const struct range *r, u64 v)
{
	return r->is_signed ? v + ((u64)1 << 63) : v;
}

static bool find_range(const struct cell *c, const struct type *t, u32 div, struct range *r)
{
	bool any = false;

	for (u32 i = 0; i < c->n_buckets; i++) {
		u64 v = series_value(t, c, i, div);

		if (!has_value(c, i))
			continue;
		if (!any)
			*r = (struct range){ i, v, v, t->is_signed };
		if (rank(r, v) < rank(r, r->low))
			r->low = v;
		if (rank(r, v) > rank(r, r->high))
			r->high = v;
		any = true;
	}
	return any;
}

/* One value is in the middle of the scale. */
static void widen(struct range *r)
{
	if (r->low != r->high)
		return;
	if (rank(r, r->low))
		r->low--;
	if (rank(r, r->high) != UINT64_MAX)
		r->high++;
}

bool series_is_empty(const struct cell *c)
{
	for (u32 i = 0; i < c->n_buckets; i++)
		if (has_value(c, i))
			return false;
	return true;
}

/* Column of a value, of so many. */
static u32 column(const struct range *r, u64 v, u32 width)
{
	return (u32)((unsigned __int128)(v - r->low) * width / (r->high - r->low));
}

static const struct unit_shown *unit_of(const struct type *t, u32 n_lines)
{
	u64 interval = n_lines > 1 ? (u64)t->step : 0;
	const struct unit_shown *unit = units_shown;

	while (interval < unit->ns)
		unit++;
	return unit;
}

static void print_number(struct buf *b, const struct range *r, u64 v)
{
	if (r->is_signed)
		buf_printf(b, "%" PRId64, (s64)v);
	else
		buf_printf(b, "%" PRIu64, v);
}

static void print_scale(struct buf *b, const struct unit_shown *unit, const struct range *r)
{
	struct buf low = { 0 }, high = { 0 };

	print_number(&low, r, r->low);
	print_number(&high, r, r->high);
	buf_printf(b, "%*s%-*s%*s\n", (int)unit->width, "", LEFT, buf_text(&low), (int)WIDTH - LEFT,
	           buf_text(&high));
	buf_free(&low);
	buf_free(&high);
}

static void print_edge(struct buf *b, const struct unit_shown *unit, const char *head, char corner)
{
	buf_printf(b, "%-*s%c", (int)unit->width, head, corner);
	buf_fill(b, '_', WIDTH - 2);
	buf_printf(b, "%c\n", corner);
}

u64 series_time(const struct out *o, const struct type *t, const struct cell *c, u32 i)
{
	return ((u64)c->n + i) * (u64)t->step + o->namer->boot_to_real;
}

static void print_time(struct buf *b, const struct unit_shown *unit, u64 at)
{
	char fraction[10];

	value_time(b, "%H:%M:%S", at);
	snprintf(fraction, sizeof(fraction), "%09u", (u32)(at % 1000000000));
	if (unit->digits)
		buf_printf(b, ".%.*s", (int)unit->digits, fraction);
	buf_putc(b, ' ');
}

static void print_line(struct buf *b, const struct type *t, const struct cell *c,
                       const struct range *r, u32 i, u32 div)
{
	u64 v = series_value(t, c, i, div);
	char line[WIDTH + 1];

	memset(line, ' ', WIDTH);
	line[0] = line[WIDTH - 1] = '|';
	line[WIDTH] = 0;
	if (r->is_signed && (s64)r->low < 0 && (s64)r->high > 0 && column(r, 0, WIDTH))
		line[column(r, 0, WIDTH)] = '.';
	if (has_value(c, i))
		line[column(r, v, WIDTH - 1)] = '*';
	buf_printf(b, "%s ", line);
	if (has_value(c, i))
		print_number(b, r, v);
	else
		buf_putc(b, '-');
	buf_putc(b, '\n');
}

void series_print(struct buf *b, const struct out *o, const struct type *t, const struct cell *c,
                  u32 div)
{
	const struct unit_shown *unit;
	struct range r;

	if (!find_range(c, t, div, &r)) {
		buf_puts(b, "<no data>");
		return;
	}
	widen(&r);
	unit = unit_of(t, c->n_buckets - r.first);
	print_scale(b, unit, &r);
	print_edge(b, unit, unit->head, '|');
	for (u32 i = r.first; i < c->n_buckets; i++) {
		print_time(b, unit, series_time(o, t, c, i));
		print_line(b, t, c, &r, i, div);
	}
	print_edge(b, unit, "", 'v');
	print_scale(b, unit, &r);
}
