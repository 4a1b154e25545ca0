/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Looking in arrays that are sorted by a number. */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

#include "base/base.h"

/*
 * How many of the first `n` elements of `v` have a `member` that is not above `key`: the last of
 * these, if any, is the one that `key` lies in or after. `v` is sorted by `member` and may be NULL
 * when n is 0.
 */
#define SORTED_NOT_ABOVE(v, n, member, key)                                                        \
	({                                                                                         \
		__typeof__((v)[0].member) sought_ = (key);                                         \
		u32 low_ = 0, high_ = (n);                                                         \
		while (low_ < high_) {                                                             \
			u32 mid_ = low_ + (high_ - low_) / 2;                                      \
			if ((v)[mid_].member <= sought_)                                           \
				low_ = mid_ + 1;                                                   \
			else                                                                       \
				high_ = mid_;                                                      \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
