/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Aggregations: count() and its family, the right side of @m = f(...).
 */
#include "lang/infer/infer.h"

#include <string.h>

#include "unit/bucket.h"

#define SERIES_INTERVALS 1000u

static const enum type_kind kinds[] = {
#define A(id, ...) [FUNC_##id] = TYPE_##id,
	AGGREGATIONS(A)
#undef A
};

static bool hist_bits(struct infer *in, struct node *n, struct type *t)
{
	s64 bits = 0;

	if (n->call.n_args < 2)
		return true;
	if (!infer_literal_int(in, n, 1, &bits))
		return false;
	if (bits < 0 || bits > (s64)BUCKET_HIST_BITS_MAX) {
		infer_error(in, infer_arg(n, 1)->loc, "hist() takes 0 to %u bits, not %lld",
		            BUCKET_HIST_BITS_MAX, (long long)bits);
		return false;
	}
	t->bits = (u32)bits;
	return true;
}

static bool lhist_bounds(struct infer *in, struct node *n, struct type *t)
{
	u64 span;

	if (!infer_literal_int(in, n, 1, &t->min) || !infer_literal_int(in, n, 2, &t->max) ||
	    !infer_literal_int(in, n, 3, &t->step))
		return false;
	if (t->step <= 0) {
		infer_error(in, infer_arg(n, 3)->loc, "the step of lhist() must be above 0");
		return false;
	}
	if (t->min >= t->max) {
		infer_error(in, infer_arg(n, 1)->loc,
		            "the lower bound of lhist() (%lld) must be below the upper (%lld)",
		            (long long)t->min, (long long)t->max);
		return false;
	}
	span = (u64)t->max - (u64)t->min;
	if (span > (u64)INT64_MAX - (u64)t->step ||
	    (span + (u64)t->step - 1) / (u64)t->step > BUCKET_LHIST_MAX) {
		infer_error(in, n->loc, "lhist() has more than %u buckets", BUCKET_LHIST_MAX);
		return false;
	}
	return true;
}

/* tseries(n, interval, how many[, "avg"]) */
static bool series_shape(struct infer *in, struct node *n, struct type *t)
{
	static const char *const names[] = { [SERIES_AVG] = "avg",
		                             [SERIES_MAX] = "max",
		                             [SERIES_MIN] = "min",
		                             [SERIES_SUM] = "sum" };
	const char *name;

	if (!infer_literal_int(in, n, 1, &t->step) || !infer_literal_int(in, n, 2, &t->max))
		return false;
	if (t->step < 1)
		infer_error(in, infer_arg(n, 1)->loc, "the interval of tseries() must be above 0");
	if (t->max < 1 || t->max > SERIES_INTERVALS)
		infer_error(in, infer_arg(n, 2)->loc, "tseries() keeps 1 to %u intervals, not %lld",
		            SERIES_INTERVALS, (long long)t->max);
	if (t->step < 1 || t->max < 1 || t->max > SERIES_INTERVALS)
		return false;
	if (n->call.n_args < 4)
		return true;
	name = infer_literal(in, n, 3);
	for (u32 i = SERIES_AVG; name && i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0) {
			t->bits = i;
			return true;
		}
	if (name) {
		infer_error(in, infer_arg(n, 3)->loc, "tseries() can not keep '%s'", name);
		infer_hint(in, "use one of avg, max, min, sum");
	}
	return false;
}

/* The sign that is shown follows the argument; a literal above 0 has none worth keeping. */
static bool cell_signed(const struct node *n)
{
	if (n->kind == NODE_INT)
		return n->type->is_signed;
	return n->type->kind == TYPE_INT && n->type->is_signed;
}

static bool is_agg_call(const struct node *n)
{
	return n->kind == NODE_CALL && n->call.f && n->call.f->agg;
}

static const struct node *first_agg(const struct node *n)
{
	if (n->kind != NODE_TUPLE)
		return is_agg_call(n) ? n : NULL;
	for (const struct node *e = n->tuple.items; e; e = e->next)
		if (is_agg_call(e))
			return e;
	return NULL;
}

bool infer_is_agg(const struct node *n)
{
	return first_agg(n);
}

const char *infer_agg_name(const struct node *n)
{
	return first_agg(n)->call.f->name;
}

/* NULL after an error. */
static const struct type *one_of_several(struct infer *in, struct node *n)
{
	const struct type *t;

	if (!is_agg_call(n))
		return infer_error(in, n->loc,
		                   "beside an aggregation there is room for others only: count(), "
		                   "sum(), min(), max(), avg()");
	t = n->type = infer_agg(in, n);
	if (!t || t->kind <= TYPE_AVG)
		return t;
	infer_error(in, n->loc, "%s() can not be one of several aggregations", n->call.f->name);
	infer_hint(in, t->kind == TYPE_STATS ? "name them: (n=count(), sum=sum(x), mean=avg(x))"
	                                     : "give it a map of its own");
	return NULL;
}

/* (bytes=sum(n), calls=count()) */
static const struct type *several(struct infer *in, struct node *n)
{
	const struct type **types = arena_array(in->arena, const struct type *, n->tuple.n);
	const char **names = arena_array(in->arena, const char *, n->tuple.n);
	bool known = true;
	u32 i = 0;

	if (!n->tuple.names) {
		infer_error(in, n->loc, "several aggregations need names");
		infer_hint(in, "write (bytes=sum(n), calls=count())");
		return NULL;
	}
	if (n->tuple.n > UNIT_AGGS)
		return infer_error(in, n->loc, "a map's value has at most %u aggregations",
		                   UNIT_AGGS);
	for (struct node *e = n->tuple.items; e; e = e->next, i++) {
		types[i] = one_of_several(in, e);
		known &= types[i] != NULL;
		names[i] = infer_text(in, n->tuple.names[i]);
	}
	return known ? type_aggs(in->arena, types, names, i) : NULL;
}

const struct type *infer_agg(struct infer *in, struct node *n)
{
	const struct func *f = n->call.f;
	struct type *t;

	if (n->kind == NODE_TUPLE)
		return several(in, n);
	t = arena_new(in->arena, struct type);
	if (n->call.n_args < f->min_args || n->call.n_args > f->max_args)
		return infer_call(in, n); /* reports the count */
	t->kind = kinds[f->id];
	t->size = type_slot(type_plain(in->arena, t->kind));
	if (t->kind == TYPE_COUNT || !n->call.args)
		return t;
	for (struct node *a = n->call.args; a && (t->kind != TYPE_TSERIES || a != infer_arg(n, 3));
	     a = a->next)
		if (!infer_integer_arg(in, a, f->name))
			return NULL;
	t->is_signed = cell_signed(n->call.args);
	if (t->kind == TYPE_HIST && !hist_bits(in, n, t))
		return NULL;
	if (t->kind == TYPE_LHIST && !lhist_bounds(in, n, t))
		return NULL;
	if (t->kind == TYPE_TSERIES && !series_shape(in, n, t))
		return NULL;
	if (t->kind == TYPE_HIST || t->kind == TYPE_LHIST || t->kind == TYPE_TSERIES)
		t->size = type_cell(t);
	return t;
}
