/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* /proc/PID/stat. */
#ifndef READ_PROCSTAT_H
#define READ_PROCSTAT_H

#include "base/base.h"

/* When the process began, in clock ticks (sysconf(_SC_CLK_TCK)) since boot: with its number it
 * names one process for good. 0 when there is none. */
u64 procstat_started(u32 pid);

#endif
