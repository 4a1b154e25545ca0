/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Kernel types as C writes them, for listings. */
#ifndef CTEXT_C_TYPE_H
#define CTEXT_C_TYPE_H

#include "base/buf.h"
#include "btf/btf.h"

/* "const struct file *", "u64", "char [16]". */
void c_type_print(struct buf *b, const struct btf *btf, u32 id);
/* The definition of "struct x", "union x" or "enum x", one member a line. False when unknown. */
bool c_type_define(struct buf *b, const struct btf *btf, const char *name);

#endif
