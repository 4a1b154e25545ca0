/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a struct has to be written for a C compiler to lay it out as BTF says. BTF has the offsets
 * but not the attributes that led to them.
 */
#ifndef CTEXT_C_SHAPE_H
#define CTEXT_C_SHAPE_H

#include <memtap/btf.h>

#include "base/base.h"

enum c_mode {
	C_PLAIN,  /* the compiler's rules, with padding written out where they fall short */
	C_PACKED, /* attribute packed: all padding written out */
	C_OPAQUE, /* can not be written as members: bytes only */
};

struct c_shapes {
	const struct btf *btf;
	u8 *of;    /* by id, see c_shape.c */
	u32 *size; /* by id: bytes + 1, 0 not asked yet */
	u32 n;
	u32 depth; /* of the types being looked at */
};

bool c_shapes_init(struct c_shapes *s, const struct btf *btf);
void c_shapes_free(struct c_shapes *s);
/* Of a STRUCT or UNION. */
enum c_mode c_shape_mode(struct c_shapes *s, u32 id);
/* Alignment in bytes of any type as it is written, 1 for what has none. */
u32 c_shape_align(struct c_shapes *s, u32 id);
/* Bytes of any type. */
u32 c_shape_size(struct c_shapes *s, u32 id);
/* True for a member that C can not have: no name, and nothing to open. It becomes padding. */
bool c_shape_omits(const struct btf *btf, const struct btf_field *f);
/*
 * Places the next member after bit *pos, which moves to its end. *pad says that padding from the
 * old *pos to f->bit_off has to be written first. False when the mode can not place it.
 */
bool c_shape_step(struct c_shapes *s, enum c_mode mode, const struct btf_field *f, u64 *pos,
                  bool *pad);

#endif
