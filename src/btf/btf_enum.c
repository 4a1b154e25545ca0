/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is found the other way round: the function type of what leads to one, the enum of an
 * enumerator, the name of a value, the tags of a type.
 */
#include "btf/btf_impl.h"

bool btf_proto(const struct btf *b, u32 id, struct btf_info *t, u32 *n_args, bool *variadic)
{
	struct btf_arg last;

	for (u32 hops = 0; hops < BTF_CHAIN_MAX; hops++) {
		if (!btf_info(b, btf_skip(b, id), t))
			return false;
		id = t->type;
		if (t->kind == BTF_KIND_FUNC_PROTO)
			break;
		if (t->kind != BTF_KIND_FUNC && t->kind != BTF_KIND_PTR)
			return false;
	}
	if (t->kind != BTF_KIND_FUNC_PROTO)
		return false;
	*variadic = t->vlen && btf_arg(b, t, t->vlen - 1, &last) && !last.name_off && !last.type;
	*n_args = t->vlen - *variadic;
	return true;
}

/* ---- enumerators ---------------------------------------------------------------------------- */

struct enum_search {
	const struct btf *in;
	const struct btf_wanted *w;
	const char *name;
	s64 *value;
	u32 id;
};

/* The names of a record are compared as numbers before one of them is looked at. */
static bool enum_hit(void *ctx, const struct btf_found *h)
{
	struct enum_search *s = ctx;
	struct btf_enumerator v;
	struct btf_info t;
	u32 n, entry;
	const u8 *p = btf_record_at(s->in, h->off, &n);

	if (!p || !btf_info_read(s->in, h->id, p, n, &t))
		return true;
	entry = t.kind == BTF_KIND_ENUM64 ? 12 : 8;
	p += BTF_RECORD;
	for (u32 i = 0; i < t.vlen; i++, p += entry) {
		u32 bit = btf_name_hash(btf_load(s->in, p));

		if (!(s->w->names[bit / 8] >> bit % 8 & 1) || !btf_enumerator(s->in, &t, i, &v) ||
		    strcmp(v.name, s->name) != 0)
			continue;
		*s->value = v.value;
		s->id = h->id;
		return false;
	}
	return true;
}

bool btf_enum_find(const struct btf *b, const char *name, s64 *value, u32 *id)
{
	struct btf_query q = { .name = name };
	struct btf_wanted w;
	struct btf_filter f = { 0 };
	struct enum_search s = { .w = &w, .name = name, .value = value };

	f.kinds[BTF_KIND_ENUM] = f.kinds[BTF_KIND_ENUM64] = 1;
	btf_wanted_init(&w, &q, 1, 0);
	for (bool first = true; !s.id && !btf_wanted_over(&w, b); first = false) {
		u32 marked = w.marked;

		btf_wanted_search(&w, b, first);
		for (u32 level = 0; w.marked > marked && !s.id && level <= btf_depth(b); level++) {
			s.in = btf_at_level(b, level);
			btf_pass(s.in, &f, enum_hit, &s);
		}
	}
	*id = s.id;
	return s.id != 0;
}

const char *btf_enum_name(const struct btf *b, u32 id, s64 value)
{
	struct btf_enumerator v;
	struct btf_info t;

	if (!btf_info(b, btf_skip(b, id), &t))
		return NULL;
	for (u32 i = 0; btf_enumerator(b, &t, i, &v); i++)
		if (v.value == value)
			return v.name;
	return NULL;
}

/* ---- tags ----------------------------------------------------------------------------------- */

struct tag_search {
	const struct btf *in;
	u32 id;
	bool (*cb)(void *ctx, const struct btf_info *tag);
	void *ctx;
};

static bool tag_hit(void *ctx, const struct btf_found *h)
{
	const struct tag_search *s = ctx;
	struct btf_info t;
	u32 n;
	const u8 *p;

	if (btf_load(s->in, h->p + 8) != s->id)
		return true;
	p = btf_record_at(s->in, h->off, &n);
	if (!p || !btf_info_read(s->in, h->id, p, n, &t))
		return true;
	return s->cb(s->ctx, &t);
}

void btf_tags(const struct btf *b, u32 id, bool (*cb)(void *ctx, const struct btf_info *tag),
              void *ctx)
{
	struct tag_search s = { .id = id, .cb = cb, .ctx = ctx };
	struct btf_filter f = { 0 };

	f.kinds[BTF_KIND_DECL_TAG] = 1;
	for (u32 level = 0; level <= btf_depth(b); level++) {
		s.in = btf_at_level(b, level);
		if (!btf_pass(s.in, &f, tag_hit, &s))
			return;
	}
}
