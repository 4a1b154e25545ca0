/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Values that are more than a register: strings, buffers, tuples, arrays, structs, symbols.
 * They are produced straight into the memory where they are needed (a map key, a ring record),
 * not into a temporary first.
 */
#include "gen/emit.h"

#include <string.h>

bool gen_is_word(const struct type *t)
{
	return type_has(t, VALUE_WORD);
}

#define PADDED_MAX 64u

bool gen_is_padded(const struct type *t)
{
	return t->kind != TYPE_STR || type_slot(t) <= PADDED_MAX;
}

void gen_literal(struct gen *g, struct str text, u32 size, struct mem dst, bool pad)
{
	u32 n = MIN(text.n, size - 1), words = (n + 1 + 3) / 4;

	for (u32 i = 0; i < words; i++) {
		s32 chunk = 0;

		memcpy(&chunk, text.p + i * 4, MIN(4u, n - MIN(n, i * 4)));
		mem_store_imm(g, 4, mem_at(dst, (s32)(i * 4)), chunk);
	}
	if (pad || dst.base == MEM_STACK)
		mem_zero(g, dst, words * 4, ROUND_UP(size, 8u));
}

u32 gen_room(const struct type *t)
{
	return t->bounded || !t->count ? type_slot(t) : MIN(t->count, type_slot(t));
}

/* Copies a string of ours into a place of another size. */
static void convert_string(struct gen *g, struct mem dst, const struct type *dt, struct mem src,
                           const struct type *st, bool pad, bool padded)
{
	u32 slot = type_slot(dt), to = gen_room(dt), from = type_slot(st);

	if (!padded) { /* a char array in a struct: what follows is not part of it */
		u32 max = MIN(to, st->count + 1);

		if (pad || dst.base == MEM_STACK)
			mem_zero(g, dst, 0, slot);
		mem_addr(g, dst, R1);
		code_const(&g->c, R2, max);
		mem_addr(g, src, R3);
		code_call(&g->c, BPF_FUNC_probe_read_kernel_str);
		if (to < st->count)
			gen_count_cut(g, to, (struct loc){ g->c.loc, 1 });
		return;
	}
	if (from <= slot && st->count <= to && gen_is_padded(st)) {
		mem_copy(g, dst, src, from);
		if (pad || dst.base == MEM_STACK)
			mem_zero(g, dst, from, slot);
		return;
	}
	if (pad || dst.base == MEM_STACK)
		mem_zero(g, dst, 0, slot);
	mem_addr(g, dst, R1);
	code_const(&g->c, R2, MIN(to, from));
	mem_addr(g, src, R3);
	code_call(&g->c, BPF_FUNC_probe_read_kernel_str);
	if (to < st->count)
		gen_count_cut(g, to, (struct loc){ g->c.loc, 1 });
}

void gen_convert(struct gen *g, struct mem dst, const struct type *dt, struct mem src,
                 const struct type *st, bool pad)
{
	if (dt->kind == TYPE_STR && st->kind == TYPE_STR) {
		convert_string(g, dst, dt, src, st, pad, true);
	} else if (dt->kind == TYPE_TUPLE && st->kind == TYPE_TUPLE) {
		for (u32 i = 0; i < dt->n_fields && i < st->n_fields; i++) {
			const struct field *from = &st->fields[type_part(st, dt, i)];

			gen_convert(g, mem_at(dst, (s32)dt->fields[i].off), dt->fields[i].type,
			            mem_at(src, (s32)from->off), from->type, pad);
		}
	} else {
		u32 size = MIN(type_slot(dt), type_slot(st));

		mem_copy(g, dst, src, size);
		mem_zero(g, dst, size, type_slot(dt));
	}
}

static void store_tuple(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                        bool pad)
{
	const struct node *item = n->tuple.items;

	for (u32 i = 0; i < t->n_fields && item; i++, item = item->next) {
		const struct field *f = &t->fields[type_part(t, n->type, i)];

		gen_store(g, item, f->type, mem_at(dst, (s32)f->off), pad);
	}
}

static void store_ternary(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                          bool pad)
{
	u32 no = code_label(&g->c), done = code_label(&g->c);

	gen_branch(g, n->ternary.cond, false, no);
	gen_store(g, n->ternary.yes ? n->ternary.yes : n->ternary.cond, t, dst, pad);
	code_goto(&g->c, done);
	code_bind(&g->c, no);
	gen_store(g, n->ternary.no, t, dst, pad);
	code_bind(&g->c, done);
}

/* Strings, structs and arrays behind pointers and in tracepoint records. */
static void store_foreign(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                          bool pad)
{
	enum space space = gen_address(g, n);
	u32 slot = type_slot(t), room = gen_room(t);

	if (t->kind == TYPE_STR) {
		struct temp address = temp_save(g, R0);

		if (pad || dst.base == MEM_STACK)
			mem_zero(g, dst, 0, slot);
		temp_load(g, address, R3);
		gen_probe_read_str(g, space, dst, MIN(room, n->type->count + 1), NULL,
		                   room < n->type->count, n->loc);
		return;
	}
	if (n->type->size % 8)
		mem_store_imm(g, 8, mem_at(dst, (s32)slot - 8), 0);
	code_mov(&g->c, R3, R0);
	gen_probe_read(g, space, MIN(slot, n->type->size), dst, n->loc);
}

static void store_word(struct gen *g, const struct node *n, struct mem dst)
{
	s64 v;

	if (n->kind == NODE_INT) {
		v = (s64)n->integer.value;
		if (v == (s32)v) {
			mem_store_imm(g, 8, dst, (s32)v);
			return;
		}
	}
	gen_value(g, n);
	mem_store(g, 8, dst, R0);
}

/* A field or an element of a value that is ours. */
static bool is_part(const struct node *n)
{
	if (n->kind == NODE_FIELD && n->field.own)
		return false;
	return (n->kind == NODE_FIELD || n->kind == NODE_INDEX) && !gen_is_foreign(n);
}

static bool has_place(const struct node *n)
{
	return n->kind == NODE_VAR || n->kind == NODE_TUPLE_AT || is_part(n);
}

/* (uint8[4])n: the bytes of the integer, zeros after them. */
static void store_bytes(struct gen *g, const struct node *n, const struct type *t, struct mem dst)
{
	s32 unused = 64 - (s32)MIN(t->size, 8u) * 8;

	gen_value(g, n->cast.e);
	if (unused) {
		code_alu_imm(&g->c, BPF_LSH, R0, unused);
		code_alu_imm(&g->c, BPF_RSH, R0, unused);
	}
	mem_store(g, 8, dst, R0);
	mem_zero(g, dst, 8, type_slot(t));
}

/* A field or element of ours that is a struct or an array. */
static void store_part(struct gen *g, const struct node *n, const struct type *t, struct mem dst)
{
	u32 slot = type_slot(t), size = MIN(slot, n->type->size);

	if (size % 8)
		mem_store_imm(g, 8, mem_at(dst, (s32)(size / 8 * 8)), 0);
	mem_copy_any(g, dst, gen_part(g, n), size);
	mem_zero(g, dst, ROUND_UP(size, 8u), slot);
}

/* The same bytes as another type. A text that may be longer than what it is cast to is made whole
 * first and then cut, whatever makes it. */
static void store_cast(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                       bool pad)
{
	const struct node *e = n->cast.e;
	struct mem cut;

	if (n->type->kind != TYPE_STR || e->type->count <= gen_room(n->type)) {
		gen_store(g, e, t, dst, pad);
		return;
	}
	cut = frame_alloc(g, type_slot(n->type));
	gen_convert(g, cut, n->type, gen_place(g, e), e->type, true);
	gen_convert(g, dst, t, cut, n->type, pad);
}

void gen_store(struct gen *g, const struct node *n, const struct type *t, struct mem dst, bool pad)
{
	struct mark m = frame_mark(g);

	g->c.loc = n->loc.off;
	if (gen_is_word(t) && (gen_is_word(n->type) || n->kind == NODE_INT)) {
		store_word(g, n, dst);
	} else if (gen_uarg(g, n) && gen_uarg(g, n)->at.form == CALLS_REGISTERS) {
		gen_uarg_store(g, gen_uarg(g, n), t, dst);
	} else if (n->kind == NODE_STRING) {
		gen_literal(g, n->string, gen_room(t), dst, pad);
	} else if (is_part(n) && n->type->kind == TYPE_STR) {
		convert_string(g, dst, t, gen_part(g, n), n->type, pad, false);
	} else if (is_part(n)) {
		store_part(g, n, t, dst);
	} else if (has_place(n)) {
		gen_convert(g, dst, t, gen_place(g, n), n->type, pad);
	} else if (gen_is_foreign(n)) {
		store_foreign(g, n, t, dst, pad);
	} else if (n->kind == NODE_BLOCK) {
		gen_block(g, n);
		gen_store(g, n->result, t, dst, pad);
	} else if (n->kind == NODE_TUPLE) {
		store_tuple(g, n, t, dst, pad);
	} else if (n->kind == NODE_TERNARY) {
		store_ternary(g, n, t, dst, pad);
	} else if (n->kind == NODE_BUILTIN) {
		gen_builtin_store(g, n, t, dst, pad);
	} else if (n->kind == NODE_CALL) {
		gen_call_store(g, n, t, dst, pad);
	} else if (n->kind == NODE_MAP) {
		gen_map_store(g, n, t, dst, pad);
	} else if (n->kind == NODE_CAST && type_is_scalar(n->cast.e->type)) {
		store_bytes(g, n, t, dst);
	} else if (n->kind == NODE_CAST) {
		store_cast(g, n, t, dst, pad);
	} else {
		gen_error(g, n->loc, "a value of type '%s' can not be stored here",
		          type_name(&g->u->arena, n->type));
	}
	frame_release(g, m);
}

struct reader {
	const void *sym; /* of a variable or a map */
	bool found;
};

static bool find_reader(void *ctx, const struct node *n)
{
	struct reader *r = ctx;

	r->found |= (n->kind == NODE_VAR && n->var.sym == r->sym) ||
	            (n->kind == NODE_MAP && n->map.sym == r->sym);
	return !r->found;
}

/* A value that is put together part by part where `sym` is kept, and reads what is there. */
static bool reads_itself(const struct node *n, const void *sym)
{
	struct reader r = { .sym = sym };

	if (gen_is_word(n->type) ||
	    (n->kind != NODE_TUPLE && n->kind != NODE_TERNARY && n->kind != NODE_BLOCK))
		return false;
	ast_look(n, find_reader, &r);
	return r.found;
}

void gen_store_in(struct gen *g, const struct node *n, const struct type *t, struct mem dst,
                  bool pad, const void *sym)
{
	struct mark m = frame_mark(g);
	struct mem value;

	if (n->kind == NODE_VAR && n->var.sym == sym)
		return; /* $s = $s */
	if (!reads_itself(n, sym)) {
		gen_store(g, n, t, dst, pad);
		return;
	}
	value = frame_alloc(g, type_slot(t));
	gen_store(g, n, t, value, true);
	mem_copy(g, dst, value, type_slot(t));
	frame_release(g, m);
}

/* An element: with a constant index it is at an offset; else its address is computed, that of the
 * first one when the index is out of bounds, which is counted. */
static struct mem element(struct gen *g, const struct node *n)
{
	const struct type *t = n->index.e->type;
	u32 step = t->kind == TYPE_STR ? 1 : MAX(t->elem->size, 1u), ok = code_label(&g->c);
	struct mem base = gen_part(g, n->index.e);

	if (n->index.i->kind == NODE_INT) {
		code_bind(&g->c, ok);
		return mem_at(base, (s32)(n->index.i->integer.value * step));
	}
	gen_value(g, n->index.i);
	code_if_imm(&g->c, BPF_JLT, R0, (s32)t->count, ok);
	gen_count_error(g, UERROR_BOUNDS, n->loc, "[]");
	code_const(&g->c, R0, 0);
	code_bind(&g->c, ok);
	code_alu_imm(&g->c, BPF_MUL, R0, (s32)step);
	mem_addr(g, base, R1);
	code_alu(&g->c, BPF_ADD, R1, R0);
	return mem_of_pointer(g, R1);
}

struct mem gen_part(struct gen *g, const struct node *n)
{
	if (n->kind == NODE_FIELD && is_part(n))
		return mem_at(gen_part(g, n->field.e), (s32)n->field.f.off);
	if (n->kind == NODE_INDEX && is_part(n))
		return element(g, n);
	return gen_place(g, n);
}

struct mem gen_place(struct gen *g, const struct node *n)
{
	struct mem m;

	if (n->kind == NODE_VAR)
		return g->vars[n->var.sym->index];
	if (n->kind == NODE_TUPLE_AT)
		return mem_at(gen_place(g, n->tuple_at.e),
		              (s32)n->tuple_at.e->type->fields[n->tuple_at.i].off);
	m = frame_alloc(g, type_slot(n->type));
	/* It may be compared. */
	gen_store(g, n, n->type, m, n->type->kind == TYPE_TUPLE || n->type->kind == TYPE_BUF);
	return m;
}
