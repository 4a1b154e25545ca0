/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The name a user probably meant: the one with the least edit distance. Never allocates. */
#include "base/near.h"

#include <stdio.h>
#include <string.h>

void near_init(struct near *n, const char *want)
{
	n->want = want;
	n->best[0] = 0;
	n->distance = UINT32_MAX;
}

/*
 * Edit distance of strings up to 127 bytes. Letters left out are the cheapest mistake ("cnt" is
 * nearer to "count" than to "cat"), one letter for another the worst.
 */
#define COST_LEFT_OUT 3u
#define COST_TOO_MANY 4u
#define COST_WRONG    7u
#define COST_LIMIT    4u /* for each three letters, and once more */

static u32 edit_distance(const char *want, u32 nw, const char *name, u32 nn)
{
	u32 row[128];

	for (u32 j = 0; j <= nn; j++)
		row[j] = j * COST_LEFT_OUT;
	for (u32 i = 1; i <= nw; i++) {
		u32 diagonal = row[0];

		row[0] = i * COST_TOO_MANY;
		for (u32 j = 1; j <= nn; j++) {
			u32 both = diagonal + (want[i - 1] == name[j - 1] ? 0 : COST_WRONG);

			diagonal = row[j];
			row[j] = MIN(both, MIN(row[j] + COST_TOO_MANY, row[j - 1] + COST_LEFT_OUT));
		}
	}
	return row[nn];
}

void near_offer(struct near *n, const char *name)
{
	size_t na = strlen(n->want), nb = strlen(name);
	u32 d;

	if (na > 127 || nb > 127 || nb == 0)
		return;
	d = edit_distance(n->want, (u32)na, name, (u32)nb);
	if (d < n->distance) {
		n->distance = d;
		snprintf(n->best, sizeof(n->best), "%s", name);
	}
}

const char *near_best(const struct near *n)
{
	u32 limit = ((u32)strlen(n->want) / 3 + 1) * COST_LIMIT;

	return n->best[0] && n->distance <= limit ? n->best : NULL;
}
