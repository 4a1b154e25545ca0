// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Records that are gathered (poll_ms) are read in bursts of some milliseconds. A reader that wakes
 * up for one is put before whoever runs on its processor, and a server that sleeps and wakes ten
 * thousand times a second then stands still until the burst is over: nobody moves to another
 * processor for so short a time. A yield now and then lets it go on, and costs less than it spares.
 * Not after every few records, though: to change places and back takes the reader some 4 us.
 *
 * But behind somebody who never sleeps a yield takes a whole slice of the scheduler's, 3 ms and
 * more. So there is none while much waits to be read, or when the reader has been behind for long:
 * it takes its own share then, as everybody does.
 */
#include "run/give_way.h"

#define SHARE  8u        /* of the ring: one part in so many may wait */
#define BEHIND 20000000u /* ns */

bool give_way_is_due(u64 waiting, u64 size, u64 behind_ns)
{
	return waiting <= size / SHARE && behind_ns <= BEHIND;
}
