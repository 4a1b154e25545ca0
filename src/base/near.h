/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The nearest name for a misspelt one. */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

#include "base/base.h"

/* The nearest of many names: start with what is wanted, offer names, ask for the best: NULL when
 * none is near, that is when more than a third of the letters differ. */
struct near {
	const char *want;
	char best[128];
	u32 distance;
};
void near_init(struct near *n, const char *want);
void near_offer(struct near *n, const char *name);
const char *near_best(const struct near *n);

#endif
