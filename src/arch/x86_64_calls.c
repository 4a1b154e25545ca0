/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System V AMD64 psABI 3.2.3: a value of up to 16 bytes is cut into two eightbytes, each of which
 * goes to an integer or a floating-point register by what lies in it; larger ones, and those
 * whose eightbytes find no room together, are in memory.
 */
#include "arch/calls.h"

#if defined(__x86_64__)

#define ALIGN_MAX 16u

enum class { CLASS_NONE, CLASS_INTEGER, CLASS_FLOAT, CLASS_MEMORY };

/* What the two eightbytes of a value hold. */
struct classes {
	enum class v[2];
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

static void classify(void *to, u64 off, u64 size, enum calls_scalar what)
{
	struct classes *c = to;

	switch (what) {
	case CALLS_INTEGER: /* unaligned ones, of packed structs, send all to memory */
		merge(c, off, size, size && off % MIN(size, (u64)8) ? CLASS_MEMORY : CLASS_INTEGER);
		break;
	case CALLS_BITS:
		merge(c, off, size, CLASS_INTEGER);
		break;
	case CALLS_FLOAT:
		merge(c, off, size, CLASS_FLOAT);
		break;
	case CALLS_LONG_DOUBLE:
		merge(c, off, size, CLASS_MEMORY);
		break;
	}
}

static bool in_memory(const struct classes *c)
{
	return c->v[0] == CLASS_MEMORY || c->v[1] == CLASS_MEMORY;
}

/* Takes registers for the eightbytes, all or none. */
static bool take(struct calls_used *u, struct calls_place *out, const struct classes *c, u64 size)
{
	u32 ints = 0, floats = 0;

	for (u32 i = 0; i < 2; i++) {
		ints += c->v[i] == CLASS_INTEGER;
		floats += c->v[i] == CLASS_FLOAT;
	}
	if (u->ints_used + ints > u->n_ints || u->floats_used + floats > u->n_floats)
		return false;
	out->form = CALLS_REGISTERS;
	for (u32 i = 0; i < 2 && i * 8 < size; i++) {
		bool integer = c->v[i] == CLASS_INTEGER;

		out->pieces[out->n_pieces++] = (struct calls_piece){
			.reg = integer ? u->ints[u->ints_used] : NULL,
			.off = i * 8,
			.size = (u32)MIN(size - i * 8, (u64)8),
		};
		u->ints_used += integer;
	}
	u->floats_used += floats;
	return true;
}

static void place_pointer(struct calls_used *u, struct calls_place *out)
{
	const struct classes pointer = { { CLASS_INTEGER } };

	if (take(u, out, &pointer, 8)) {
		out->form = CALLS_POINTED;
		return;
	}
	out->why = "it is passed by a pointer on the stack";
	u->stack += 8;
}

void calls_place(struct calls_used *u, const struct calls_value *v, struct calls_place *out)
{
	struct classes c = { 0 };

	if (v->by_reference) {
		place_pointer(u, out);
		return;
	}
	v->each(v, classify, &c);
	if (v->is_vector && v->size > 16) /* one wide register */
		c.v[0] = CLASS_FLOAT, c.v[1] = CLASS_NONE;
	else if (v->size > 16)
		c.v[0] = CLASS_MEMORY;
	/* Only what has 16 bytes in one piece is aligned to them. */
	if (in_memory(&c) || !take(u, out, &c, v->size))
		calls_on_stack(u, out, ROUND_UP(v->size, (u64)8), v->is_wide ? ALIGN_MAX : 8);
}

bool calls_hides_result(struct calls_used *u, const struct calls_value *v)
{
	struct classes c = { 0 };

	if (!v->is_aggregate) /* long double has a register for results */
		return false;
	v->each(v, classify, &c);
	if (!v->by_reference && v->size <= 16 && !in_memory(&c))
		return false;
	u->ints_used++;
	return true;
}

#endif
