/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as BTF: every question about every type, and the searches by name. The mutator edits
 * records, entries and header words of what is BTF already; half of what it is given goes to the
 * fuzzer's own. The input's upper half is also read as split BTF on the lower, and that is moved to
 * a base with the same types.
 */
#include <stdlib.h>
#include <string.h>

#include "btf/btf.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
/* Absent where inputs are only replayed. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *p, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t max, unsigned seed);

#define IDS_MAX 60u /* so that large inputs do not take long */

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

static void ask_file(const struct btf *b)
{
	size_t total = 0;
	s64 value;
	u32 id;

	ask_all(b, &total);
	ask_paths(b, &total);
	btf_check(b, NULL);
	btf_field_each(b, 7, on_field, &total);
	btf_each(b, 0, "*e*", on_type, &total);
	btf_find_c(b, "struct outer");
	btf_find_c(b, "unsigned char");
	btf_enum_find(b, "RED", &value, &id);
	btf_index(b);
	ask_all(b, &total);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct btf *b = btf_open_memory(p, n, NULL);
	struct btf *split = b ? btf_open_memory_split(p + n / 2, n - n / 2, b, NULL) : NULL;

	if (b && !split)
		split = btf_open_memory_split(p, n, b, NULL);
	if (b)
		ask_file(b);
	if (split) {
		struct btf *base = btf_open_memory(p, n, NULL);
		struct btf *moved = base ? btf_relocate(split, base, NULL) : NULL;

		ask_file(split);
		if (moved)
			ask_file(moved);
		btf_unref(moved);
		btf_unref(base);
	}
	btf_unref(split);
	btf_unref(b);
	return 0;
}

/* ---- the mutator ---------------------------------------------------------------------------- */

/* Numbers on which readers stumble. */
static const u32 edges[] = { 0,  1,   2,      3,        8,          31,        32,
	                     64, 255, 0xffff, 0xffffff, 0x7fffffff, 0xffffffff };

struct mutation {
	uint8_t *p;
	size_t n;
	unsigned seed;
	u32 types, types_n; /* where the section is */
};

static u32 roll(struct mutation *m, u32 below)
{
	m->seed = m->seed * 1103515245u + 12345u;
	return below ? (m->seed >> 8) % below : 0;
}

static u32 number(struct mutation *m)
{
	return roll(m, 2) ? edges[roll(m, ARRAY_SIZE(edges))] : roll(m, 64);
}

static bool find_types(struct mutation *m)
{
	u32 head[4];

	if (m->n < 24)
		return false;
	memcpy(head, m->p, sizeof(head));
	m->types = head[1] + head[2];
	m->types_n = head[3];
	return head[1] < m->n && head[2] < m->n && m->types < m->n &&
	       m->types_n <= m->n - m->types && m->types_n >= 12;
}

static void put(struct mutation *m, size_t at, u32 v)
{
	if (at + 4 <= m->n)
		memcpy(m->p + at, &v, 4);
}

/* A word of a record: its name, its kind, its entries, what it refers to; or one after it. */
static void edit_type(struct mutation *m)
{
	size_t at = m->types + roll(m, m->types_n / 4) * 4;

	switch (roll(m, 4)) {
	case 0:
		put(m, at, (roll(m, 20) | roll(m, 2) << 7) << 24 | roll(m, 6));
		break;
	case 1:
		put(m, at, number(m));
		break;
	case 2:
		put(m, at, (u32)m->types_n / 16 + roll(m, 4));
		break;
	default:
		m->p[at + roll(m, 4)] ^= (uint8_t)(1u << roll(m, 8));
	}
}

/* Copies some words over others, so that records repeat and nest. */
static void copy_words(struct mutation *m)
{
	u32 words = m->types_n / 4, n = 1 + roll(m, MIN(words, 16u));
	u32 from = roll(m, words - n + 1), to = roll(m, words - n + 1);

	memmove(m->p + m->types + to * 4, m->p + m->types + from * 4, n * 4);
}

size_t LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t max, unsigned seed)
{
	struct mutation m = { .p = p, .n = n, .seed = seed };

	if (roll(&m, 2) || !find_types(&m))
		return LLVMFuzzerMutate(p, n, max);
	for (u32 edits = 1 + roll(&m, 4); edits; edits--) {
		u32 what = roll(&m, 8);

		if (what == 0)
			put(&m, 4 + roll(&m, 7) * 4, number(&m));
		else if (what == 1)
			copy_words(&m);
		else
			edit_type(&m);
		if (!find_types(&m))
			break;
	}
	return n;
}
