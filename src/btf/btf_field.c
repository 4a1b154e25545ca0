/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Members by name. Anonymous structs and unions are searched in place; what they may cost is
 * bounded by a budget, because hostile types can hold themselves a thousand times over.
 */
#include "btf/btf_impl.h"

/* A walk over members with the anonymous ones opened. */
struct member_walk {
	const struct btf *btf;
	const char *name; /* only this one; NULL: all with names */
	bool (*cb)(void *ctx, const struct btf_field *f);
	void *ctx;
	u32 budget;
};

/* Name and declared type only: the rest of a member costs more to find out. */
static const char *member_name(const struct btf *b, const struct btf_info *t, u32 i, u32 *type)
{
	const u8 *p = (const u8 *)t->raw + BTF_RECORD + (size_t)i * 12;

	*type = btf_load(b, p + 4);
	return btf_string(b, btf_load(b, p));
}

/* Visits member i itself. False when the walk is over. */
static bool visit(struct member_walk *w, const struct btf_info *t, u32 i, u64 base)
{
	struct btf_field f;

	if (!btf_field(w->btf, t, i, &f))
		return true;
	base += f.bit_off;
	if (base > UINT32_MAX)
		return true;
	f.bit_off = (u32)base;
	return w->cb(w->ctx, &f);
}

static bool members_walk(struct member_walk *w, u32 id, u64 base, u32 depth)
{
	struct btf_info t;
	struct btf_field f;

	if (depth > BTF_NEST_MAX || !btf_info(w->btf, id, &t) || !btf_is_composite_kind(t.kind))
		return true;
	for (u32 i = 0; i < t.vlen; i++) {
		u32 type;
		const char *name = member_name(w->btf, &t, i, &type);

		if (!w->budget)
			return false;
		w->budget--;
		if (!name)
			continue;
		if (name[0]) {
			if ((!w->name || strcmp(name, w->name) == 0) && !visit(w, &t, i, base))
				return false;
		} else if (btf_field(w->btf, &t, i, &f) &&
		           !members_walk(w, btf_skip(w->btf, type), base + f.bit_off, depth + 1)) {
			return false;
		}
	}
	return true;
}

void btf_field_each(const struct btf *b, u32 id, bool (*cb)(void *ctx, const struct btf_field *f),
                    void *ctx)
{
	struct member_walk w = { b, NULL, cb, ctx, BTF_FIELDS_MAX };

	members_walk(&w, btf_skip(b, id), 0, 0);
}

struct found {
	struct btf_field *out;
	bool found;
};

static bool keep_first(void *ctx, const struct btf_field *f)
{
	struct found *s = ctx;

	*s->out = *f;
	s->found = true;
	return false;
}

bool btf_field_find(const struct btf *b, u32 id, const char *name, struct btf_field *f)
{
	struct found s = { .out = f };
	struct member_walk w = { b, name, keep_first, &s, BTF_FIELDS_MAX };

	members_walk(&w, btf_skip(b, id), 0, 0);
	return s.found;
}
