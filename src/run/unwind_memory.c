/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A list of free extents, first fit. There are few: tables are taken in big pieces and given back
 * rarely, so the list is searched from its start, and neighbours are joined when they are given.
 */
#include "run/unwind_memory.h"

#include <stdlib.h>
#include <string.h>

static void insert(struct unwind_memory *m, struct unwind_extent e)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 16;
		m->free = realloc(m->free, m->cap * sizeof(*m->free));
		if (!m->free)
			base_no_memory();
	}
	m->free[m->n++] = e;
}

static void drop(struct unwind_memory *m, u32 i)
{
	memmove(m->free + i, m->free + i + 1, (m->n - i - 1) * sizeof(*m->free));
	m->n--;
}

void unwind_memory_add(struct unwind_memory *m, u32 shelf, u32 n)
{
	for (u32 i = 0; i < n; i++)
		insert(m, (struct unwind_extent){ (u16)shelf, (u16)i, 0, UNWIND_CHUNK_UNITS });
	m->free_units += (u64)n * UNWIND_CHUNK_UNITS;
	m->all_units += (u64)n * UNWIND_CHUNK_UNITS;
}

static struct unwind_extent take(struct unwind_memory *m, u32 i, u32 units)
{
	struct unwind_extent *e = &m->free[i], out = *e;

	out.n = (u16)units;
	e->first = (u16)(e->first + units);
	e->n = (u16)(e->n - units);
	if (!e->n)
		drop(m, i);
	m->free_units -= units;
	return out;
}

bool unwind_memory_whole(struct unwind_memory *m, u32 units, struct unwind_extent *out)
{
	for (u32 i = 0; i < m->n; i++) {
		if (m->free[i].n >= units) {
			*out = take(m, i, units);
			return true;
		}
	}
	return false;
}

bool unwind_memory_some(struct unwind_memory *m, u32 units, struct unwind_extent *out)
{
	if (!m->n)
		return false;
	*out = take(m, 0, MIN(units, m->free[0].n));
	return true;
}

void unwind_memory_give(struct unwind_memory *m, struct unwind_extent e)
{
	m->free_units += e.n;
	for (u32 i = 0; i < m->n;) {
		struct unwind_extent *f = &m->free[i];
		bool beside = f->shelf == e.shelf && f->chunk == e.chunk;

		if (beside && f->first + f->n == e.first)
			e.first = f->first;
		else if (!beside || e.first + e.n != f->first) {
			i++;
			continue;
		}
		e.n = (u16)(e.n + f->n);
		drop(m, i);
	}
	insert(m, e);
}

void unwind_memory_free(struct unwind_memory *m)
{
	free(m->free);
	*m = (struct unwind_memory){ 0 };
}
