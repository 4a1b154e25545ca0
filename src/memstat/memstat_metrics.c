/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What memstat reads, as metrics. */
#include "memstat/memstat.h"

#include <inttypes.h>

static const char *unit_end(const struct column *c)
{
	return c->unit == UNIT_BYTES ? "_bytes" : c->unit == UNIT_PAGES ? "_pages" : "";
}

struct page {
	struct buf *b;
	enum metrics_form form;
};

static void add_total(void *ctx, const struct column *c, u64 n)
{
	struct page *p = ctx;
	struct buf name = { 0 };
	bool counts = c->type == COLUMN_COUNTER;

	buf_printf(&name, "memory_%s%s", c->name, unit_end(c));
	metrics_family(p->b, p->form, buf_text(&name), counts ? "counter" : "gauge", c->help);
	buf_printf(p->b, "%s%s %" PRIu64 "\n", buf_text(&name), counts ? "_total" : "", n);
	buf_free(&name);
}

void memstat_metrics(struct buf *b, enum metrics_form form, const struct memstat *m)
{
	struct page p = { b, form };
	const char *stalled = "memory_pressure_seconds";

	memstat_each_total(m, add_total, &p);
	if (!m->pressure.known)
		return;
	metrics_family(b, form, stalled, "counter", "Time in which processes waited for memory.");
	buf_printf(b, "%s_total{kind=\"some\"} %" PRIu64 ".%06u\n", stalled,
	           m->pressure.some_us / 1000000, (u32)(m->pressure.some_us % 1000000));
	buf_printf(b, "%s_total{kind=\"full\"} %" PRIu64 ".%06u\n", stalled,
	           m->pressure.full_us / 1000000, (u32)(m->pressure.full_us % 1000000));
}
