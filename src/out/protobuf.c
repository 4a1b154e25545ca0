/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "out/protobuf.h"

#include <string.h>

enum wire { WIRE_VARINT, WIRE_DOUBLE, WIRE_BYTES };

/* Seven bits a byte, the lowest first; all but the last have the highest bit set. */
void protobuf_varint(struct buf *b, u64 value)
{
	for (; value >= 0x80; value >>= 7)
		buf_putc(b, (char)(value | 0x80));
	buf_putc(b, (char)value);
}

static void add_key(struct buf *b, u32 field, enum wire wire)
{
	protobuf_varint(b, (u64)field << 3 | wire);
}

void protobuf_number(struct buf *b, u32 field, u64 value)
{
	add_key(b, field, WIRE_VARINT);
	protobuf_varint(b, value);
}

void protobuf_int(struct buf *b, u32 field, u64 value)
{
	if (value)
		protobuf_number(b, field, value);
}

/* The sign goes to the lowest bit. */
void protobuf_signed(struct buf *b, u32 field, s64 value)
{
	protobuf_number(b, field, (u64)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void protobuf_eight(struct buf *b, u64 bits)
{
	for (u32 i = 0; i < 64; i += 8)
		buf_putc(b, (char)(bits >> i));
}

void protobuf_real(struct buf *b, double value)
{
	u64 bits;

	memcpy(&bits, &value, sizeof(bits));
	protobuf_eight(b, bits);
}

void protobuf_double(struct buf *b, u32 field, double value)
{
	add_key(b, field, WIRE_DOUBLE);
	protobuf_real(b, value);
}

void protobuf_fixed(struct buf *b, u32 field, u64 value)
{
	add_key(b, field, WIRE_DOUBLE);
	protobuf_eight(b, value);
}

void protobuf_text(struct buf *b, u32 field, struct str text)
{
	add_key(b, field, WIRE_BYTES);
	protobuf_varint(b, text.n);
	buf_add(b, text.p, text.n);
}

void protobuf_message(struct buf *b, u32 field, struct buf *part)
{
	add_key(b, field, WIRE_BYTES);
	protobuf_varint(b, part->n);
	buf_add(b, part->p, part->n);
	buf_reset(part);
}

void protobuf_packed(struct buf *b, u32 field, const u64 *v, u32 n)
{
	struct buf numbers = { 0 };

	for (u32 i = 0; i < n; i++)
		protobuf_varint(&numbers, v[i]);
	if (n)
		protobuf_message(b, field, &numbers);
	buf_free(&numbers);
}
