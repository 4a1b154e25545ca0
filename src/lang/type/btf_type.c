/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BTF -> types of the language.
 *
 * The one idea: nothing is converted before it is used. A struct becomes a type with its BTF id
 * and no fields; looking up a member converts that member's type only, so a chain of ten arrows
 * makes ten types out of the kernel's hundred thousand.
 *
 * Every id comes from a file and may be nonsense: reads are checked by btf.c, and the depth of
 * pointers to pointers and arrays of arrays is bounded here.
 */
#include "lang/type/btf_type.h"

#include <string.h>

#define DEPTH_MAX       8u
#define MODIFIERS_MAX   32u
#define ENUMERATORS_MAX 512u

/* What is found on the way through typedefs and qualifiers to the type itself. */
struct resolved {
	u32 id;
	struct btf_info info;
	const char *typedef_name; /* outermost, or NULL */
	bool user;                /* marked __user */
};

static bool resolve(struct btf *b, u32 id, struct resolved *r)
{
	memset(r, 0, sizeof(*r));
	for (u32 i = 0; i < MODIFIERS_MAX && btf_info(b, id, &r->info); i++) {
		switch (r->info.kind) {
		case BTF_KIND_TYPEDEF:
			if (!r->typedef_name)
				r->typedef_name = r->info.name;
			break;
		case BTF_KIND_TYPE_TAG:
			r->user |= strcmp(r->info.name, "user") == 0;
			break;
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
			break;
		default:
			r->id = id;
			return id != 0;
		}
		id = r->info.type;
	}
	return false;
}

static const struct type *convert(struct script *s, struct btf *b, u32 id, enum space space,
                                  u32 depth);

static bool is_char(struct btf *b, u32 id)
{
	struct resolved r;
	struct btf_int i;

	return resolve(b, id, &r) && btf_int(b, &r.info, &i) && r.info.size == 1 &&
	       (i.is_char || strcmp(r.info.name, "char") == 0);
}

static const struct type *convert_int(struct btf *b, const struct resolved *r)
{
	struct btf_int i;

	if (!btf_int(b, &r->info, &i))
		return &type_none;
	if (i.is_bool)
		return &type_bool;
	if (r->info.size != 1 && r->info.size != 2 && r->info.size != 4 && r->info.size != 8)
		return &type_none;
	return type_int(r->info.size, i.is_signed);
}

static const struct type *convert_enum(struct script *s, struct btf *b, const struct resolved *r)
{
	u32 n = MIN(r->info.vlen, ENUMERATORS_MAX);
	struct enumerator *v = arena_array(s->arena, struct enumerator, n);
	struct type *t = arena_new(s->arena, struct type);

	t->kind = TYPE_INT;
	t->size = r->info.size == 8 ? 8 : 4;
	t->is_signed = r->info.kind_flag;
	for (u32 i = 0; i < n; i++) {
		struct btf_enumerator found;

		if (!btf_enumerator(b, &r->info, i, &found))
			continue;
		v[t->n_enums].name = found.name;
		v[t->n_enums++].value = found.value;
	}
	t->enums = v;
	if (r->info.name[0])
		t->name = arena_printf(s->arena, "enum %s", r->info.name);
	else if (r->typedef_name)
		t->name = r->typedef_name;
	else if (t->n_enums) /* others without a name are other types */
		t->name = arena_printf(s->arena, "enum { %s }", v[0].name);
	return t;
}

/* The script's own definition of a struct is meant wherever the kernel's types name it. */
static const struct type *own_struct(struct script *s, const char *name, enum space space)
{
	void **own = hmap_find(&s->records, name, strlen(name));
	const struct type *t = own ? *own : NULL;

	return t && t->size ? type_struct_in(s->arena, t, space) : NULL;
}

static const struct type *convert_struct(struct script *s, struct btf *b, const struct resolved *r,
                                         enum space space)
{
	const char *word = r->info.kind == BTF_KIND_UNION ? "union" : "struct";
	const char *name = r->typedef_name ? r->typedef_name : word;
	const struct type *own;
	struct type *t;

	if (r->info.name[0])
		name = arena_printf(s->arena, "%s %s", word, r->info.name);
	own = own_struct(s, name, space);
	if (own)
		return own;
	t = arena_new(s->arena, struct type);
	t->kind = TYPE_STRUCT;
	t->name = name;
	t->size = r->info.kind == BTF_KIND_FWD ? 0 : r->info.size;
	t->space = space;
	/* The same struct seen from a module is the same type. */
	while (btf_base(b) && r->id < btf_first(b))
		b = btf_base(b);
	t->origin = origins_of_btf(s->arena, &s->origins, b);
	t->id = r->id;
	return t;
}

/* A char array is a string, unless it is an element of another array: then its width counts. */
static const struct type *convert_array(struct script *s, struct btf *b, const struct resolved *r,
                                        enum space space, u32 depth)
{
	const struct type *t;
	u32 elem, index, count;

	if (!btf_array_of(b, &r->info, &elem, &index, &count))
		return &type_none;
	if (depth == 0 && count && is_char(b, elem))
		return type_str(s->arena, count, true);
	t = convert(s, b, elem, space, depth + 1);
	return t->kind == TYPE_NONE ? t : type_array(s->arena, t, count);
}

static const struct type *convert_ptr(struct script *s, struct btf *b, const struct resolved *r,
                                      enum space space, u32 depth)
{
	const struct type *elem = &type_none;
	struct resolved to;

	if (resolve(b, r->info.type, &to)) {
		/* Few kernels mark user pointers, and strings and buffers are often the user's. */
		if (to.user)
			space = SPACE_USER;
		else if (to.info.kind != BTF_KIND_STRUCT && to.info.kind != BTF_KIND_UNION)
			space = SPACE_NONE;
		elem = convert(s, b, r->info.type, space, depth + 1);
	}
	return type_ptr(s->arena, elem, space);
}

static const struct type *convert(struct script *s, struct btf *b, u32 id, enum space space,
                                  u32 depth)
{
	struct resolved r;

	if (depth > DEPTH_MAX || !resolve(b, id, &r))
		return &type_none;
	switch (r.info.kind) {
	case BTF_KIND_INT:
		return convert_int(b, &r);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return convert_enum(s, b, &r);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_FWD:
		return convert_struct(s, b, &r, space);
	case BTF_KIND_ARRAY:
		return convert_array(s, b, &r, space, depth);
	case BTF_KIND_PTR:
		return convert_ptr(s, b, &r, space, depth);
	default:
		return &type_none;
	}
}

const struct type *btf_type(struct script *s, struct btf *b, u32 id, enum space space)
{
	return convert(s, b, id, space, 0);
}

/* Bit-fields are read from the smallest aligned word that holds all their bits. */
static void place_bits(const struct btf_field *m, const struct type *t, struct field *f)
{
	u32 unit = t->size ? t->size * 8 : 64;

	f->off = m->bit_off / unit * (unit / 8);
	f->bit_off = (u8)(m->bit_off % unit);
	if (f->bit_off + m->bit_size > unit) {
		f->off = m->bit_off / 8;
		f->bit_off = (u8)(m->bit_off % 8);
	}
	f->bit_size = (u8)m->bit_size;
}

/* The kernel often holds a forward declaration only; the definition may have another id. */
static u32 complete(struct btf *b, u32 id)
{
	struct btf_info info;

	if (!btf_info(b, id, &info) || info.kind != BTF_KIND_FWD)
		return id;
	return btf_find(b, info.kind_flag ? BTF_KIND_UNION : BTF_KIND_STRUCT, info.name);
}

static void field_of(struct script *s, struct btf *b, const struct btf_field *m, enum space space,
                     struct field *f)
{
	*f = (struct field){ .name = arena_strdup(s->arena, m->name),
		             .type = btf_type(s, b, m->type, space) };
	if (m->bit_size)
		place_bits(m, f->type, f);
	else
		f->off = m->bit_off / 8;
}

bool btf_type_member(struct script *s, const struct type *t, const char *name, struct field *f)
{
	struct btf *b = origins_btf(&s->origins, t);
	u32 id = b ? complete(b, t->id) : 0;
	struct btf_field m;

	memset(f, 0, sizeof(*f));
	if (!id || !btf_field_find(b, id, name, &m))
		return false;
	field_of(s, b, &m, t->space, f);
	return true;
}

struct each {
	struct script *s;
	const struct type *t;
	void (*cb)(void *ctx, const struct field *f);
	void *ctx;
};

static bool each_field(void *ctx, const struct btf_field *m)
{
	struct each *e = ctx;
	struct field f;

	if (!m->name[0])
		return true;
	field_of(e->s, origins_btf(&e->s->origins, e->t), m, e->t->space, &f);
	e->cb(e->ctx, &f);
	return true;
}

void btf_type_each(struct script *s, const struct type *t,
                   void (*cb)(void *ctx, const struct field *f), void *ctx)
{
	struct btf *b = origins_btf(&s->origins, t);
	u32 id = b ? complete(b, t->id) : 0;
	struct each e = { s, t, cb, ctx };

	if (id)
		btf_field_each(b, id, each_field, &e);
}

static bool offer(void *ctx, const struct btf_field *f)
{
	near_offer(ctx, f->name);
	return true;
}

void btf_type_offer(const struct script *s, const struct type *t, struct near *n)
{
	struct btf *b = origins_btf(&s->origins, t);
	u32 id = b ? complete(b, t->id) : 0;

	if (id)
		btf_field_each(b, id, offer, n);
}
