/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What `memtap serve` and its collectors give up before the first of them begins: rights that none
 * of them needs to begin again, and system calls that none makes, by libseccomp, loaded for it.
 */
#ifndef CMD_SERVE_CONFINE_H
#define CMD_SERVE_CONFINE_H

#include "base/err.h"

/* False and *e: system calls are not limited. Rights are in any case. */
bool confine(struct err *e);

#endif
