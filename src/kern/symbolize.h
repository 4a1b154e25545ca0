/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of kernel addresses, one at a time, by the kernel itself.
 */
#ifndef KERN_SYMBOLIZE_H
#define KERN_SYMBOLIZE_H

#include "base/err.h"

struct symbolize;

#define SYMBOLIZE_TEXT 1024u

/* NULL and *e where the kernel is too old for it (before 5.13) or refuses. */
struct symbolize *symbolize_open(struct err *e);
/* NULL is fine. */
void symbolize_close(struct symbolize *s);
/* As the kernel prints an address: "vfs_read+0x2/0x80", "f+0x0/0x10 [module]", or "0x12" when it is
 * in no function. False when the kernel refuses. */
bool symbolize_name(struct symbolize *s, u64 addr, char text[SYMBOLIZE_TEXT]);

#endif
