/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A reader that lets those go first whom it looks at. */
#ifndef RUN_GIVE_WAY_H
#define RUN_GIVE_WAY_H

#include "base/base.h"

#define GIVE_WAY_RECORDS 64u    /* read between two looks whether one is due */
#define GIVE_WAY_NS      40000u /* a reader runs for before it is */

/* May a reader of which `waiting` of `size` bytes are to be read, and that has not been done for so
 * long, yield? */
bool give_way_is_due(u64 waiting, u64 size, u64 behind_ns);

#endif
