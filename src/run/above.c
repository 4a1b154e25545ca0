/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/above.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_LIMIT (64u << 10) /* of a map that is never printed */

static void reach(struct above *a, u32 map)
{
	struct buf *texts;

	if (map < a->n)
		return;
	texts = realloc(a->texts, (map + 1) * sizeof(*texts));
	if (!texts)
		base_no_memory();
	memset(texts + a->n, 0, (map + 1 - a->n) * sizeof(*texts));
	a->texts = texts;
	a->n = map + 1;
}

struct buf *above_add(struct above *a, u32 map)
{
	reach(a, map);
	if (a->texts[map].n > TEXT_LIMIT)
		buf_reset(&a->texts[map]);
	return &a->texts[map];
}

void above_print(struct above *a, u32 map, const struct buf *table, struct buf *to)
{
	struct buf *text = map < a->n ? &a->texts[map] : NULL;

	if (text && table->n)
		buf_add(to, text->p, text->n);
	if (text)
		buf_reset(text);
	buf_add(to, table->p, table->n);
}

void above_free(struct above *a)
{
	for (u32 i = 0; i < a->n; i++)
		buf_free(&a->texts[i]);
	free(a->texts);
	*a = (struct above){ 0 };
}
