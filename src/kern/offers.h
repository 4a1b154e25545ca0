/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the running kernel offers to tracing programs, for people: `memtap --info`. */
#ifndef KERN_OFFERS_H
#define KERN_OFFERS_H

#include "base/base.h"

/* Calls back for each thing that is asked for, group by group. Takes some 30 loads of small
 * programs and maps; without the right to load any, nothing is there. */
void offers_each(void (*cb)(void *ctx, const char *group, const char *name, bool there), void *ctx);

#endif
