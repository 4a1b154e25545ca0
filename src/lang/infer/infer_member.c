/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Members of structs, wherever the struct is from: the script, BTF, or the debug information of
 * a program.
 *
 * The one idea: a struct is looked into member by member, because the kernel's are large and a
 * script uses few; only one that is stored or printed as a whole gets all its fields.
 */
#include "lang/infer/infer.h"

#include <string.h>

#define DEPTH_MAX  6u    /* of structs in structs that are printed with their fields */
#define FIELDS_MAX 2048u /* of one struct and those in it */

bool infer_member(struct infer *in, const struct type *t, const char *name, struct field *f)
{
	if (t->origin.kind == ORIGIN_BTF)
		return btf_type_member(in->script, t, name, f);
	if (t->origin.kind == ORIGIN_DEBUG)
		return debug_type_member(in->script, t, name, f);
	for (u32 i = 0; i < t->n_fields; i++)
		if (strcmp(t->fields[i].name, name) == 0) {
			*f = t->fields[i];
			f->type = infer_cdef_moved(in, f->type, t->space);
			return true;
		}
	return false;
}

static void offer(void *ctx, const struct field *f)
{
	near_offer(ctx, f->name);
}

void infer_member_offer(struct infer *in, const struct type *t, struct near *n)
{
	btf_type_offer(in->script, t, n);
	if (t->origin.kind == ORIGIN_DEBUG)
		debug_type_each(in->script, t, offer, n);
	for (u32 i = 0; i < t->n_fields; i++)
		near_offer(n, t->fields[i].name);
}

/* ---- all fields ----------------------------------------------------------------------------- */

struct gather {
	struct infer *in;
	u32 depth, left;
	VEC(struct field) fields;
};

static const struct type *complete(struct gather *g, const struct type *t);

static void gather(void *ctx, const struct field *f)
{
	struct gather *g = ctx;
	struct field copy = *f;
	const struct type *elem = f->type;

	while (elem->kind == TYPE_ARRAY)
		elem = elem->elem;
	/* Of what has no value here, such as floating point, the name is shown; an array of any
	 * length has no elements. */
	if (!g->left || (!f->type->size && elem->kind != TYPE_NONE))
		return;
	g->left--;
	copy.type = complete(g, f->type);
	if (copy.type)
		vec_add(g->in->arena, &g->fields, copy);
}

static void each_field(struct gather *g, const struct type *t)
{
	if (t->origin.kind == ORIGIN_BTF)
		btf_type_each(g->in->script, t, gather, g);
	else if (t->origin.kind == ORIGIN_DEBUG)
		debug_type_each(g->in->script, t, gather, g);
	for (u32 i = 0; t->origin.kind == ORIGIN_SCRIPT && i < t->n_fields; i++)
		gather(g, &t->fields[i]);
}

static const struct type *complete_struct(struct gather *g, const struct type *t)
{
	struct gather inner = { .in = g->in, .depth = g->depth + 1, .left = g->left };
	struct type *full = arena_new(g->in->arena, struct type);

	if (g->depth < DEPTH_MAX)
		each_field(&inner, t);
	g->left = inner.left;
	*full = *t;
	full->fields = inner.fields.v;
	full->n_fields = inner.fields.n;
	return full;
}

static const struct type *complete(struct gather *g, const struct type *t)
{
	const struct type *elem;

	if (t->kind == TYPE_STRUCT)
		return complete_struct(g, t);
	if (t->kind != TYPE_ARRAY)
		return t;
	elem = complete(g, t->elem);
	return elem == t->elem ? t : type_array(g->in->arena, elem, t->count);
}

/* What a struct is known by. */
struct identity {
	const char *name; /* of the script's own, else NULL */
	struct origin origin;
	u32 id;
	enum type_kind kind;
	enum space space;
	u32 size;
};

struct completed {
	struct identity of;
	const struct type *type;
};

static const struct type *struct_of(const struct type *t)
{
	while (t->kind == TYPE_ARRAY)
		t = t->elem;
	return t->kind == TYPE_STRUCT ? t : NULL;
}

const struct type *infer_complete(struct infer *in, const struct type *t)
{
	struct gather g = { .in = in, .left = FIELDS_MAX };
	const struct type *s = struct_of(t);
	struct completed *done;
	struct identity o;
	void **known;

	if (!s)
		return t;
	memset(&o, 0, sizeof(o));
	o.name = s->origin.kind == ORIGIN_SCRIPT ? s->name : NULL;
	o.origin = s->origin;
	o.id = s->id;
	o.kind = t->kind;
	o.space = s->space;
	o.size = t->size;
	known = hmap_find(&in->complete, &o, sizeof(o));
	if (known)
		return ((const struct completed *)*known)->type;
	done = arena_new(in->arena, struct completed);
	*done = (struct completed){ o, complete(&g, t) };
	hmap_put(&in->complete, &done->of, sizeof(done->of), done);
	return done->type;
}
