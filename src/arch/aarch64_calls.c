/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * AAPCS64 6.8: up to four floating-point numbers of one size go to a register each; other values of
 * up to 16 bytes to one or two integer registers; larger ones are copied, and their address is
 * passed. What finds no room closes the registers of its kind for all that follow.
 */
#include "arch/calls.h"

#if defined(__aarch64__)

#define FLOATS_MAX 4u /* of a homogeneous aggregate */

/* What a value is made of. */
struct parts {
	u32 n;
	u64 size; /* of each */
	bool differ;
};

static void count(void *to, u64 off, u64 size, enum calls_scalar what)
{
	struct parts *p = to;
	bool is_float = what == CALLS_FLOAT || what == CALLS_LONG_DOUBLE;

	(void)off;
	p->differ |= !is_float || (p->n && p->size != size);
	p->size = size;
	p->n++;
}

/* Floating-point registers that it takes, 0: it goes elsewhere. */
static u32 floats_of(const struct calls_value *v, struct parts *p)
{
	v->each(v, count, p);
	if (v->is_vector)
		return 1;
	return p->differ || p->n > FLOATS_MAX ? 0 : p->n;
}

static void on_stack(struct calls_used *u, struct calls_place *out, u64 size, u64 align)
{
	calls_on_stack(u, out, ROUND_UP(size, (u64)8), align);
}

static void place_floats(struct calls_used *u, const struct calls_value *v, struct calls_place *out,
                         u32 n, u64 size)
{
	if (u->floats_used + n > u->n_floats) {
		u->floats_used = u->n_floats;
		on_stack(u, out, v->size, size > 8 ? 16 : 8);
		return;
	}
	u->floats_used += n;
	out->form = CALLS_REGISTERS;
	for (u32 i = 0; i < n; i++)
		out->pieces[out->n_pieces++] = (struct calls_piece){
			.off = (u32)(i * size),
			.size = (u32)size,
		};
}

static void place_ints(struct calls_used *u, struct calls_place *out, u64 size, bool is_wide)
{
	u32 n = (u32)((size + 7) / 8);

	if (is_wide && u->ints_used < u->n_ints) /* from an even register on */
		u->ints_used = ROUND_UP(u->ints_used, 2u);
	if (u->ints_used + n > u->n_ints) {
		u->ints_used = u->n_ints;
		on_stack(u, out, size, is_wide ? 16 : 8);
		return;
	}
	out->form = CALLS_REGISTERS;
	for (u32 i = 0; i < n; i++)
		out->pieces[out->n_pieces++] = (struct calls_piece){
			.reg = u->ints[u->ints_used++],
			.off = i * 8,
			.size = (u32)MIN(size - i * 8, (u64)8),
		};
}

static void place_pointer(struct calls_used *u, struct calls_place *out)
{
	place_ints(u, out, 8, false);
	if (out->form == CALLS_REGISTERS) {
		out->form = CALLS_POINTED;
		return;
	}
	out->form = CALLS_NOWHERE;
	out->why = "it is passed by a pointer on the stack";
}

void calls_place(struct calls_used *u, const struct calls_value *v, struct calls_place *out)
{
	struct parts p = { 0 };
	u32 floats = v->by_reference ? 0 : floats_of(v, &p);

	if (floats)
		place_floats(u, v, out, floats, v->is_vector ? v->size : p.size);
	else if (v->by_reference || v->size > 16)
		place_pointer(u, out);
	else
		place_ints(u, out, v->size, v->is_wide);
}

/* Its address has a register of its own, x8. */
bool calls_hides_result(struct calls_used *u, const struct calls_value *v)
{
	struct parts p = { 0 };

	(void)u;
	if (!v->is_aggregate)
		return false;
	return v->by_reference || (!floats_of(v, &p) && v->size > 16);
}

#endif
