/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The distribution of sizes in cells of eight binary digits; see sizes.h. */
#include "agg/sizes.h"

#define NARROW 32u /* as many times the 5th percentile as the 95th may be for equal steps */

static u32 log2_floor(u64 n)
{
	return 63 - (u32)__builtin_clzll(n | 1);
}

static u32 cell_of(u64 size)
{
	u32 l = log2_floor(size);

	if (l <= SIZES_BITS)
		return (u32)size;
	return ((l - SIZES_BITS) << SIZES_BITS) + (u32)(size >> (l - SIZES_BITS));
}

static u64 cell_low(u32 cell)
{
	u32 level = cell >> SIZES_BITS;

	if (level <= 1)
		return cell;
	return (u64)(cell - ((level - 1) << SIZES_BITS)) << (level - 1);
}

static u64 cell_width(u32 cell)
{
	u32 level = cell >> SIZES_BITS;

	return level <= 1 ? 1 : 1ull << (level - 1);
}

static u64 cell_middle(u32 cell)
{
	return cell_low(cell) + (cell_width(cell) - 1) / 2;
}

static void count(struct sizes *s, u64 size, u64 n, u64 least, u64 most)
{
	s->min = s->n ? MIN(s->min, least) : least;
	s->max = MAX(s->max, most);
	s->n += n;
	s->cells[cell_of(size)] += n;
}

void sizes_add(struct sizes *s, u64 size, u64 n)
{
	if (!n)
		return;
	count(s, size, n, size, size);
	s->sum += (double)size * (double)n;
}

void sizes_add_coarse(struct sizes *s, u64 size, u64 n)
{
	u32 cell = cell_of(size);

	if (!n)
		return;
	count(s, size, n, cell_low(cell), cell_low(cell) + cell_width(cell) - 1);
	s->sum += (double)cell_middle(cell) * (double)n;
}

double sizes_mean(const struct sizes *s)
{
	return s->n ? s->sum / (double)s->n : 0;
}

u64 sizes_at(const struct sizes *s, double share)
{
	double wanted = share * (double)s->n;
	u64 seen = 0;

	if (!s->n)
		return 0;
	for (u32 i = 0; i < SIZES_CELLS && share < 1; i++) {
		seen += s->cells[i];
		if (s->cells[i] && (double)seen >= wanted)
			return MAX(MIN(cell_middle(i), s->max), s->min);
	}
	return s->max;
}

double sizes_taken(const struct sizes *s, enum alloc a, u64 extra)
{
	double sum = 0;

	if (!s->n)
		return 0;
	if (a == ALLOC_NONE)
		return sizes_mean(s) + (double)extra;
	for (u32 i = 0; i < SIZES_CELLS; i++)
		if (s->cells[i])
			sum += (double)s->cells[i] * (double)alloc_bytes(a, cell_middle(i) + extra);
	return sum / (double)s->n;
}

/* ---- rows ---- */

/* How rows follow each other: equal steps; or so many for each power of two; or each of so many
 * powers of two. */
struct cut {
	u64 step;
	u32 parts, powers;
};

/* Where the row that holds `size` begins. */
static u64 row_low(const struct cut *c, u64 size)
{
	u32 l = log2_floor(size);
	u64 unit;

	if (c->step)
		return size - size % c->step;
	if (size <= 1)
		return size;
	if (c->powers)
		return 1ull << (l - l % c->powers);
	unit = MAX((1ull << l) / MAX(c->parts, 1u), 1);
	return size - size % unit;
}

/* Where the row that begins at `low` ends; 2^64 - 1 for the last one. */
static u64 row_high(const struct cut *c, u64 low)
{
	u32 l = log2_floor(low);

	if (c->step)
		return low > UINT64_MAX - c->step ? UINT64_MAX : low + c->step;
	if (!low)
		return 1;
	if (c->powers)
		return l + c->powers > 63 ? UINT64_MAX : 1ull << (l + c->powers);
	if (l == 63)
		return UINT64_MAX;
	return low + MAX((1ull << l) / MAX(c->parts, 1u), 1);
}

/* Rows from the smallest to the largest, no more than one too many. */
static u32 row_count(const struct cut *c, const struct sizes *s)
{
	u32 n = 1;

	for (u64 low = row_low(c, s->min); n <= SIZES_ROWS; n++) {
		u64 high = row_high(c, low);

		if (high > s->max || high == UINT64_MAX)
			break;
		low = high;
	}
	return n;
}

/* A step of a power of two falls on the edges of cells, as long as it is not finer. */
static struct cut cut_steps(const struct sizes *s)
{
	struct cut c = { .step = cell_width(cell_of(s->max)) };

	while (row_count(&c, s) > SIZES_ROWS)
		c.step *= 2;
	return c;
}

static struct cut cut_powers(const struct sizes *s)
{
	struct cut c = { .parts = 4 };

	while (c.parts > 1 && row_count(&c, s) > SIZES_ROWS)
		c.parts /= 2;
	while (row_count(&c, s) > SIZES_ROWS)
		c.powers++;
	return c;
}

u32 sizes_rows(const struct sizes *s, struct sizes_row rows[SIZES_ROWS])
{
	u64 p95 = sizes_at(s, 0.95), p5 = sizes_at(s, 0.05);
	struct cut c;
	u32 n, cell = 0;

	if (!s->n)
		return 0;
	c = p95 / NARROW <= p5 && s->max / NARROW <= p95 ? cut_steps(s) : cut_powers(s);
	n = row_count(&c, s);
	for (u32 i = 0; i < n; i++) {
		u64 low = i ? rows[i - 1].high : row_low(&c, s->min);

		rows[i] = (struct sizes_row){ .low = low, .high = row_high(&c, low) };
		for (; cell < SIZES_CELLS && (i + 1 == n || cell_low(cell) < rows[i].high); cell++)
			rows[i].n += s->cells[cell];
	}
	return n;
}
