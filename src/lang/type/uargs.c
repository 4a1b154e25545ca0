/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Places of arguments at the entry of a function.
 *
 * The one idea: where a value is follows from its type alone, so nothing but the types of the
 * parameters is read; what the compiler wrote about places is for the middle of a function.
 *
 * C's convention is the machine's (arch/calls.h) and is told the scalars of a value. Go
 * (cmd/compile/abi-internal.md): each leaf of a value takes a register of its own, or all of the
 * value is in memory; machines differ in the registers only.
 *
 * eBPF is not shown floating-point registers; values there are known and can not be read.
 */
#include "lang/type/uargs.h"

#include <string.h>

#include "lang/type/debug_type.h"

#define NEST_MAX 8u

/* Whose arguments they are, and what they have taken so far. */
struct places {
	struct script *s;
	struct dwarf_file *d;
	struct calls_used used;
};

/* ---- C -------------------------------------------------------------------------------------- */

/* The scalars of a value, to whoever asks. */
struct scalars {
	struct dwarf_file *d;
	calls_scalar_fn *scalar;
	void *to;
	u64 base;
	u32 depth;
};

static void scalars_of(struct scalars *w, u32 die, u64 off);

static bool scalars_of_field(void *ctx, const struct dwarf_field *f)
{
	struct scalars *w = ctx;

	if (f->bit_size)
		w->scalar(w->to, w->base + f->off + f->bit_off / 8,
		          (f->bit_size + f->bit_off % 8 + 7) / 8, CALLS_BITS);
	else
		scalars_of(w, f->type, w->base + f->off);
	return true;
}

static void scalars_of_record(struct scalars *w, const struct dwarf_type *t, u64 off)
{
	u64 outer = w->base;

	w->base = off;
	dwarf_type_fields(w->d, t->die, scalars_of_field, w);
	w->base = outer;
}

static void scalars_of_array(struct scalars *w, const struct dwarf_type *t, u64 off)
{
	struct dwarf_type elem;
	u64 n = 1;

	if (!dwarf_type_read(w->d, t->target, &elem) || !elem.size)
		return;
	for (u32 i = 0; i < t->n_dims; i++)
		n *= MIN(t->dims[i], 64u);
	for (u64 i = 0; i < MIN(n, (u64)64); i++)
		scalars_of(w, t->target, off + i * elem.size);
}

/* long double and __float128 have the same size; both may be parts of a complex number. */
static enum calls_scalar float_scalar(const struct dwarf_type *t)
{
	bool is_long = t->is_complex  ? t->size > 16
	               : t->is_vector ? false
	                              : t->size > 8 && !(t->name && strstr(t->name, "128"));

	return is_long ? CALLS_LONG_DOUBLE : CALLS_FLOAT;
}

static void scalars_of(struct scalars *w, u32 die, u64 off)
{
	struct dwarf_type t;

	if (w->depth > NEST_MAX || !dwarf_type_read(w->d, die, &t))
		return;
	w->depth++;
	switch (t.kind) {
	case DWARF_RECORD:
		scalars_of_record(w, &t, off);
		break;
	case DWARF_ARRAY:
		scalars_of_array(w, &t, off);
		break;
	case DWARF_FLOAT:
		w->scalar(w->to, off, t.size, float_scalar(&t));
		break;
	case DWARF_VOID:
		break;
	default:
		w->scalar(w->to, off, t.size, CALLS_INTEGER);
		break;
	}
	w->depth--;
}

struct value {
	struct dwarf_file *d;
	u32 die;
};

static void each_scalar(const struct calls_value *v, calls_scalar_fn *scalar, void *to)
{
	const struct value *of = v->ctx;
	struct scalars w = { .d = of->d, .scalar = scalar, .to = to };

	scalars_of(&w, of->die, 0);
}

/* `of` lives as long as the answer. */
static struct calls_value value_of(const struct dwarf_type *t, struct value *of)
{
	return (struct calls_value){
		.size = t->size,
		.is_aggregate = t->kind == DWARF_RECORD || t->kind == DWARF_ARRAY,
		.by_reference = t->kind == DWARF_RECORD && t->by_reference,
		.is_vector = t->is_vector,
		.is_wide = (t->kind == DWARF_INT || t->kind == DWARF_FLOAT) && t->size >= 16,
		.each = each_scalar,
		.ctx = of,
	};
}

static void c_place(struct places *p, struct uarg *u, const struct dwarf_type *t)
{
	struct value of = { p->d, u->die };
	struct calls_value v = value_of(t, &of);

	calls_place(&p->used, &v, &u->at);
}

/* ---- Go ------------------------------------------------------------------------------------- */

struct go_walk {
	struct places *p;
	struct uarg *u;
	u64 base;
	u32 depth;
	bool fits;
};

static void go_value(struct go_walk *w, u32 die, u64 off);

static bool go_field(void *ctx, const struct dwarf_field *f)
{
	struct go_walk *w = ctx;

	go_value(w, f->type, w->base + f->off);
	return w->fits;
}

static void go_leaf(struct go_walk *w, u64 off, u64 size, bool is_float)
{
	struct calls_used *p = &w->p->used;
	struct calls_place *at = &w->u->at;

	if (at->n_pieces == ARCH_INTS || (is_float && p->floats_used == p->n_floats) ||
	    (!is_float && p->ints_used == p->n_ints)) {
		w->fits = false;
		return;
	}
	at->pieces[at->n_pieces++] = (struct calls_piece){
		.reg = is_float ? NULL : p->ints[p->ints_used],
		.off = (u32)off,
		.size = (u32)size,
	};
	p->ints_used += !is_float;
	p->floats_used += is_float;
}

static void go_record(struct go_walk *w, const struct dwarf_type *t, u64 off)
{
	u64 outer = w->base;

	w->base = off;
	dwarf_type_fields(w->p->d, t->die, go_field, w);
	w->base = outer;
}

static void go_value(struct go_walk *w, u32 die, u64 off)
{
	struct dwarf_type t;

	if (w->depth > NEST_MAX || !dwarf_type_read(w->p->d, die, &t)) {
		w->fits = false;
		return;
	}
	w->depth++;
	if (t.kind == DWARF_RECORD) {
		go_record(w, &t, off);
	} else if (t.kind == DWARF_ARRAY && t.n_dims == 1 && t.dims[0] <= 1) {
		if (t.dims[0])
			go_value(w, t.target, off);
	} else if (t.kind == DWARF_ARRAY) {
		w->fits = false;
	} else if (t.is_complex) {
		go_leaf(w, off, t.size / 2, true);
		go_leaf(w, off + t.size / 2, t.size / 2, true);
	} else {
		go_leaf(w, off, t.size ? t.size : 8, t.kind == DWARF_FLOAT);
	}
	w->depth--;
}

static u64 go_align(struct dwarf_file *d, u32 die, u32 depth);

struct go_widest {
	struct dwarf_file *d;
	u64 align;
	u32 depth;
};

static bool widest(void *ctx, const struct dwarf_field *f)
{
	struct go_widest *w = ctx;

	w->align = MAX(w->align, go_align(w->d, f->type, w->depth));
	return true;
}

static u64 go_align(struct dwarf_file *d, u32 die, u32 depth)
{
	struct go_widest w = { d, 1, depth + 1 };
	struct dwarf_type t;

	if (depth > NEST_MAX || !dwarf_type_read(d, die, &t))
		return 8;
	if (t.kind == DWARF_ARRAY)
		return go_align(d, t.target, depth + 1);
	if (t.kind != DWARF_RECORD)
		return t.size >= 8 || !t.size ? 8 : t.size;
	dwarf_type_fields(d, t.die, widest, &w);
	return w.align;
}

static void go_place(struct places *p, struct uarg *u, const struct dwarf_type *t)
{
	struct go_walk w = { .p = p, .u = u, .fits = true };
	struct calls_used before = p->used;

	u->at.form = CALLS_REGISTERS;
	go_value(&w, u->die, 0);
	if (w.fits)
		return;
	p->used = before;
	u->at.n_pieces = 0;
	calls_on_stack(&p->used, &u->at, t->size, go_align(p->d, u->die, 0));
}

/* ---- all of a function ---------------------------------------------------------------------- */

/* A scalar in a floating-point register, or of a type without values here. */
static void check_readable(struct uarg *u, const struct dwarf_type *t)
{
	if (u->at.why) {
		u->at.form = CALLS_NOWHERE;
	} else if (t->kind == DWARF_FLOAT) {
		u->at.form = CALLS_NOWHERE;
		u->at.why = "it is a floating-point number, which eBPF can not read";
	} else if (u->type->kind == TYPE_NONE || !u->type->size) {
		u->at.form = CALLS_NOWHERE;
		u->at.why = t->size == 16
		                    ? "integers of 128 bits have no type here"
		                    : "its type is not known to the program's debug information";
	}
}

static void place_arg(struct places *p, struct uarg *u, bool is_go)
{
	struct dwarf_type t = { 0 };

	u->type = debug_type(p->s, p->d, u->die);
	if (!dwarf_type_read(p->d, u->die, &t)) {
		u->at.why = "its type is not known to the program's debug information";
		p->used.ints_used += p->used.ints_used < p->used.n_ints;
		return;
	}
	if (is_go)
		go_place(p, u, &t);
	else
		c_place(p, u, &t);
	check_readable(u, &t);
}

/* A result in memory: where it is to be is an argument, which scripts do not see. */
static bool hidden_result(struct places *p, u32 returns)
{
	struct value of = { p->d, returns };
	struct calls_value v;
	struct dwarf_type t;

	if (!returns || !dwarf_type_read(p->d, returns, &t))
		return false;
	v = value_of(&t, &of);
	return calls_hides_result(&p->used, &v);
}

static struct places places_of(struct script *s, struct dwarf_file *d, const struct arch_calls *c)
{
	return (struct places){ s,
		                d,
		                { .ints = c->ints,
		                  .n_ints = c->n_ints,
		                  .n_floats = c->n_floats,
		                  .stack_at = c->stack_at } };
}

struct uargs *uargs_of(struct script *s, struct dwarf_file *d, const struct dwarf_func *f)
{
	struct places p = places_of(s, d, f->is_go ? &arch.go : &arch.c);
	struct uargs *all = arena_new(s->arena, struct uargs);

	if (f->is_stack) /* Go, before its functions took registers */
		p.used.n_ints = p.used.n_floats = 0;
	if (!f->is_go)
		hidden_result(&p, f->returns);
	all->dwarf = d;
	all->function = f->name ? f->name : "";
	all->returns = f->returns;
	all->v = arena_array(s->arena, struct uarg, f->args.n);
	for (u32 i = 0; i < f->args.n; i++) {
		struct uarg *u = &all->v[all->n++];

		u->name = f->args.v[i].name;
		u->die = f->args.v[i].type;
		place_arg(&p, u, f->is_go);
	}
	return all;
}

void uargs_result(struct script *s, struct dwarf_file *d, u32 returns, struct uarg *r)
{
	struct places p = places_of(s, d, &arch.c);

	p.used.ints = arch.c.results;
	p.used.n_ints = arch.c.n_results;
	p.used.n_floats = arch.c.n_float_results;
	*r = (struct uarg){ .name = "retval", .die = returns };
	if (hidden_result(&p, returns)) {
		r->type = debug_type(s, d, returns);
		if (!arch.c.result_address) {
			r->at.why = "its address is not kept until the function returns";
			return;
		}
		r->at.form = CALLS_POINTED;
		r->at.pieces[0] = (struct calls_piece){ arch.c.result_address, 0, 8 };
		r->at.n_pieces = 1;
		return;
	}
	place_arg(&p, r, false);
}

static bool same_place(const struct calls_place *a, const struct calls_place *b)
{
	if (a->form != b->form || a->stack != b->stack || a->n_pieces != b->n_pieces)
		return false;
	for (u32 i = 0; i < a->n_pieces; i++)
		if (a->pieces[i].reg != b->pieces[i].reg || a->pieces[i].off != b->pieces[i].off ||
		    a->pieces[i].size != b->pieces[i].size)
			return false;
	return true;
}

static bool same_arg(const struct uarg *a, const struct uarg *b)
{
	return strcmp(a->name, b->name) == 0 && type_eq(a->type, b->type) &&
	       same_place(&a->at, &b->at);
}

bool uargs_eq(const struct uargs *a, const struct uargs *b)
{
	if (a->n != b->n || a->dwarf != b->dwarf || a->returns != b->returns)
		return false;
	for (u32 i = 0; i < a->n; i++)
		if (!same_arg(&a->v[i], &b->v[i]))
			return false;
	return true;
}
