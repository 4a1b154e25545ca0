/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the kernel says of itself in text. */
#ifndef BASE_KERNEL_H
#define BASE_KERNEL_H

#include "base/base.h"

/* Of the kernel that runs, by uname(2): KERNEL_VERSION(6, 1, 13), its last part at most 255; 0 when
 * it can not be understood. */
u32 kernel_version(void);

/* The next range of a list like "0-3,8" (cpulist of Linux's bitmaps), behind which *list is moved.
 * False at its end, and at what is no range. */
bool kernel_next_range(const char **list, u32 *first, u32 *last);

#endif
