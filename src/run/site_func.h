/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The function of a probe by its address, once the process is gone that could tell where its files
 * were.
 */
#ifndef RUN_SITE_FUNC_H
#define RUN_SITE_FUNC_H

#include "base/str.h"
#include "unit/unit.h"

/* What the one probe is called whose function starts at that place of a page, as its name has it.
 * False when there is none, or several: files are mapped by whole pages, and only that much is
 * known. */
bool site_func(const struct unit *u, u64 addr, struct str *name);

#endif
