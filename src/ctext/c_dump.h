/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Definitions of structs, unions and enums as C that compiles to BTF's layout. */
#ifndef CTEXT_C_DUMP_H
#define CTEXT_C_DUMP_H

#include "ctext/c_decl.h"
#include "ctext/c_names.h"
#include "ctext/c_shape.h"

struct c_dump {
	const struct btf *btf;
	struct c_names names;
	struct c_shapes shapes;
	struct c_style style; /* for c_decl: anonymous types are written in place */
	u8 *state; /* by id, for whoever finds the order; 1 on an enum written in place */
	struct c_work work;
	u32 depth; /* of braces */
	u32 holes; /* named so far, in one definition */
};

/* After false, too, c_dump_free is due. The struct must not move afterwards. */
bool c_dump_init(struct c_dump *d, const struct btf *btf);
void c_dump_free(struct c_dump *d);
/* "struct x {...}" with attributes, without what may follow. */
void c_dump_define(struct c_dump *d, struct buf *b, const struct btf_info *t);

#endif
