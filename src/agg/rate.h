/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rates that forget. */
#ifndef AGG_RATE_H
#define AGG_RATE_H

#include "base/base.h"

/*
 * A rate that forgets: a hit counts half after `half`, a quarter after twice that, and so on, so
 * that with steady hits it is their rate. Times are in any unit that does not run backwards; the
 * rate is in hits per that unit. All zero is a rate of 0.
 */
struct rate {
	double value;
	u64 time; /* of the last change */
};
void rate_hit(struct rate *r, u64 time, u64 half, double weight);
double rate_at(const struct rate *r, u64 time, u64 half);

#endif
