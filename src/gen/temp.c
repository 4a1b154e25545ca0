/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Values that must survive a call: in a register while one is free, else in a word of the frame. */
#include "gen/emit.h"

struct temp temp_of_reg(struct gen *g)
{
	enum reg r = frame_reg(g);

	return (struct temp){ .in_reg = r != R0, .reg = r };
}

struct temp temp_save(struct gen *g, enum reg src)
{
	struct temp t = temp_of_reg(g);

	if (t.in_reg) {
		code_mov(&g->c, t.reg, src);
	} else {
		t.mem = frame_alloc(g, 8);
		mem_store(g, 8, t.mem, src);
	}
	return t;
}

void temp_load(struct gen *g, struct temp t, enum reg dst)
{
	if (t.in_reg)
		code_mov(&g->c, dst, t.reg);
	else
		mem_load(g, 8, dst, t.mem);
}
