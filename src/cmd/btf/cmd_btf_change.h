/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What changed in one type from one BTF to another. */
#ifndef CMD_BTF_CMD_BTF_CHANGE_H
#define CMD_BTF_CMD_BTF_CHANGE_H

#include <memtap/btf.h>

#include "base/buf.h"
#include "ctext/c_work.h"

/* Type `id_a` of a beside type `id_b` of b, both of one kind. Adds nothing when they are alike. */
void cmd_btf_change(struct buf *out, const struct btf *a, u32 id_a, const struct btf *b, u32 id_b,
                    struct c_work *w);

#endif
