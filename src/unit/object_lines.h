/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lines of a script, for what shows programs beside their source. */
#ifndef UNIT_OBJECT_LINES_H
#define UNIT_OBJECT_LINES_H

#include "unit/object_types.h"

struct object_line {
	u32 off;                /* in unit->source */
	u32 number, file, text; /* 0 until it is asked for; the latter among the strings */
};

struct object_lines {
	struct arena *arena;
	const struct unit *unit;
	struct object_types *types;
	VEC(struct object_line) all;
};

void object_lines_init(struct object_lines *l, struct arena *a, const struct unit *u,
                       struct object_types *t);
/* What is known of a byte of the source: file, line and column; insn_off is left 0. */
struct bpf_line_info object_lines_at(struct object_lines *l, u32 off);

#endif
