/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the running kernel offers to tracing programs, for people: `memtap --info`. */
#ifndef KERN_OFFERS_H
#define KERN_OFFERS_H

#include "base/base.h"

enum offer {
	OFFER_NO,
	OFFER_YES,
	OFFER_UNKNOWN, /* the kernel does not answer this user */
};

typedef void offers_fn(void *ctx, const char *group, const char *name, enum offer offer);

/* Calls back for each thing that is asked for, group by group. Takes some 60 loads of small
 * programs and maps; to a user without the right to load any, most is not known. iterator: the BTF
 * id of an iterator of the kernel, for which tracing programs are tried; 0: there is none. */
void offers_each(u32 iterator, offers_fn *cb, void *ctx);

#endif
