/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The layout rules of C as compilers for Linux follow them, run against what BTF says. A struct is
 * tried plain, then packed; padding can always be added, so only members that lie before the place
 * the rules give them call for packing. Alignment wider than the members' needs no attribute: the
 * padding that is written out around it does the same. As a struct's own alignment depends on how
 * it is written, the answer is kept for those that contain it.
 */
#include "ctext/c_shape.h"

#include <stdlib.h>

/*
 * c_shapes.of: 0 not looked at; else the mode (of structs and unions; else C_PLAIN), or INCOMPLETE
 * for what no member can have as type, and above it the alignment's logarithm + 2.
 */
#define BUSY       (1u << 2)
#define INCOMPLETE 3u
#define MODE(v)    ((enum c_mode)((v)&3u))
#define ALIGN(v)   (1u << (((v) >> 2) - 2))
#define ALIGN_MAX  16u
#define DEPTH_MAX  1000u /* of types in each other */

bool c_shapes_init(struct c_shapes *s, const struct btf *btf)
{
	s->btf = btf;
	s->n = btf_count(btf);
	s->of = calloc(s->n, 1);
	s->size = calloc(s->n, sizeof(*s->size));
	return s->of && s->size;
}

void c_shapes_free(struct c_shapes *s)
{
	free(s->of);
	free(s->size);
	s->of = NULL;
	s->size = NULL;
}

static u32 scalar_align(u32 size)
{
	u32 align = 1;

	while (align < size && align < ALIGN_MAX)
		align *= 2;
	return align;
}

static u64 round_up(u64 n, u64 to)
{
	return (n + to - 1) / to * to;
}

bool c_shape_omits(const struct btf *btf, const struct btf_field *f)
{
	struct btf_info t;

	if (*f->name)
		return false;
	return f->bit_size || !btf_info(btf, btf_skip(btf, f->type), &t) ||
	       (t.kind != BTF_KIND_STRUCT && t.kind != BTF_KIND_UNION);
}

u32 c_shape_size(struct c_shapes *s, u32 id)
{
	if (id >= s->n)
		return 0;
	if (!s->size[id])
		s->size[id] = btf_size(s->btf, id) + 1;
	return s->size[id] - 1;
}

/* Would a bit-field at `pos` reach from one unit of its type into the next? */
static bool straddles(u64 pos, u32 bits, u64 unit)
{
	return pos / unit != (pos + bits - 1) / unit;
}

static bool step_bits(enum c_mode mode, const struct btf_field *f, u64 unit, u64 *pos, bool *pad)
{
	u64 natural = *pos;

	if (mode == C_PLAIN && straddles(natural, f->bit_size, unit))
		natural = round_up(natural, unit);
	if (f->bit_off < natural || (mode == C_PLAIN && straddles(f->bit_off, f->bit_size, unit)))
		return false;
	*pad = f->bit_off > natural;
	*pos = (u64)f->bit_off + f->bit_size;
	return true;
}

bool c_shape_step(struct c_shapes *s, enum c_mode mode, const struct btf_field *f, u64 *pos,
                  bool *pad)
{
	u64 size = (u64)c_shape_size(s, f->type) * 8;
	u64 unit = mode == C_PLAIN ? (u64)c_shape_align(s, f->type) * 8 : 8;
	u64 natural = round_up(*pos, unit);

	if (f->bit_size)
		return f->bit_size <= size && step_bits(mode, f, unit, pos, pad);
	if (f->bit_off < natural || f->bit_off % unit)
		return false;
	*pad = f->bit_off > natural;
	*pos = f->bit_off + size;
	return true;
}

static u8 shape(struct c_shapes *s, u32 id);

/* Has the type a definition, so that a member of it can be written? */
static bool is_complete(struct c_shapes *s, u32 id)
{
	return (shape(s, id) & 3u) != INCOMPLETE;
}

/* Tries to place all members; *align is what the whole then has. */
static bool fits(struct c_shapes *s, const struct btf_info *t, enum c_mode mode, u32 *align)
{
	u64 pos = 0, end = 0;
	struct btf_field f;
	bool pad;

	*align = 1;
	for (u32 i = 0; btf_field(s->btf, t, i, &f); i++) {
		if (c_shape_omits(s->btf, &f))
			continue;
		if (!is_complete(s, f.type))
			return false;
		if (t->kind == BTF_KIND_UNION)
			pos = 0;
		if (!c_shape_step(s, mode, &f, &pos, &pad) || (t->kind == BTF_KIND_UNION && pad))
			return false;
		if (mode == C_PLAIN)
			*align = MAX(*align, c_shape_align(s, f.type));
		end = MAX(end, pos);
	}
	return round_up(end, (u64)*align * 8) <= (u64)t->size * 8 && t->size % *align == 0;
}

static u8 pack(u32 mode, u32 align)
{
	u32 log = 0;

	while (1u << log < align)
		log++;
	return (u8)(mode | (log + 2) << 2);
}

static u8 look_composite(struct c_shapes *s, const struct btf_info *t)
{
	enum c_mode mode;
	u32 align;

	for (mode = C_PLAIN; mode < C_OPAQUE; mode++)
		if (fits(s, t, mode, &align))
			break;
	return pack(mode, mode == C_OPAQUE ? 1 : align);
}

static u8 look(struct c_shapes *s, const struct btf_info *t)
{
	u32 elem = 0, index, count;

	switch (t->kind) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return look_composite(s, t);
	case BTF_KIND_ARRAY:
		btf_array_of(s->btf, t, &elem, &index, &count);
		return shape(s, elem);
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return shape(s, t->type);
	case BTF_KIND_PTR:
		return pack(C_PLAIN, btf_pointer_size(s->btf));
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return pack(C_PLAIN, scalar_align(t->size));
	default:
		return pack(INCOMPLETE, 1);
	}
}

/* What is known of any type; one that contains itself is damaged. */
static u8 shape(struct c_shapes *s, u32 id)
{
	struct btf_info t;

	if (!id || id >= s->n)
		return pack(INCOMPLETE, 1);
	if (s->of[id])
		return s->of[id] == BUSY ? pack(INCOMPLETE, 1) : s->of[id];
	s->of[id] = BUSY;
	if (++s->depth > DEPTH_MAX || !btf_info(s->btf, id, &t))
		s->of[id] = pack(INCOMPLETE, 1);
	else
		s->of[id] = look(s, &t);
	s->depth--;
	return s->of[id];
}

enum c_mode c_shape_mode(struct c_shapes *s, u32 id)
{
	u8 v = shape(s, id);

	return (v & 3u) == INCOMPLETE ? C_OPAQUE : MODE(v);
}

u32 c_shape_align(struct c_shapes *s, u32 id)
{
	return ALIGN(shape(s, id));
}
