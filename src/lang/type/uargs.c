/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Places of arguments at the entry of a function.
 *
 * The one idea: where a value is follows from its type alone, so nothing but the types of the
 * parameters is read; what the compiler wrote about places is for the middle of a function.
 *
 * System V AMD64 psABI 3.2.3: a value of up to 16 bytes is cut into two eightbytes, each of which
 * goes to an integer or a floating-point register by what lies in it; larger ones, and those
 * whose eightbytes find no room together, are in memory. Go (cmd/compile/abi-internal.md): each
 * leaf of a value takes a register of its own, or all of the value is in memory.
 *
 * eBPF is not shown floating-point registers; values there are known and can not be read.
 */
#include "lang/type/uargs.h"

#include <string.h>

#include "arch/arch.h"
#include "lang/type/debug_type.h"

#define NEST_MAX  8u
#define ALIGN_MAX 16u

/* Registers and stack given out so far. */
struct places {
	struct script *s;
	struct dwarf_file *d;
	const char *const *ints;
	u32 n_ints, n_floats;
	u32 stack_at; /* of the first argument in memory */
	u32 ints_used, floats_used;
	u64 stack;
};

/* ---- System V ------------------------------------------------------------------------------- */

enum class { CLASS_NONE, CLASS_INTEGER, CLASS_FLOAT, CLASS_MEMORY };

/* What the two eightbytes of a value hold. */
struct classes {
	struct dwarf_file *d;
	enum class v[2];
	u64 base;
	u32 depth;
};

static void merge(struct classes *c, u64 off, u64 size, enum class what)
{
	for (u64 i = off / 8; i <= (off + MAX(size, (u64)1) - 1) / 8; i++) {
		if (i > 1)
			c->v[0] = CLASS_MEMORY;
		else if (c->v[i] == CLASS_NONE || what == CLASS_MEMORY ||
		         (what == CLASS_INTEGER && c->v[i] != CLASS_MEMORY))
			c->v[i] = what;
	}
}

static void classify(struct classes *c, u32 die, u64 off);

static bool classify_field(void *ctx, const struct dwarf_field *f)
{
	struct classes *c = ctx;

	if (f->bit_size)
		merge(c, c->base + f->off + f->bit_off / 8, (f->bit_size + f->bit_off % 8 + 7) / 8,
		      CLASS_INTEGER);
	else
		classify(c, f->type, c->base + f->off);
	return true;
}

static void classify_record(struct classes *c, const struct dwarf_type *t, u64 off)
{
	u64 outer = c->base;

	c->base = off;
	dwarf_type_fields(c->d, t->die, classify_field, c);
	c->base = outer;
}

static void classify_array(struct classes *c, const struct dwarf_type *t, u64 off)
{
	struct dwarf_type elem;
	u64 n = 1;

	if (!dwarf_type_read(c->d, t->target, &elem) || !elem.size)
		return;
	for (u32 i = 0; i < t->n_dims; i++)
		n *= MIN(t->dims[i], 64u);
	for (u64 i = 0; i < MIN(n, (u64)64); i++)
		classify(c, t->target, off + i * elem.size);
}

static enum class float_class(const struct dwarf_type *t) {
	/* long double goes to memory, __float128 does not; their sizes are the same. */
	if (t->is_vector || t->is_complex || t->size <= 8) return t->is_complex && t->size > 16
		? CLASS_MEMORY
		: CLASS_FLOAT;
	return t->name && strstr(t->name, "128") ? CLASS_FLOAT : CLASS_MEMORY;
}

static void classify(struct classes *c, u32 die, u64 off)
{
	struct dwarf_type t;

	if (c->depth > NEST_MAX || !dwarf_type_read(c->d, die, &t))
		return;
	c->depth++;
	switch (t.kind) {
	case DWARF_RECORD:
		classify_record(c, &t, off);
		break;
	case DWARF_ARRAY:
		classify_array(c, &t, off);
		break;
	case DWARF_FLOAT:
		merge(c, off, t.size, float_class(&t));
		break;
	case DWARF_VOID:
		break;
	default: /* unaligned ones, of packed structs, send all to memory */
		merge(c, off, t.size,
		      t.size && off % MIN(t.size, (u64)8) ? CLASS_MEMORY : CLASS_INTEGER);
		break;
	}
	c->depth--;
}

static void on_stack(struct places *p, struct uarg *u, u64 size, u64 align)
{
	p->stack = ROUND_UP(p->stack, align);
	u->form = UARG_STACK;
	u->stack = (u32)(p->stack_at + p->stack);
	p->stack += size;
}

/* Only what has 16 bytes in one piece is aligned to them. */
static u64 c_align(const struct dwarf_type *t)
{
	bool wide = (t->kind == DWARF_INT || t->kind == DWARF_FLOAT) && t->size >= ALIGN_MAX;

	return wide ? ALIGN_MAX : 8;
}

/* Takes registers for the eightbytes, all or none. */
static bool take(struct places *p, struct uarg *u, const struct classes *c, u64 size)
{
	u32 ints = 0, floats = 0;

	for (u32 i = 0; i < 2; i++) {
		ints += c->v[i] == CLASS_INTEGER;
		floats += c->v[i] == CLASS_FLOAT;
	}
	if (p->ints_used + ints > p->n_ints || p->floats_used + floats > p->n_floats)
		return false;
	u->form = UARG_REGISTERS;
	for (u32 i = 0; i < 2 && i * 8 < size; i++) {
		bool integer = c->v[i] == CLASS_INTEGER;

		u->pieces[u->n_pieces++] = (struct upiece){
			.reg = integer ? p->ints[p->ints_used] : NULL,
			.off = i * 8,
			.size = (u32)MIN(size - i * 8, (u64)8),
		};
		p->ints_used += integer;
	}
	p->floats_used += floats;
	return true;
}

static void c_place(struct places *p, struct uarg *u, const struct dwarf_type *t)
{
	struct classes c = { .d = p->d };

	if (t->kind == DWARF_RECORD && t->by_reference) {
		struct classes pointer = { .v = { CLASS_INTEGER } };

		if (take(p, u, &pointer, 8))
			u->form = UARG_POINTED;
		else
			u->why = "it is passed by a pointer on the stack";
		if (u->why)
			p->stack += 8;
		return;
	}
	classify(&c, u->die, 0);
	if (t->is_vector && t->size > 16) /* one wide register */
		c.v[0] = CLASS_FLOAT, c.v[1] = CLASS_NONE;
	else if (t->size > 16)
		c.v[0] = CLASS_MEMORY;
	if (c.v[0] == CLASS_MEMORY || c.v[1] == CLASS_MEMORY || !take(p, u, &c, t->size))
		on_stack(p, u, ROUND_UP(t->size, (u64)8), c_align(t));
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
	struct places *p = w->p;

	if (w->u->n_pieces == ARCH_INTS || (is_float && p->floats_used == p->n_floats) ||
	    (!is_float && p->ints_used == p->n_ints)) {
		w->fits = false;
		return;
	}
	w->u->pieces[w->u->n_pieces++] = (struct upiece){
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
	u32 ints = p->ints_used, floats = p->floats_used;

	u->form = UARG_REGISTERS;
	go_value(&w, u->die, 0);
	if (w.fits)
		return;
	p->ints_used = ints;
	p->floats_used = floats;
	u->n_pieces = 0;
	on_stack(p, u, t->size, go_align(p->d, u->die, 0));
}

/* ---- all of a function ---------------------------------------------------------------------- */

/* A scalar in a floating-point register, or of a type without values here. */
static void check_readable(struct uarg *u, const struct dwarf_type *t)
{
	if (u->why) {
		u->form = UARG_NOWHERE;
	} else if (t->kind == DWARF_FLOAT) {
		u->form = UARG_NOWHERE;
		u->why = "it is a floating-point number, which eBPF can not read";
	} else if (u->type->kind == TYPE_NONE || !u->type->size) {
		u->form = UARG_NOWHERE;
		u->why = t->size == 16 ? "integers of 128 bits have no type here"
		                       : "its type is not known to the program's debug information";
	}
}

static void place_arg(struct places *p, struct uarg *u, bool is_go)
{
	struct dwarf_type t = { 0 };

	u->type = debug_type(p->s, p->d, u->die);
	if (!dwarf_type_read(p->d, u->die, &t)) {
		u->why = "its type is not known to the program's debug information";
		p->ints_used += p->ints_used < p->n_ints;
		return;
	}
	if (is_go)
		go_place(p, u, &t);
	else
		c_place(p, u, &t);
	check_readable(u, &t);
}

/* A result in memory: its address is the first argument, which scripts do not see. */
static bool hidden_result(struct places *p, u32 returns)
{
	struct classes c = { .d = p->d };
	struct dwarf_type t;

	if (!returns || !dwarf_type_read(p->d, returns, &t))
		return false;
	if (t.kind != DWARF_RECORD && t.kind != DWARF_ARRAY)
		return t.is_complex && t.size > 32;
	classify(&c, returns, 0);
	return t.by_reference || t.size > 16 || c.v[0] == CLASS_MEMORY || c.v[1] == CLASS_MEMORY;
}

static struct places places_of(struct script *s, struct dwarf_file *d, const struct arch_calls *c)
{
	return (struct places){ .s = s,
		                .d = d,
		                .ints = c->ints,
		                .n_ints = c->n_ints,
		                .n_floats = c->n_floats,
		                .stack_at = c->stack_at };
}

struct uargs *uargs_of(struct script *s, struct dwarf_file *d, const struct dwarf_func *f)
{
	struct places p = places_of(s, d, f->is_go ? &arch.go : &arch.c);
	struct uargs *all = arena_new(s->arena, struct uargs);

	if (f->is_stack) /* Go, before its functions took registers */
		p.n_ints = p.n_floats = 0;
	if (!f->is_go && hidden_result(&p, f->returns))
		p.ints_used++;
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

	p.ints = arch.c.results;
	p.n_ints = p.n_floats = arch.c.n_results;
	*r = (struct uarg){ .name = "retval", .die = returns };
	if (hidden_result(&p, returns)) {
		r->type = debug_type(s, d, returns);
		r->form = UARG_POINTED;
		r->pieces[0] = (struct upiece){ arch.c.results[0], 0, 8 };
		r->n_pieces = 1;
		return;
	}
	place_arg(&p, r, false);
}

static bool same_place(const struct uarg *a, const struct uarg *b)
{
	if (a->form != b->form || a->stack != b->stack || a->n_pieces != b->n_pieces ||
	    strcmp(a->name, b->name) != 0 || !type_eq(a->type, b->type))
		return false;
	for (u32 i = 0; i < a->n_pieces; i++)
		if (a->pieces[i].reg != b->pieces[i].reg || a->pieces[i].off != b->pieces[i].off ||
		    a->pieces[i].size != b->pieces[i].size)
			return false;
	return true;
}

bool uargs_eq(const struct uargs *a, const struct uargs *b)
{
	if (a->n != b->n || a->dwarf != b->dwarf || a->returns != b->returns)
		return false;
	for (u32 i = 0; i < a->n; i++)
		if (!same_place(&a->v[i], &b->v[i]))
			return false;
	return true;
}
