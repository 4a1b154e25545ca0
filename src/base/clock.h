/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Times as one number. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

#include "base/base.h"

/* Nanoseconds on one of the kernel's clocks: CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME. */
static inline u64 clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/* Milliseconds of CLOCK_MONOTONIC, for what is done later or must not take longer. */
static inline u64 clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

#endif
