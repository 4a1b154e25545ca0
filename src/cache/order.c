/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one idea: a list by place in the stream. Segments are seldom out of order, and then few.
 */
#include "cache/order.h"

#include <stdlib.h>
#include <string.h>

struct order_piece {
	struct order_piece *next;
	struct wire_event e;
	u8 bytes[];
};

/* Places are numbers modulo 2^32: how far `a` is behind `b`. */
static s32 behind(u32 a, u32 b)
{
	return (s32)(a - b);
}

static u32 start_of(const struct wire_event *e)
{
	return e->at - (u32)e->total;
}

bool order_keep(struct order *o, const struct wire_event *e)
{
	struct order_piece **at = &o->first, *p;

	p = malloc(sizeof(*p) + e->n);
	if (!p)
		base_no_memory();
	memcpy(p->bytes, e->bytes, e->n);
	p->e = *e;
	p->e.bytes = p->bytes;
	while (*at && behind(start_of(&(*at)->e), start_of(e)) <= 0)
		at = &(*at)->next;
	p->next = *at;
	*at = p;
	o->n++;
	o->bytes += e->n;
	return o->n < ORDER_PIECES && o->bytes < ORDER_BYTES;
}

const struct wire_event *order_take(struct order *o, u32 at, bool any)
{
	struct order_piece *p = o->first;

	if (!p || (!any && behind(start_of(&p->e), at) > 0))
		return NULL;
	free(o->taken);
	o->taken = p;
	o->first = p->next;
	o->n--;
	o->bytes -= p->e.n;
	return &p->e;
}

void order_free(struct order *o)
{
	while (o->first) {
		struct order_piece *p = o->first;

		o->first = p->next;
		free(p);
	}
	free(o->taken);
	*o = (struct order){ 0 };
}

bool order_cut(struct wire_event *e, u32 at)
{
	s32 before = behind(at, start_of(e));
	u32 cut;

	if (before <= 0)
		return true;
	if ((u64)before >= e->total)
		return false;
	cut = MIN((u32)before, e->n);
	e->total -= (u32)before;
	e->bytes += cut;
	e->n -= cut;
	return true;
}
