/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls and signals by number.
 */
#ifndef OUT_CALL_NAMES_H
#define OUT_CALL_NAMES_H

#include "base/base.h"

/* "read"; NULL for a number without a name. */
const char *call_names_syscall(u64 n);
/* "KILL"; NULL for a number without a name. */
const char *call_names_signal(u64 n);

#endif
