/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/huge.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* linux/mman.h of 6.1 */
#endif

/* How many of them are used by half. */
static size_t count(size_t used)
{
	return (used + HUGE_PAGE / 2) / HUGE_PAGE;
}

void huge_used(void *start, size_t size, size_t before, size_t used)
{
	int code = errno;

	for (size_t i = count(before); i < count(used) && i < size / HUGE_PAGE; i++)
		madvise((u8 *)start + i * HUGE_PAGE, HUGE_PAGE, MADV_COLLAPSE);
	errno = code;
}
