/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Scalar expressions. Every one leaves its value in r0, extended to 64 bits by its type. A
 * right operand that one instruction can load goes to r1 directly; any other is computed while
 * the left one waits in a saved place.
 */
#include "gen/emit.h"

#include <assert.h>

void gen_narrow(struct gen *g, const struct type *t, enum reg r)
{
	u32 shift = 64 - t->size * 8;

	if ((t->kind != TYPE_INT && t->kind != TYPE_BOOL) || t->size >= 8)
		return;
	if (t->is_signed) {
		code_alu_imm(&g->c, BPF_LSH, r, (s32)shift);
		code_alu_imm(&g->c, BPF_ARSH, r, (s32)shift);
	} else if (t->size == 4) {
		code_alu32(&g->c, BPF_MOV, r, r);
	} else {
		code_alu_imm(&g->c, BPF_AND, r, t->size == 2 ? 0xffff : 0xff);
	}
}

u32 gen_step(const struct type *t)
{
	if (t->kind != TYPE_PTR || !t->elem || t->elem->kind == TYPE_NONE)
		return 1;
	return MAX(t->elem->size, 1u);
}

/* Loads n into dst if that takes no call and no other register; false and nothing otherwise. */
static bool load_direct(struct gen *g, const struct node *n, enum reg dst)
{
	switch (n->kind) {
	case NODE_INT:
		code_const(&g->c, dst, n->integer.value);
		return true;
	case NODE_VAR:
		if (!gen_is_word(n->type))
			return false;
		mem_load(g, 8, dst, g->vars[n->var.sym->index]);
		return true;
	case NODE_BUILTIN:
		return gen_builtin_direct(g, n, dst);
	default:
		return false;
	}
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

/* r0 = |r0| / |r1| or |r0| % |r1| with the sign put back; r1 is not 0. Uses r2-r4. */
static void signed_divide(struct gen *g, bool modulo)
{
	struct code *c = &g->c;
	u32 left = code_label(c), right = code_label(c), done = code_label(c);

	code_mov(c, R2, R0); /* sign of the result is in r2's top bit */
	if (!modulo)
		code_alu(c, BPF_XOR, R2, R1);
	code_if_imm(c, BPF_JSGE, R0, 0, left);
	code_alu_imm(c, BPF_NEG, R0, 0);
	code_bind(c, left);
	code_if_imm(c, BPF_JSGE, R1, 0, right);
	code_alu_imm(c, BPF_NEG, R1, 0);
	code_bind(c, right);
	code_alu(c, modulo ? BPF_MOD : BPF_DIV, R0, R1);
	code_if_imm(c, BPF_JSGE, R2, 0, done);
	code_alu_imm(c, BPF_NEG, R0, 0);
	code_bind(c, done);
}

/* Division by zero gives 1 and is counted. */
static void divide(struct gen *g, bool modulo, bool is_signed, struct loc loc)
{
	struct code *c = &g->c;
	u32 ok = code_label(c), done = code_label(c);

	code_if_imm(c, BPF_JNE, R1, 0, ok);
	gen_count_error(g, UERROR_DIV_ZERO, loc, modulo ? "%" : "/");
	code_const(c, R0, 1);
	code_goto(c, done);
	code_bind(c, ok);
	if (is_signed)
		signed_divide(g, modulo);
	else
		code_alu(c, modulo ? BPF_MOD : BPF_DIV, R0, R1);
	code_bind(c, done);
}

static u8 alu_of(enum op op, bool is_signed)
{
	switch (op) {
	case OP_ADD:
		return BPF_ADD;
	case OP_SUB:
		return BPF_SUB;
	case OP_MUL:
		return BPF_MUL;
	case OP_AND:
		return BPF_AND;
	case OP_OR:
		return BPF_OR;
	case OP_XOR:
		return BPF_XOR;
	case OP_SHL:
		return BPF_LSH;
	default:
		return is_signed ? BPF_ARSH : BPF_RSH;
	}
}

void gen_arith(struct gen *g, enum op op, bool is_signed, struct loc loc)
{
	if (op == OP_DIV || op == OP_MOD)
		divide(g, op == OP_MOD, is_signed, loc);
	else
		code_alu(&g->c, alu_of(op, is_signed), R0, R1);
}

/* The constant of n as an immediate operand. */
static bool small_const(const struct node *n, s32 *imm)
{
	if (n->kind != NODE_INT || (s64)n->integer.value != (s32)n->integer.value)
		return false;
	*imm = (s32)n->integer.value;
	return true;
}

/* Where two values are: the left one in r0 and the right one in r1, or the left one in one of
 * r7-r9, to be changed at will, and the right one in r0. */
struct two {
	enum reg left, right;
};

static struct two two_values(struct gen *g, const struct node *left, const struct node *right)
{
	struct mark m = frame_mark(g);
	struct two two = { R0, R1 };
	struct temp t;

	gen_value(g, left);
	if (load_direct(g, right, R1))
		return two;
	t = temp_save(g, R0);
	gen_value(g, right);
	if (t.in_reg) {
		two = (struct two){ t.reg, R0 };
	} else {
		code_mov(&g->c, R1, R0);
		temp_load(g, t, R0);
	}
	frame_release(g, m);
	return two;
}

static bool op_commutes(enum op op)
{
	return op == OP_ADD || op == OP_MUL || op == OP_AND || op == OP_OR || op == OP_XOR;
}

/* r0 = left op right. */
static void join_two(struct gen *g, enum op op, struct two two, bool is_signed, struct loc loc)
{
	if (two.left == R0 || op == OP_DIV || op == OP_MOD) {
		code_mov(&g->c, R1, two.right);
		code_mov(&g->c, R0, two.left);
		gen_arith(g, op, is_signed, loc);
	} else if (op_commutes(op)) {
		code_alu(&g->c, alu_of(op, is_signed), R0, two.left);
	} else {
		code_alu(&g->c, alu_of(op, is_signed), two.left, R0);
		code_mov(&g->c, R0, two.left);
	}
}

static void scale(struct gen *g, enum reg r, u32 step)
{
	if (step > 1)
		code_alu_imm(&g->c, BPF_MUL, r, (s32)step);
}

static bool power_of_two(s32 v, s32 *log)
{
	if (v <= 0 || (v & (v - 1)))
		return false;
	*log = __builtin_ctz((u32)v);
	return true;
}

/* r0 = r0 / imm or r0 % imm, imm above zero. */
static void divide_imm(struct gen *g, bool modulo, s32 imm)
{
	s32 log;

	if (!power_of_two(imm, &log))
		code_alu_imm(&g->c, modulo ? BPF_MOD : BPF_DIV, R0, imm);
	else if (modulo)
		code_alu_imm(&g->c, BPF_AND, R0, imm - 1);
	else
		code_alu_imm(&g->c, BPF_RSH, R0, log);
}

/* The same for a signed r0: rounds toward zero, the remainder has the sign of r0. */
static void signed_divide_imm(struct gen *g, bool modulo, s32 imm)
{
	u32 positive = code_label(&g->c), done = code_label(&g->c);

	code_if_imm(&g->c, BPF_JSGE, R0, 0, positive);
	code_alu_imm(&g->c, BPF_NEG, R0, 0);
	divide_imm(g, modulo, imm);
	code_alu_imm(&g->c, BPF_NEG, R0, 0);
	code_goto(&g->c, done);
	code_bind(&g->c, positive);
	divide_imm(g, modulo, imm);
	code_bind(&g->c, done);
}

/* r0 = r0 op imm where a shorter form than the general one exists. */
static bool arith_imm(struct gen *g, enum op op, bool is_signed, s32 imm)
{
	if (op == OP_DIV || op == OP_MOD) {
		if (imm <= 0)
			return false;
		if (is_signed)
			signed_divide_imm(g, op == OP_MOD, imm);
		else
			divide_imm(g, op == OP_MOD, imm);
		return true;
	}
	if ((op == OP_SHL || op == OP_SHR) && (imm < 0 || imm > 63))
		return false;
	code_alu_imm(&g->c, alu_of(op, is_signed), R0, imm);
	return true;
}

static void arithmetic(struct gen *g, const struct node *n)
{
	enum op op = n->binary.op;
	const struct node *left = n->binary.left, *right = n->binary.right;
	u32 ls = gen_step(left->type), rs = gen_step(right->type);
	bool is_signed = n->binary.is_signed;
	bool pointers = left->type->kind == TYPE_PTR && right->type->kind == TYPE_PTR;
	struct two two;
	s32 imm;

	if (ls == 1 && rs == 1 && small_const(right, &imm)) {
		gen_value(g, left);
		if (arith_imm(g, op, is_signed, imm))
			return;
		code_const(&g->c, R1, (u64)(s64)imm);
		gen_arith(g, op, is_signed, n->loc);
		return;
	}
	two = two_values(g, left, right);
	if (!pointers) {
		scale(g, two.right, ls); /* p + n moves by n pointees */
		scale(g, two.left, rs);
	}
	join_two(g, op, two, is_signed, n->loc);
}

/* ---- truth ---------------------------------------------------------------------------------- */

static u8 jump_of(enum op op, bool is_signed)
{
	switch (op) {
	case OP_EQ:
		return BPF_JEQ;
	case OP_NE:
		return BPF_JNE;
	case OP_LT:
		return is_signed ? BPF_JSLT : BPF_JLT;
	case OP_LE:
		return is_signed ? BPF_JSLE : BPF_JLE;
	case OP_GT:
		return is_signed ? BPF_JSGT : BPF_JGT;
	default:
		return is_signed ? BPF_JSGE : BPF_JGE;
	}
}

static enum op op_inverse(enum op op)
{
	switch (op) {
	case OP_EQ:
		return OP_NE;
	case OP_NE:
		return OP_EQ;
	case OP_LT:
		return OP_GE;
	case OP_LE:
		return OP_GT;
	case OP_GT:
		return OP_LE;
	default:
		return OP_LT;
	}
}

static void branch_compare(struct gen *g, const struct node *n, bool when, u32 label)
{
	const struct node *left = n->binary.left, *right = n->binary.right;
	enum op op = when ? n->binary.op : op_inverse(n->binary.op);
	u8 jump = jump_of(op, n->binary.is_signed);
	struct two two;
	s32 imm;

	if (!type_is_scalar(left->type)) {
		gen_string_eq(g, left, right, 0);
		code_if_imm(&g->c, op == OP_EQ ? BPF_JNE : BPF_JEQ, R0, 0, label);
		return;
	}
	if (small_const(right, &imm)) {
		gen_value(g, left);
		code_if_imm(&g->c, jump, R0, imm, label);
		return;
	}
	two = two_values(g, left, right);
	code_if(&g->c, jump, two.left, two.right, label);
}

/* a && b, a || b: jump when the whole is `when`. */
static void branch_logic(struct gen *g, const struct node *n, bool when, u32 label)
{
	bool is_or = n->binary.op == OP_LOR;
	u32 skip;

	if (is_or == when) { /* either one decides */
		gen_branch(g, n->binary.left, when, label);
		gen_branch(g, n->binary.right, when, label);
		return;
	}
	skip = code_label(&g->c);
	gen_branch(g, n->binary.left, !when, skip);
	gen_branch(g, n->binary.right, when, label);
	code_bind(&g->c, skip);
}

void gen_branch(struct gen *g, const struct node *n, bool when, u32 label)
{
	if (n->kind == NODE_BINARY && op_compares(n->binary.op)) {
		branch_compare(g, n, when, label);
	} else if (n->kind == NODE_BINARY && (n->binary.op == OP_LAND || n->binary.op == OP_LOR)) {
		branch_logic(g, n, when, label);
	} else if (n->kind == NODE_UNARY && n->unary.op == OP_NOT) {
		gen_branch(g, n->unary.e, !when, label);
	} else if (!type_is_scalar(n->type) && !type_is_agg(n->type)) {
		gen_error(g, n->loc, "a condition must be an integer, a bool or a pointer");
	} else {
		gen_value(g, n);
		code_if_imm(&g->c, when ? BPF_JNE : BPF_JEQ, R0, 0, label);
	}
}

static void truth_value(struct gen *g, const struct node *n)
{
	u32 no = code_label(&g->c), done = code_label(&g->c);

	gen_branch(g, n, false, no);
	code_const(&g->c, R0, 1);
	code_goto(&g->c, done);
	code_bind(&g->c, no);
	code_const(&g->c, R0, 0);
	code_bind(&g->c, done);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void ternary(struct gen *g, const struct node *n)
{
	const struct node *cond = n->ternary.cond;
	u32 no = code_label(&g->c), done = code_label(&g->c);

	if (cond->kind == NODE_INT && n->ternary.yes) {
		gen_effect(g, cond->integer.value ? n->ternary.yes : n->ternary.no);
		code_bind(&g->c, no);
		code_bind(&g->c, done);
		return;
	}
	if (!n->ternary.yes) { /* c ?: b */
		gen_value(g, n->ternary.cond);
		code_if_imm(&g->c, BPF_JNE, R0, 0, done);
	} else {
		gen_branch(g, n->ternary.cond, false, no);
		gen_effect(g, n->ternary.yes);
		code_goto(&g->c, done);
	}
	code_bind(&g->c, no);
	gen_effect(g, n->ternary.no);
	code_bind(&g->c, done);
}

static bool is_step(enum op op)
{
	return op >= OP_PREINC && op <= OP_POSTDEC;
}

/* ++ and -- on a variable. */
static void step_var(struct gen *g, const struct node *n)
{
	const struct node *e = n->unary.e;
	struct mem m = g->vars[e->var.sym->index];
	enum op op = n->unary.op;
	s32 by = (s32)gen_step(e->type);
	bool post = op == OP_POSTINC || op == OP_POSTDEC;

	if (op == OP_PREDEC || op == OP_POSTDEC)
		by = -by;
	mem_load(g, 8, R0, m);
	code_alu_imm(&g->c, BPF_ADD, R0, by);
	gen_narrow(g, e->type, R0);
	mem_store(g, 8, m, R0);
	if (!post)
		return;
	code_alu_imm(&g->c, BPF_ADD, R0, -by);
	gen_narrow(g, e->type, R0); /* it may have wrapped */
}

/* The address of a variable or of a map's value. It is to be a number for the kernel's verifier,
 * which would follow what is added to a pointer; negated twice it is one. */
static void address_of(struct gen *g, const struct node *e)
{
	if (e->kind == NODE_MAP)
		gen_map_find(g, e);
	else
		mem_addr(g, g->vars[e->var.sym->index], R0);
	code_alu_imm(&g->c, BPF_NEG, R0, 0);
	code_alu_imm(&g->c, BPF_NEG, R0, 0);
}

static void unary(struct gen *g, const struct node *n)
{
	const struct node *e = n->unary.e;

	if (n->unary.op == OP_DEREF) {
		gen_deref(g, n);
	} else if (n->unary.op == OP_ADDR) {
		address_of(g, e);
	} else if (n->unary.op == OP_NOT) {
		truth_value(g, n);
	} else if (is_step(n->unary.op)) {
		if (e->kind == NODE_MAP)
			gen_map_step(g, n);
		else
			step_var(g, n);
	} else {
		gen_value(g, e);
		if (n->unary.op == OP_NEG)
			code_alu_imm(&g->c, BPF_NEG, R0, 0);
		else
			code_alu_imm(&g->c, BPF_XOR, R0, -1);
	}
}

static void binary(struct gen *g, const struct node *n)
{
	enum op op = n->binary.op;

	if (op_compares(op) || op == OP_LAND || op == OP_LOR)
		truth_value(g, n);
	else
		arithmetic(g, n);
}

static void cast(struct gen *g, const struct node *n)
{
	const struct node *e = n->cast.e;

	assert(n->type);
	if (type_is_agg(e->type) || type_is_scalar(e->type)) {
		gen_value(g, e);
		if (n->type->kind == TYPE_BOOL) {
			u32 zero = code_label(&g->c);

			code_if_imm(&g->c, BPF_JEQ, R0, 0, zero);
			code_const(&g->c, R0, 1);
			code_bind(&g->c, zero);
		}
		gen_narrow(g, n->type, R0);
	} else {
		/* Bytes as an integer: arrays, buffers. */
		mem_load(g, n->type->size, R0, gen_place(g, e));
		gen_narrow(g, n->type, R0);
	}
}

static void tuple_at(struct gen *g, const struct node *n)
{
	struct mem m = gen_place(g, n->tuple_at.e);

	mem_load(g, 8, R0, mem_at(m, (s32)n->tuple_at.e->type->fields[n->tuple_at.i].off));
}

void gen_value(struct gen *g, const struct node *n)
{
	struct mark m = frame_mark(g);

	g->c.loc = n->loc.off;
	if (load_direct(g, n, R0))
		return;
	switch (n->kind) {
	case NODE_BUILTIN:
		gen_builtin(g, n);
		break;
	case NODE_CALL:
		gen_call(g, n);
		break;
	case NODE_MAP:
		gen_map_value(g, n);
		break;
	case NODE_UNARY:
		unary(g, n);
		break;
	case NODE_BINARY:
		binary(g, n);
		break;
	case NODE_TERNARY:
		ternary(g, n);
		break;
	case NODE_FIELD:
		gen_field(g, n);
		break;
	case NODE_INDEX:
		gen_index(g, n);
		break;
	case NODE_TUPLE_AT:
		tuple_at(g, n);
		break;
	case NODE_CAST:
		cast(g, n);
		break;
	case NODE_BLOCK:
		gen_block(g, n);
		if (n->result)
			gen_effect(g, n->result);
		break;
	default:
		gen_error(g, n->loc, "this can not be used as a number");
		break;
	}
	frame_release(g, m);
}

void gen_effect(struct gen *g, const struct node *n)
{
	struct mark m = frame_mark(g);

	if (n->kind == NODE_CALL && gen_record(g, n))
		;
	else if (n->type && n->type->kind != TYPE_NONE && !type_is_scalar(n->type) &&
	         !type_is_agg(n->type))
		gen_place(g, n);
	else
		gen_value(g, n);
	frame_release(g, m);
}
