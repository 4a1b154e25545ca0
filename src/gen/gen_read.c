/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading memory that is not ours: kernel structs, user memory, tracepoint records.
 *
 * Every read goes through a probe_read helper. Whether an address is the kernel's or the
 * user's follows from the pointer's type; where the type does not say, the address itself
 * does (arch_is_kernel). A failed read gives zero and is counted at its place in the script.
 */
#include "gen/emit.h"

#include "arch/arch.h"

enum space gen_space(const struct gen *g, const struct node *n)
{
	if (n->type->kind == TYPE_PTR && n->type->space != SPACE_NONE)
		return n->type->space;
	return n->type->kind != TYPE_PTR && attach_kind_is_user(g->v->kind) ? SPACE_USER
	                                                                    : SPACE_NONE;
}

/* Calls the helper of the address's half; arguments are in place, r3 is the address. */
static void call_by_space(struct gen *g, enum space space, u32 user, u32 kernel)
{
	u32 is_kernel, done;

	if (space != SPACE_NONE) {
		code_call(&g->c, space == SPACE_USER ? user : kernel);
		return;
	}
	is_kernel = code_label(&g->c);
	done = code_label(&g->c);
	code_if_imm(&g->c, BPF_JSLT, R3, 0, is_kernel);
	code_call(&g->c, user);
	code_goto(&g->c, done);
	code_bind(&g->c, is_kernel);
	code_call(&g->c, kernel);
	code_bind(&g->c, done);
}

/*
 * A user page that is not resident (never touched, or swapped out) can not be read by a program
 * that must not sleep. Programs of user probes may, so there a failed read is tried again by a
 * helper that brings the page in, as the program itself is about to do.
 */
static bool can_sleep(const struct gen *g, enum space space)
{
	return space != SPACE_KERNEL && space != SPACE_OWN && attach_kind_is_user(g->v->kind) &&
	       g->w->ops->features(g->w, FEATURE_SLEEPABLE)->sleepable;
}

/* r2 = bytes to read, at most max; the verifier wants to see the bound each time. */
static void load_size(struct gen *g, const struct temp *size, u32 max)
{
	u32 ok;

	if (!size) {
		code_const(&g->c, R2, max);
		return;
	}
	ok = code_label(&g->c);
	temp_load(g, *size, R2);
	code_if_imm(&g->c, BPF_JLE, R2, (s32)max, ok);
	code_const(&g->c, R2, max);
	code_bind(&g->c, ok);
}

/* Headers are read in place, without a call: they lie in the packet's first piece of memory. What
 * is larger, or not there, the helper takes (skb_load_bytes reads all pieces). */
#define IN_PLACE_MAX 40u
#define FARTHEST     (0xffff - (s32)IN_PLACE_MAX) /* the verifier follows no larger offset */

static void read_packet_in_place(struct gen *g, u32 size, struct mem dst, u32 not_there, u32 done)
{
	code_if_imm(&g->c, BPF_JGT, R3, FARTHEST, not_there);
	code_load(&g->c, 4, R1, CTX, offsetof(struct __sk_buff, data));
	code_load(&g->c, 4, R2, CTX, offsetof(struct __sk_buff, data_end));
	code_alu(&g->c, BPF_ADD, R1, R3);
	code_mov(&g->c, R4, R1);
	code_alu_imm(&g->c, BPF_ADD, R4, (s32)size);
	code_if(&g->c, BPF_JGT, R4, R2, not_there);
	for (u32 at = 0, n; at < size; at += n) {
		n = size - at >= 8 ? 8 : size - at >= 4 ? 4 : size - at >= 2 ? 2 : 1;
		code_load(&g->c, n, R0, R1, (s32)at);
		mem_store(g, n, mem_at(dst, (s32)at), R0);
	}
	code_goto(&g->c, done);
}

/* Bytes of the packet from offset r3 on; of none the kernel will not hear. */
static void read_packet(struct gen *g, u32 max, const struct temp *size, struct mem dst,
                        struct loc loc)
{
	u32 ok = code_label(&g->c), elsewhere = code_label(&g->c);

	if (!size && max <= IN_PLACE_MAX)
		read_packet_in_place(g, max, dst, elsewhere, ok);
	code_bind(&g->c, elsewhere);
	load_size(g, size, max);
	if (size)
		code_if_imm(&g->c, BPF_JLT, R2, 1, ok);
	code_mov(&g->c, R4, R2);
	code_mov(&g->c, R2, R3);
	mem_addr(g, dst, R3);
	code_mov(&g->c, R1, CTX);
	code_call(&g->c, BPF_FUNC_skb_load_bytes);
	code_if_imm(&g->c, BPF_JSGE, R0, 0, ok);
	gen_count_error(g, UERROR_READ, loc, "skb_load_bytes");
	code_bind(&g->c, ok);
}

void gen_probe_read_part(struct gen *g, enum space space, u32 max, const struct temp *size,
                         struct mem dst, struct loc loc)
{
	struct mark m = frame_mark(g);
	u32 ok = code_label(&g->c);
	bool sleeps = can_sleep(g, space);
	struct temp address = { 0 };

	if (space == SPACE_PACKET) {
		code_bind(&g->c, ok);
		read_packet(g, max, size, dst, loc);
		return;
	}
	if (sleeps)
		address = temp_save(g, R3);
	mem_addr(g, dst, R1);
	load_size(g, size, max);
	call_by_space(g, space, BPF_FUNC_probe_read_user, BPF_FUNC_probe_read_kernel);
	code_if_imm(&g->c, BPF_JSGE, R0, 0, ok);
	if (sleeps) {
		g->found.may_sleep = true;
		mem_addr(g, dst, R1);
		load_size(g, size, max);
		temp_load(g, address, R3);
		code_call(&g->c, BPF_FUNC_copy_from_user);
		code_if_imm(&g->c, BPF_JSGE, R0, 0, ok);
	}
	gen_count_error(g, UERROR_READ, loc,
	                space == SPACE_USER ? "probe_read_user" : "probe_read_kernel");
	code_bind(&g->c, ok);
	frame_release(g, m);
}

void gen_probe_read(struct gen *g, enum space space, u32 size, struct mem dst, struct loc loc)
{
	gen_probe_read_part(g, space, size, NULL, dst, loc);
}

/* Brings in the page at address + (next page: the one after it). */
static void touch(struct gen *g, struct temp address, bool next_page)
{
	struct mark m = frame_mark(g);
	struct mem byte = frame_alloc(g, 8);

	mem_store_imm(g, 8, byte, 0);
	mem_addr(g, byte, R1);
	code_const(&g->c, R2, 1);
	temp_load(g, address, R3);
	if (next_page) {
		code_alu_imm(&g->c, BPF_OR, R3, (s32)arch_page() - 1);
		code_alu_imm(&g->c, BPF_ADD, R3, 1);
	}
	code_call(&g->c, BPF_FUNC_copy_from_user);
	frame_release(g, m);
}

/* r2 = bytes to read, the NUL included; the verifier wants to see the bound each time. */
static void load_limit(struct gen *g, const struct temp *length, u32 max)
{
	u32 ok;

	if (!length) {
		code_const(&g->c, R2, max);
		return;
	}
	ok = code_label(&g->c);
	temp_load(g, *length, R2);
	code_if_imm(&g->c, BPF_JLT, R2, (s32)max, ok);
	code_const(&g->c, R2, max - 1);
	code_bind(&g->c, ok);
	code_alu_imm(&g->c, BPF_ADD, R2, 1);
}

void gen_count_cut(struct gen *g, u32 max, struct loc loc)
{
	u32 whole = code_label(&g->c);

	code_if_imm(&g->c, BPF_JNE, R0, (s32)max, whole);
	gen_count_error(g, UERROR_CUT, loc, arena_printf(&g->u->arena, "%u", max - 1));
	code_bind(&g->c, whole);
}

void gen_probe_read_str(struct gen *g, enum space space, struct mem dst, u32 max,
                        const struct temp *length, bool cut_matters, struct loc loc)
{
	struct mark m = frame_mark(g);
	u32 ok = code_label(&g->c), done = code_label(&g->c);
	bool sleeps = can_sleep(g, space);
	struct temp address = { 0 };

	if (space == SPACE_PACKET)
		gen_error(g, loc, "bytes of a packet are taken by buf()");
	if (sleeps)
		address = temp_save(g, R3);
	mem_addr(g, dst, R1);
	load_limit(g, length, max);
	call_by_space(g, space, BPF_FUNC_probe_read_user_str, BPF_FUNC_probe_read_kernel_str);
	code_if_imm(&g->c, BPF_JSGE, R0, 0, ok);
	if (sleeps) {
		g->found.may_sleep = true;
		touch(g, address, true);
		touch(g, address, false);
		mem_addr(g, dst, R1);
		load_limit(g, length, max);
		temp_load(g, address, R3);
		code_call(&g->c, BPF_FUNC_probe_read_user_str);
		code_if_imm(&g->c, BPF_JSGE, R0, 0, ok);
	}
	gen_count_error(g, UERROR_READ, loc,
	                space == SPACE_USER ? "probe_read_user_str" : "probe_read_kernel_str");
	code_goto(&g->c, done);
	code_bind(&g->c, ok);
	if (cut_matters)
		gen_count_cut(g, max, loc);
	code_bind(&g->c, done);
	frame_release(g, m);
}

static void extend(struct gen *g, const struct type *t)
{
	if (t->is_signed)
		gen_narrow(g, t, R0); /* loads have zero-extended already */
}

void gen_read_scalar(struct gen *g, enum space space, const struct type *t, struct loc loc)
{
	struct mark m = frame_mark(g);
	struct mem slot = frame_alloc(g, 8);

	gen_probe_read(g, space, t->size, slot, loc);
	mem_load(g, t->size, R0, slot);
	extend(g, t);
	frame_release(g, m);
}

/* ---- where things are ----------------------------------------------------------------------- */

static bool is_args(const struct node *n)
{
	return n->kind == NODE_BUILTIN && n->builtin.b && n->builtin.b->id == BUILTIN_ARGS;
}

bool gen_is_foreign(const struct node *n)
{
	const struct node *e;

	if (n->kind == NODE_UNARY)
		return n->unary.op == OP_DEREF;
	if (n->kind == NODE_BLOCK)
		return n->result && gen_is_foreign(n->result);
	if (n->kind == NODE_FIELD && n->field.own)
		return false;
	if (n->kind == NODE_FIELD)
		e = n->field.e;
	else if (n->kind == NODE_INDEX)
		e = n->index.e;
	else
		return false;
	return e->type->kind == TYPE_PTR || is_args(e) || gen_is_foreign(e);
}

/* r0 = address of a tracepoint record's field. */
static enum space record_address(struct gen *g, const struct field *f)
{
	if (f->data_loc || f->rel_loc) {
		code_load(&g->c, 4, R0, CTX, (s32)f->off);
		code_alu_imm(&g->c, BPF_AND, R0, 0xffff);
		code_alu(&g->c, BPF_ADD, R0, CTX);
		if (f->rel_loc)
			code_alu_imm(&g->c, BPF_ADD, R0, (s32)f->off + 4);
	} else {
		code_mov(&g->c, R0, CTX);
		code_alu_imm(&g->c, BPF_ADD, R0, (s32)f->off);
	}
	return SPACE_KERNEL;
}

static enum space field_address(struct gen *g, const struct node *n)
{
	const struct node *e = n->field.e;
	enum space space;

	if (gen_uarg(g, n))
		return gen_uarg_address(g, gen_uarg(g, n));
	if (is_args(e))
		return record_address(g, &n->field.f);
	if (e->type->kind == TYPE_PTR) {
		gen_value(g, e);
		space = gen_space(g, e);
	} else {
		space = gen_address(g, e);
	}
	if (n->field.f.off)
		code_alu_imm(&g->c, BPF_ADD, R0, (s32)n->field.f.off);
	return space;
}

/* r0 += i * step; out of the array's bounds the address becomes 0, so that the read fails. */
static void add_index(struct gen *g, const struct node *n, u32 count, u32 step)
{
	const struct node *i = n->index.i;
	u32 bad = code_label(&g->c), done = code_label(&g->c);
	struct temp base;

	if (i->kind == NODE_INT) {
		if (i->integer.value)
			code_alu_imm(&g->c, BPF_ADD, R0, (s32)((s64)i->integer.value * step));
		code_bind(&g->c, bad);
		code_bind(&g->c, done);
		return;
	}
	base = temp_save(g, R0);
	gen_value(g, i);
	if (count)
		code_if_imm(&g->c, BPF_JGE, R0, (s32)count, bad);
	code_alu_imm(&g->c, BPF_MUL, R0, (s32)step);
	temp_load(g, base, R1);
	code_alu(&g->c, BPF_ADD, R0, R1);
	code_goto(&g->c, done);
	code_bind(&g->c, bad);
	if (count) {
		gen_count_error(g, UERROR_BOUNDS, n->loc, "[]");
		code_const(&g->c, R0, 0);
	}
	code_bind(&g->c, done);
}

static enum space index_address(struct gen *g, const struct node *n)
{
	const struct node *e = n->index.e;
	enum space space;

	if (e->type->kind == TYPE_PTR) {
		gen_value(g, e);
		space = gen_space(g, e);
		add_index(g, n, 0, gen_step(e->type));
	} else {
		space = gen_address(g, e);
		add_index(g, n, e->type->count,
		          e->type->kind == TYPE_STR ? 1 : MAX(e->type->elem->size, 1u));
	}
	return space;
}

enum space gen_address(struct gen *g, const struct node *n)
{
	switch (n->kind) {
	case NODE_FIELD:
		return field_address(g, n);
	case NODE_INDEX:
		return index_address(g, n);
	case NODE_UNARY:
		gen_value(g, n->unary.e);
		return gen_space(g, n->unary.e);
	case NODE_BLOCK:
		gen_block(g, n);
		return gen_address(g, n->result);
	default:
		gen_error(g, n->loc, "this has no address");
		return SPACE_NONE;
	}
}

/* ---- scalar fields, elements, pointees ------------------------------------------------------- */

/* Cuts a bit-field out of the bytes in r0. */
static void cut_bits(struct gen *g, const struct field *f)
{
	code_alu_imm(&g->c, BPF_LSH, R0, 64 - f->bit_off - f->bit_size);
	code_alu_imm(&g->c, f->type->is_signed ? BPF_ARSH : BPF_RSH, R0, 64 - f->bit_size);
}

/* The integer that holds a bit-field. */
static const struct type *bits_word(const struct field *f)
{
	u32 bytes = ((u32)f->bit_off + f->bit_size + 7) / 8;

	return type_int(bytes > 4 ? 8 : bytes > 2 ? 4 : bytes, false);
}

static void read_bits(struct gen *g, const struct node *n, enum space space)
{
	code_mov(&g->c, R3, R0);
	gen_read_scalar(g, space, bits_word(&n->field.f), n->loc);
	cut_bits(g, &n->field.f);
}

/* A field of a tracepoint's record can be loaded from the context directly. */
static bool record_field(struct gen *g, const struct node *n)
{
	const struct field *f = &n->field.f;
	const struct uarg *u = gen_uarg(g, n);

	if (!is_args(n->field.e) || (u && u->at.form != CALLS_REGISTERS))
		return false;
	if (u) {
		gen_uarg_value(g, u, n->type);
		return true;
	}
	if (attach_kind_args(g->v->kind) != KIND_ARGS_RECORD) {
		gen_arg(g, n->field.arg, n->loc);
		gen_narrow(g, n->type, R0);
		return true;
	}
	if (f->bit_size || f->data_loc || f->rel_loc || f->off % n->type->size)
		return false;
	code_load(&g->c, n->type->size, R0, CTX, (s32)f->off);
	extend(g, n->type);
	return true;
}

/* A field of a struct of ours. */
static void own_field(struct gen *g, const struct node *n)
{
	const struct field *f = &n->field.f;
	u32 size = f->bit_size ? bits_word(f)->size : n->type->size;

	if (!gen_uarg_part(g, n, size))
		mem_load_any(g, size, R0, gen_part(g, n));
	if (f->bit_size)
		cut_bits(g, f);
	else
		extend(g, n->type);
}

void gen_field(struct gen *g, const struct node *n)
{
	enum space space;

	if (record_field(g, n))
		return;
	if (!gen_is_foreign(n)) {
		own_field(g, n);
		return;
	}
	space = gen_address(g, n);
	if (n->field.f.bit_size) {
		read_bits(g, n, space);
		return;
	}
	code_mov(&g->c, R3, R0);
	gen_read_scalar(g, space, n->type, n->loc);
}

/* An element of an array or string in our own memory. */
static void own_element(struct gen *g, const struct node *n)
{
	const struct type *t = n->index.e->type;
	u32 step = t->kind == TYPE_STR ? 1 : MAX(t->elem->size, 1u);
	u32 bad = code_label(&g->c), done = code_label(&g->c);
	struct mem m;

	if (n->index.i->kind == NODE_INT && gen_uarg_part(g, n, n->type->size)) {
		extend(g, n->type);
		code_bind(&g->c, bad);
		code_bind(&g->c, done);
		return;
	}
	m = gen_part(g, n->index.e);
	if (n->index.i->kind == NODE_INT) {
		mem_load_any(g, n->type->size, R0,
		             mem_at(m, (s32)(n->index.i->integer.value * step)));
		extend(g, n->type);
		code_bind(&g->c, bad);
		code_bind(&g->c, done);
		return;
	}
	gen_value(g, n->index.i);
	code_if_imm(&g->c, BPF_JGE, R0, (s32)t->count, bad);
	code_alu_imm(&g->c, BPF_MUL, R0, (s32)step);
	mem_addr(g, m, R1);
	code_alu(&g->c, BPF_ADD, R1, R0);
	code_load(&g->c, n->type->size, R0, R1, 0);
	extend(g, n->type);
	code_goto(&g->c, done);
	code_bind(&g->c, bad);
	gen_count_error(g, UERROR_BOUNDS, n->loc, "[]");
	code_const(&g->c, R0, 0);
	code_bind(&g->c, done);
}

void gen_index(struct gen *g, const struct node *n)
{
	enum space space;

	if (!gen_is_foreign(n)) {
		own_element(g, n);
		return;
	}
	space = gen_address(g, n);
	code_mov(&g->c, R3, R0);
	gen_read_scalar(g, space, n->type, n->loc);
}

void gen_deref(struct gen *g, const struct node *n)
{
	enum space space = gen_address(g, n);

	code_mov(&g->c, R3, R0);
	gen_read_scalar(g, space, n->type, n->loc);
}
