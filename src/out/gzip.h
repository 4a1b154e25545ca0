/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bytes as gzip packs them. */
#ifndef OUT_GZIP_H
#define OUT_GZIP_H

#include "base/buf.h"

/* Adds to `b` what unpacks to the bytes of `from`. */
void gzip_add(struct buf *b, const struct buf *from);

#endif
