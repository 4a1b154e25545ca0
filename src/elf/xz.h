/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unpacking .xz data, as .gnu_debugdata holds it.
 */
#ifndef ELF_XZ_H
#define ELF_XZ_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the unpacked bytes to `out`. False and *e when the data is damaged, when it is more
 * than `limit` bytes, or when the machine has no liblzma. */
bool xz_unpack(const u8 *p, size_t n, size_t limit, struct buf *out, struct err *e);

#endif
