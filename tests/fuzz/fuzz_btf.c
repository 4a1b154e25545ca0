/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as BTF: every question about every type, and the searches by name. */
#include <stdlib.h>
#include <string.h>

#include "read/btf.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define IDS_MAX 200u /* so that large inputs do not take long */

static bool on_field(void *ctx, const struct btf_field *f)
{
	*(size_t *)ctx += strlen(f->name) + f->bit_off;
	return true;
}

static bool on_type(void *ctx, u32 id, const char *name)
{
	*(size_t *)ctx += strlen(name) + id;
	return true;
}

static void ask_entries(const struct btf *b, const struct btf_info *t, size_t *total)
{
	struct btf_enumerator v;
	struct btf_field f;
	struct btf_place p;
	struct btf_arg a;

	for (u32 i = 0; i < 8; i++) {
		if (btf_field(b, t, i, &f))
			*total += strlen(f.name);
		if (btf_arg(b, t, i, &a))
			*total += strlen(a.name) + a.type;
		if (btf_enumerator(b, t, i, &v))
			*total += strlen(v.name) + (size_t)v.value;
		if (btf_place(b, t, i, &p))
			*total += p.off;
	}
}

static void ask(const struct btf *b, const struct btf_info *t, size_t *total)
{
	u32 elem, index, count, linkage, n;
	int32_t component;
	struct btf_info proto;
	struct btf_field f;
	struct btf_int i;
	bool variadic;

	*total += strlen(t->name) + btf_size(b, t->id) + btf_skip(b, t->id) + btf_align(b, t->id);
	if (btf_int(b, t, &i))
		*total += i.bits;
	if (btf_array_of(b, t, &elem, &index, &count))
		*total += count;
	if (btf_linkage(b, t, &linkage) || btf_component(b, t, &component))
		++*total;
	if (btf_proto(b, t->id, &proto, &n, &variadic))
		*total += n;
	if (btf_field_find(b, t->id, "x", &f))
		*total += f.bit_off;
	if (t->name[0] && !btf_find(b, t->kind, t->name))
		abort();
	ask_entries(b, t, total);
}

static void ask_paths(const struct btf *b, size_t *total)
{
	static const char *const paths[] = { "a", "u2->a.b[3]", "[2].x", "p[1]", "far.x->y" };
	struct btf_error e;
	struct btf_path p;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		for (u32 id = 1; id < 16; id++)
			if (btf_path(b, id, paths[i], &p, &e))
				*total += p.size;
}

/* Both ways to a type agree: by the iterator, and by its id. */
static void ask_all(const struct btf *b, size_t *total)
{
	struct btf_iter it;
	struct btf_info t;
	u32 left = IDS_MAX;

	btf_iter_init(&it, b, 1);
	while (btf_next(&it) && left--) {
		if (!btf_info(b, it.t.id, &t) || t.raw != it.t.raw || t.id >= btf_count(b))
			abort();
		ask(b, &t, total);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct btf_error e;
	struct btf *b = btf_open_memory(p, n, &e);
	size_t total = 0;
	s64 value;
	u32 id;

	if (!b)
		return 0;
	ask_all(b, &total);
	ask_paths(b, &total);
	btf_check(b, &e);
	btf_field_each(b, 7, on_field, &total);
	btf_each(b, 0, "*e*", on_type, &total);
	btf_find_c(b, "struct outer");
	btf_find_c(b, "unsigned char");
	btf_enum_find(b, "RED", &value, &id);
	btf_unref(b);
	return 0;
}
