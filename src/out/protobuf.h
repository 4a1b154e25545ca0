/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes messages of Protocol Buffers. Source: "Encoding" in the manual of Protocol Buffers
 * (protobuf.dev): a key of field number and wire type, then a varint or bytes behind their length.
 */
#ifndef OUT_PROTOBUF_H
#define OUT_PROTOBUF_H

#include "base/buf.h"
#include "base/str.h"

/* int64, uint64, bool, enum: a varint. */
void protobuf_number(struct buf *b, u32 field, u64 value);
/* The same where 0 is what a field has that is left out: it is. */
void protobuf_int(struct buf *b, u32 field, u64 value);
/* sint32, sint64. */
void protobuf_signed(struct buf *b, u32 field, s64 value);
void protobuf_double(struct buf *b, u32 field, double value);
/* fixed64, sfixed64. */
void protobuf_fixed(struct buf *b, u32 field, u64 value);
/* string or bytes. */
void protobuf_text(struct buf *b, u32 field, struct str text);
/* A message in a message: the bytes of `part`, which is empty then. */
void protobuf_message(struct buf *b, u32 field, struct buf *part);
/* Numbers of a repeated field, packed; none leaves the field out. */
void protobuf_packed(struct buf *b, u32 field, const u64 *v, u32 n);
/* A number by itself: the length before a message that follows others. */
void protobuf_varint(struct buf *b, u64 value);
/* The same of fixed64 and double, as they stand in a packed field. */
void protobuf_eight(struct buf *b, u64 bits);
void protobuf_real(struct buf *b, double value);

#endif
