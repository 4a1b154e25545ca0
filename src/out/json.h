/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The scalars of JSON (RFC 8259). What they mean is up to the caller.
 */
#ifndef OUT_JSON_H
#define OUT_JSON_H

#include "base/buf.h"
#include "base/str.h"

/* A quoted string. Bytes that are not UTF-8 become U+FFFD, one for each. */
void json_string(struct buf *b, struct str s);
/* A number; quoted when a double, all that many readers have, can not hold it exactly. */
void json_signed(struct buf *b, s64 n);
void json_unsigned(struct buf *b, u64 n);

#endif
