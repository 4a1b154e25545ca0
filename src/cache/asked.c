// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Commands by reads; see asked.h. */
#include "cache/asked.h"

#include <math.h>

u32 asked_class(u64 bytes)
{
	u32 i = 0;

	for (u64 end = 64; i < ASKED_CLASSES - 1 && bytes >= end; end *= 4)
		i++;
	return i;
}

static void add(struct asked_class *c, double bytes, double commands)
{
	c->reads++;
	c->bytes += bytes;
	c->commands += commands;
	c->bytes2 += bytes * bytes;
	c->commands2 += commands * commands;
	c->both += bytes * commands;
}

void asked_add(struct asked *a, u64 bytes, u64 commands)
{
	add(&a->of[asked_class(bytes)], (double)bytes, (double)commands);
}

/* All classes, for one that was not seen. */
static struct asked_class sum(const struct asked *a)
{
	struct asked_class all = { 0 };

	for (u32 i = 0; i < ASKED_CLASSES; i++) {
		all.reads += a->of[i].reads;
		all.bytes += a->of[i].bytes;
		all.commands += a->of[i].commands;
	}
	return all;
}

/* Adds what `reads` lost ones of a class asked, and its variance. */
static void guess(struct asked_guess *g, const struct asked_class *c, double reads, double bytes)
{
	double a_read = c->commands / c->reads, a_byte = c->commands / c->bytes;
	double by_reads = c->commands2 / c->reads - a_read * a_read;
	double by_bytes = (c->commands2 - 2 * a_byte * c->both + a_byte * a_byte * c->bytes2) /
	                  c->reads;
	bool use_reads = by_reads <= by_bytes;
	double left = MAX(use_reads ? by_reads : by_bytes, 0);

	g->commands += use_reads ? reads * a_read : bytes * a_byte;
	/* That of the lost ones, and that of what is known of those seen. */
	g->error += reads * left * (1 + reads / c->reads);
}

struct asked_guess asked_guess(const struct asked *a, const struct asked_lost *l)
{
	struct asked_class all = sum(a);
	struct asked_guess g = { 0 };

	for (u32 i = 0; i < ASKED_CLASSES; i++) {
		double reads = (double)l->reads[i], bytes = (double)l->bytes[i], n, off;

		if (!l->reads[i])
			continue;
		if (a->of[i].reads > 1) {
			guess(&g, &a->of[i], reads, bytes);
			continue;
		}
		if (a->of[i].reads)
			n = reads * a->of[i].commands;
		else
			n = all.bytes > 0 ? bytes * all.commands / all.bytes : reads;
		off = MAX(n, reads);
		g.commands += n;
		g.error += off * off;
	}
	g.error = sqrt(g.error);
	return g;
}
