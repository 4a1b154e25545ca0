/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of loaded BPF programs with their types.
 *
 * The one idea: the list is made once, when a script first names such a function; types that
 * several programs of one object share are read once. A program whose types can not be had is
 * listed with its name alone, so that the reason can be given. It attaches nothing.
 */
#include "world/bpf_list.h"

#include <stdlib.h>
#include <string.h>

#include "kern/programs.h"

struct types {
	u32 id;
	struct buf bytes;
	struct btf *btf; /* NULL: they can not be read */
};

struct bpf_list {
	struct arena arena;
	VEC(struct bpf_function) functions;
	VEC(struct types *) types;
};

static struct btf *types_of(struct bpf_list *l, u32 id)
{
	struct err ignored = { 0 };
	struct btf_error trouble;
	struct types *t;

	for (u32 i = 0; i < l->types.n; i++)
		if (l->types.v[i]->id == id)
			return l->types.v[i]->btf;
	t = arena_new(&l->arena, struct types);
	t->id = id;
	if (programs_types(id, &t->bytes, &ignored))
		t->btf = btf_open_memory(t->bytes.p, t->bytes.n, &trouble);
	vec_add(&l->arena, &l->types, t);
	return t->btf;
}

static void add(void *ctx, const struct program *p)
{
	struct bpf_list *l = ctx;
	struct btf *b = p->types ? types_of(l, p->types) : NULL;
	const char *name = arena_strdup(&l->arena, p->name);
	struct bpf_function f = { .prog_id = p->id, .prog = name, .name = name, .is_main = true };
	struct btf_info info;

	for (u32 i = 0; b && i < p->n_funcs; i++) {
		if (!btf_info(b, p->funcs[i], &info) || info.kind != BTF_KIND_FUNC)
			continue;
		f.btf = b;
		f.btf_id = p->funcs[i];
		f.name = info.name;
		f.is_main = i == 0;
		vec_add(&l->arena, &l->functions, f);
	}
	if (!f.btf)
		vec_add(&l->arena, &l->functions, f);
}

struct bpf_list *bpf_list_new(struct err *e)
{
	struct bpf_list *l = calloc(1, sizeof(*l));

	if (!l)
		base_no_memory();
	if (programs_each(add, l, e))
		return l;
	bpf_list_free(l);
	return NULL;
}

void bpf_list_each(const struct bpf_list *l, bool (*cb)(void *ctx, const struct bpf_function *f),
                   void *ctx)
{
	for (u32 i = 0; i < l->functions.n; i++)
		if (!cb(ctx, &l->functions.v[i]))
			return;
}

void bpf_list_free(struct bpf_list *l)
{
	if (!l)
		return;
	for (u32 i = 0; i < l->types.n; i++) {
		btf_unref(l->types.v[i]->btf);
		buf_free(&l->types.v[i]->bytes);
	}
	arena_free(&l->arena);
	free(l);
}
