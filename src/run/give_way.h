/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A reader that lets those go first whom it looks at. */
#ifndef RUN_GIVE_WAY_H
#define RUN_GIVE_WAY_H

#include "base/base.h"

#define GIVE_WAY_RECORDS 64u /* read between two yields */

/*
 * May the reader of a ring yield? `waiting` of `size` bytes are to be read, and for `ms`
 * milliseconds the ring has not been empty.
 */
bool give_way_is_due(u64 waiting, u64 size, u64 ms);

#endif
