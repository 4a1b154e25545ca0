/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "out/protobuf.h"

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* Seven bits a byte, the lowest first; all but the last have the highest bit set. */
static void add_varint(struct buf *b, u64 v)
{
	for (; v >= 0x80; v >>= 7)
		buf_putc(b, (char)(v | 0x80));
	buf_putc(b, (char)v);
}

static void add_key(struct buf *b, u32 field, enum wire wire)
{
	add_varint(b, (u64)field << 3 | wire);
}

void protobuf_int(struct buf *b, u32 field, u64 value)
{
	if (!value)
		return;
	add_key(b, field, WIRE_VARINT);
	add_varint(b, value);
}

void protobuf_text(struct buf *b, u32 field, struct str text)
{
	add_key(b, field, WIRE_BYTES);
	add_varint(b, text.n);
	buf_add(b, text.p, text.n);
}

void protobuf_message(struct buf *b, u32 field, struct buf *part)
{
	add_key(b, field, WIRE_BYTES);
	add_varint(b, part->n);
	buf_add(b, part->p, part->n);
	buf_reset(part);
}

void protobuf_packed(struct buf *b, u32 field, const u64 *v, u32 n)
{
	struct buf numbers = { 0 };

	for (u32 i = 0; i < n; i++)
		add_varint(&numbers, v[i]);
	if (n)
		protobuf_message(b, field, &numbers);
	buf_free(&numbers);
}
