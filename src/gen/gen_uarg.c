/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 *
 * The one idea: a value in registers is ours, in pieces; a part of it that lies in one piece is
 * loaded and shifted without the whole ever being put together. Values in memory are foreign,
 * their address is made from the stack pointer or a register.
 */
#include "gen/emit.h"

#include "arch/arch.h"

static bool is_args(const struct node *n)
{
	return n->kind == NODE_BUILTIN && n->builtin.b && n->builtin.b->id == BUILTIN_ARGS;
}

const struct uarg *gen_uarg(const struct gen *g, const struct node *n)
{
	if (n->kind == NODE_BUILTIN && n->builtin.b && n->builtin.b->id == BUILTIN_RETVAL &&
	    n->builtin.n && g->v->result && g->v->result->at.form == CALLS_REGISTERS)
		return g->v->result;
	if (n->kind != NODE_FIELD || !is_args(n->field.e) || !g->v->uargs)
		return NULL;
	return &g->v->uargs->v[n->field.arg];
}

static void load_reg(struct gen *g, const char *reg, enum reg dst)
{
	code_load(&g->c, 8, dst, CTX, arch_reg(str_of(reg))->at);
}

void gen_uarg_value(struct gen *g, const struct uarg *u, const struct type *t)
{
	load_reg(g, u->at.pieces[0].reg, R0);
	gen_narrow(g, t, R0);
}

enum space gen_uarg_address(struct gen *g, const struct uarg *u)
{
	if (u->at.form == CALLS_POINTED) {
		load_reg(g, u->at.pieces[0].reg, R0);
	} else {
		load_reg(g, "sp", R0);
		code_alu_imm(&g->c, BPF_ADD, R0, (s32)u->at.stack);
	}
	return SPACE_USER;
}

/* Stores the low `size` bytes of r0 in the largest pieces that fit. */
static void store_bytes(struct gen *g, struct mem dst, u32 size)
{
	for (u32 step; size; size -= step) {
		step = size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1;
		while (dst.off % (s32)step)
			step /= 2;
		mem_store(g, step, dst, R0);
		dst = mem_at(dst, (s32)step);
		if (size > step)
			code_alu_imm(&g->c, BPF_RSH, R0, (s32)step * 8);
	}
}

void gen_uarg_store(struct gen *g, const struct uarg *u, const struct type *t, struct mem dst)
{
	mem_zero(g, dst, 0, type_slot(t));
	for (u32 i = 0; i < u->at.n_pieces; i++) {
		const struct calls_piece *p = &u->at.pieces[i];

		if (!p->reg || p->off + p->size > type_slot(t))
			continue;
		load_reg(g, p->reg, R0);
		store_bytes(g, mem_at(dst, (s32)p->off), p->size);
	}
}

/* The argument that n is a part of and how far in; NULL when it is not at a constant offset. */
static const struct uarg *part_of(const struct gen *g, const struct node *n, u64 *off)
{
	for (*off = 0;;) {
		const struct uarg *u = gen_uarg(g, n);

		if (u)
			return u->at.form == CALLS_REGISTERS ? u : NULL;
		if (n->kind == NODE_FIELD && !gen_is_foreign(n)) {
			*off += n->field.f.off;
			n = n->field.e;
		} else if (n->kind == NODE_INDEX && n->index.i->kind == NODE_INT &&
		           n->index.e->type->kind == TYPE_ARRAY) {
			*off += n->index.i->integer.value * n->index.e->type->elem->size;
			n = n->index.e;
		} else {
			return NULL;
		}
	}
}

bool gen_uarg_part(struct gen *g, const struct node *n, u32 size)
{
	u64 off;
	const struct uarg *u = part_of(g, n, &off);

	for (u32 i = 0; u && i < u->at.n_pieces; i++) {
		const struct calls_piece *p = &u->at.pieces[i];

		if (!p->reg || off < p->off || off + size > p->off + p->size)
			continue;
		load_reg(g, p->reg, R0);
		if (off > p->off)
			code_alu_imm(&g->c, BPF_RSH, R0, (s32)(off - p->off) * 8);
		if (size < 8)
			gen_narrow(g, type_int(size, false), R0);
		return true;
	}
	return false;
}
