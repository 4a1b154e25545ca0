/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How many commands come with a read of so many bytes; and from that, how many came with reads that
 * were lost, of which only number and bytes are known.
 *
 * Reads are kept apart by size, for what is lost is not what is common: a full ring has room for
 * small ones still. In each class commands are taken as so many a read, or so many a byte,
 * whichever the reads that were seen kept to more closely. Pure.
 */
#ifndef CACHE_ASKED_H
#define CACHE_ASKED_H

#include "base/base.h"

#define ASKED_CLASSES 6u /* below 64, 256, 1024, 4096, 16384 bytes, and above */

struct asked_class {
	double reads, bytes, commands;
	double bytes2, commands2, both; /* sums of squares, and of bytes * commands */
};

struct asked {
	struct asked_class of[ASKED_CLASSES];
};

struct asked_lost {
	u64 reads[ASKED_CLASSES], bytes[ASKED_CLASSES];
};

struct asked_guess {
	double commands;
	/* two times out of three it is off by less; as large as itself: nothing is known */
	double error;
};

u32 asked_class(u64 bytes);
void asked_add(struct asked *a, u64 bytes, u64 commands);
struct asked_guess asked_guess(const struct asked *a, const struct asked_lost *l);

#endif
