/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rates that forget: one number and its time, brought up to date when it is looked at. */
#include "agg/rate.h"

#define LN2 0.69314718055994531

#define QUICK 0.02 /* halvings; what the short series leaves out is less than 5e-12 of it */

/* 2^-x for x >= 0, to nine digits: whole halvings, and the series of e^-y for what is left; of what
 * is hot, it is little, and five terms without a division will do. */
static double halved(double x)
{
	u32 whole;
	double y, term = 1, sum = 1;

	if (x < QUICK) { /* as between two hits of a hot key */
		y = -LN2 * x;
		return 1 + y * (1 + y * (1. / 2 + y * (1. / 6 + y * (1. / 24))));
	}
	if (!(x < 1000))
		return 0;
	whole = (u32)x;
	y = -LN2 * (x - whole);
	for (int i = 1; i < 13 && (term > 1e-11 || term < -1e-11); i++) {
		term *= y / i;
		sum += term;
	}
	for (; whole >= 63; whole -= 63)
		sum /= 1ull << 63;
	return sum / (double)(1ull << whole);
}

void rate_hit(struct rate *r, u64 time, u64 half, double weight)
{
	r->value = rate_at(r, time, half) + weight * LN2 / (double)half;
	r->time = MAX(r->time, time);
}

double rate_at(const struct rate *r, u64 time, u64 half)
{
	u64 passed = time > r->time ? time - r->time : 0;

	return r->value ? r->value * halved((double)passed / (double)half) : 0;
}
