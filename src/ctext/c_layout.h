/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A struct or union for people who look for offsets, holes and cachelines. */
#ifndef CTEXT_C_LAYOUT_H
#define CTEXT_C_LAYOUT_H

#include <memtap/btf.h>

#include "base/buf.h"
#include "ctext/c_work.h"

/* "struct x {...};" with offset and size after each member, and a summary. */
void c_layout_print(struct buf *b, const struct btf *btf, const struct btf_info *t,
                    struct c_work *w);

#endif
