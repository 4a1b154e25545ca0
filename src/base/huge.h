/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that fills from its start, as huge pages: what is in it is found without a walk through
 * tables of pages. The kernel is asked for one only when half of it is used, so that little memory
 * stays little; it makes one out of what is there by then.
 */
#ifndef BASE_HUGE_H
#define BASE_HUGE_H

#include "base/base.h"

#define HUGE_PAGE (2u << 20) /* bytes; of processors with larger pages it is none, and refused */

/*
 * Bytes [0, used) of the memory at `start`, a multiple of HUGE_PAGE, are in use, and at the last
 * call bytes [0, before) were; `size` are there. From Linux 6.1 on; what the kernel does not do,
 * it does not.
 */
void huge_used(void *start, size_t size, size_t before, size_t used);

#endif
