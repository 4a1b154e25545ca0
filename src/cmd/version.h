/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What this memtap is: its version, the commit it was made from, and what it can do here. */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

#include "base/base.h"

/* Of the source, 12 digits; "+" when files were changed since, "unknown" without git. */
const char *version_commit(void);
/* Calls fn for each thing that needs a library: linked in, or installed on this machine? */
void version_features(void (*fn)(void *ctx, const char *name, bool there), void *ctx);
/* "shared libraries" or "one file": where those come from. */
const char *version_form(void);
/* Prints it all, for --version. Returns 0. */
int version_print(void);

#endif
