/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two hash tables, one for each of C's two name spaces that matter here. They count how often each
 * name is there; the second and later owners get a number after their name that makes one nobody
 * has. Typedefs come before enumerators, since types are referred to and enumerators are not.
 * Names are compared by text: BTF's strings may hold one text twice.
 */
#include "ctext/c_names.h"

#include <stdlib.h>
#include <string.h>

static u32 hash_of(const char *z)
{
	u32 h = 2166136261u;

	for (; *z; z++)
		h = (h ^ (u8)*z) * 16777619u;
	return h;
}

static u32 kind_class(const struct btf_info *t)
{
	switch (t->kind) {
	case BTF_KIND_FWD:
		return t->kind_flag ? BTF_KIND_UNION : BTF_KIND_STRUCT;
	case BTF_KIND_ENUM64:
		return BTF_KIND_ENUM;
	default:
		return t->kind;
	}
}

/* The slot of the name, or the free one where it belongs. */
static struct c_name *probe(const struct c_names *n, const struct c_name_table *t, const char *text,
                            u32 off, u32 hash)
{
	u32 i = hash & (t->cap - 1);

	for (; t->v[i].off; i = (i + 1) & (t->cap - 1)) {
		struct c_name *s = &t->v[i];

		if (s->hash == hash &&
		    (s->off == off || strcmp(btf_string(n->btf, s->off), text) == 0))
			break;
	}
	return &t->v[i];
}

static bool grow(struct c_name_table *t)
{
	u32 cap = t->cap ? t->cap * 2 : 4096;
	struct c_name *v = calloc(cap, sizeof(*v));

	if (!v)
		return false;
	for (u32 i = 0; i < t->cap; i++) {
		u32 at = t->v[i].hash & (cap - 1);

		if (!t->v[i].off)
			continue;
		while (v[at].off)
			at = (at + 1) & (cap - 1);
		v[at] = t->v[i];
	}
	free(t->v);
	t->v = v;
	t->cap = cap;
	return true;
}

/* The slot of a name, which is put there when it is new; NULL when memory has run out. */
static struct c_name *put(struct c_names *n, struct c_name_table *t, const char *text, u32 off)
{
	struct c_name *s;
	u32 hash;

	if ((t->n + 1) * 4 > t->cap * 3 && !grow(t))
		return NULL;
	hash = hash_of(text);
	s = probe(n, t, text, off, hash);
	if (!s->off) {
		*s = (struct c_name){ .off = off, .hash = hash };
		t->n++;
	}
	return s;
}

/* One more owner of a name that is taken: "name___2", or the next number that is free. */
static const char *numbered(struct c_names *n, const struct c_name_table *t, struct c_name *s)
{
	const char *text = btf_string(n->btf, s->off), *name;

	do
		name = arena_printf(&n->arena, "%s___%u", text, ++s->n);
	while (probe(n, t, name, 0, hash_of(name))->off);
	return name;
}

static void rename_type(struct c_names *n, const struct c_name_table *t, struct c_name *s, u32 id)
{
	struct c_renamed r = { id, NULL };

	r.name = numbered(n, t, s);
	vec_add(&n->arena, &n->renamed, r);
}

/* ---- passes over all types ------------------------------------------------------------------ */

static bool add_enumerators(struct c_names *n, const struct btf_info *t)
{
	struct btf_enumerator v;

	for (u32 i = 0; btf_enumerator(n->btf, t, i, &v); i++)
		if (*v.name && !put(n, &n->words, v.name, v.name_off))
			return false;
	return true;
}

/* All names come into the tables before any is made up. */
static bool add_all(struct c_names *n)
{
	struct btf_iter it;

	btf_iter_init(&it, n->btf, 1);
	while (btf_next(&it)) {
		u32 kind = kind_class(&it.t);
		bool tag = kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION ||
		           kind == BTF_KIND_ENUM;

		if (kind == BTF_KIND_ENUM && !add_enumerators(n, &it.t))
			return false;
		if (!*it.t.name || (!tag && kind != BTF_KIND_TYPEDEF))
			continue;
		if (!put(n, tag ? &n->tags : &n->words, it.t.name, it.t.name_off))
			return false;
		vec_add(&n->arena, &n->owners, it.t.id);
	}
	return true;
}

static void claim(struct c_names *n, const struct btf_info *t)
{
	bool word = t->kind == BTF_KIND_TYPEDEF;
	struct c_name_table *table = word ? &n->words : &n->tags;
	struct c_name *s = probe(n, table, t->name, t->name_off, hash_of(t->name));

	if (!s->n) {
		s->n = 1;
		s->kind = kind_class(t);
	} else if (t->kind != BTF_KIND_FWD || s->kind != kind_class(t)) {
		rename_type(n, table, s, t->id);
	}
}

/* Definitions first, so that a forward declaration finds its own. */
static void claim_all(struct c_names *n, bool forward)
{
	struct btf_info t;

	for (u32 i = 0; i < n->owners.n; i++)
		if (btf_info(n->btf, n->owners.v[i], &t) && (t.kind == BTF_KIND_FWD) == forward)
			claim(n, &t);
}

static int by_id(const void *a, const void *b)
{
	const struct c_renamed *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

bool c_names_init(struct c_names *n, const struct btf *btf)
{
	*n = (struct c_names){ .btf = btf };
	if (!grow(&n->tags) || !grow(&n->words) || !add_all(n))
		return false;
	claim_all(n, false);
	claim_all(n, true);
	if (n->renamed.n)
		qsort(n->renamed.v, n->renamed.n, sizeof(*n->renamed.v), by_id);
	return true;
}

void c_names_free(struct c_names *n)
{
	free(n->tags.v);
	free(n->words.v);
	arena_free(&n->arena);
}

/* ---- answers -------------------------------------------------------------------------------- */

const char *c_names_of(const struct c_names *n, const struct btf_info *t)
{
	struct c_renamed key = { t->id, NULL }, *found = NULL;

	if (n->renamed.n)
		found = bsearch(&key, n->renamed.v, n->renamed.n, sizeof(key), by_id);
	return found ? found->name : t->name;
}

const char *c_names_enumerator(struct c_names *n, const struct btf_enumerator *v)
{
	struct c_name *s = probe(n, &n->words, v->name, v->name_off, hash_of(v->name));

	if (s->n)
		return numbered(n, &n->words, s);
	s->n = 1;
	return v->name;
}
