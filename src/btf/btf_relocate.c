/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Split BTF made with a small base of its own (.BTF.base of a module), put onto the kernel's.
 *
 * A module built apart from its kernel can not name the kernel's types by id: those change with
 * each build. It brings along a base that has nothing but their names, kinds and sizes. The one
 * idea: each of those is looked up in the kernel's BTF, and a copy of the module's is written in
 * which ids are exchanged. Its strings are those of the small base and its own one after the other,
 * so offsets of names only move by a constant.
 *
 *     small base | module          ids      0 .. n-1 | n ..           ->  map[id] | id + shift
 *     names      | names           strings  0 .. s-1 | s ..           ->  off + the base's strings
 *
 * As libbpf's btf__relocate has it: a struct that the module embeds, or whose name the kernel has
 * several times, must have the same size; what is missing or stands for two types is an error.
 */
#include "btf/btf_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HEADER 24u

/* A type of the small base, and what the kernel has of that name. */
struct match {
	const char *name;
	u32 id, kind, size, encoding;
	bool is_union; /* a FWD */
	bool embedded;
	u32 any, n_any;   /* the first one with the same name and kind, and how many there are */
	u32 same, n_same; /* and of the same size */
	u32 forward;      /* a FWD for a FWD */
};

struct relocation {
	const struct btf *split, *small;
	struct btf *base;
	struct btf_error *e;
	u32 n_small;       /* ids of the small base, with 0 */
	struct match *all; /* of each id */
	struct match **by_name;
	u32 *map;             /* the id in `base` of each */
	const struct btf *in; /* the file of `base` the pass is in */
	u32 strs_n;           /* of small base and module together */
	u8 *out, *at;
};

/* ---- the small base ------------------------------------------------------------------------- */

static bool small_type(struct relocation *r, const struct btf_info *t)
{
	struct match *m = &r->all[t->id];
	struct btf_int i = { 0 };

	if (!t->name[0] ||
	    !(t->kind == BTF_KIND_FWD || t->kind == BTF_KIND_INT || t->kind == BTF_KIND_FLOAT ||
	      btf_is_composite_kind(t->kind) || btf_is_enum_kind(t->kind)))
		return btf_fail(r->e, "type %u of .BTF.base is not one a base may have", t->id);
	btf_int(r->small, t, &i);
	*m = (struct match){
		.name = t->name,
		.id = t->id,
		.kind = t->kind,
		.size = t->size,
		.encoding = i.is_signed | i.is_char << 1 | i.is_bool << 2,
		.is_union = t->kind == BTF_KIND_FWD && t->kind_flag,
	};
	r->by_name[t->id - 1] = m;
	return true;
}

static int by_name(const void *x, const void *y)
{
	const struct match *const *a = x, *const *b = y;

	return strcmp((*a)->name, (*b)->name);
}

/* A member of this type has all of it inside: not behind a pointer, but through arrays. */
static void mark_embedded(struct relocation *r, u32 id)
{
	struct btf_info t;
	u32 elem = id, index, count;

	for (u32 hops = 0; hops < BTF_CHAIN_MAX; hops++) {
		if (!btf_info(r->split, btf_skip(r->split, elem), &t))
			return;
		if (!btf_array_of(r->split, &t, &elem, &index, &count))
			break;
	}
	if (btf_is_composite_kind(t.kind) && t.id < r->n_small)
		r->all[t.id].embedded = true;
}

static bool small_read(struct relocation *r)
{
	struct btf_iter it;
	struct btf_field f;
	u32 id = 1;

	for (btf_iter_init(&it, r->small, 1); btf_next(&it); id++)
		if (it.t.id != id || !small_type(r, &it.t))
			return it.t.id == id ? false : btf_fail(r->e, ".BTF.base is damaged");
	if (id != r->n_small)
		return btf_fail(r->e, ".BTF.base is damaged at type %u", id);
	qsort(r->by_name, r->n_small - 1, sizeof(struct match *), by_name);
	for (btf_iter_init(&it, r->split, r->n_small); btf_next(&it);)
		for (u32 i = 0; btf_field(r->split, &it.t, i, &f); i++)
			mark_embedded(r, f.type);
	return true;
}

/* ---- what the kernel has -------------------------------------------------------------------- */

static bool fits(const struct match *m, const struct btf *in, const struct btf_info *t)
{
	struct btf_int i;

	switch (m->kind) {
	case BTF_KIND_FWD:
		if (t->kind == BTF_KIND_FWD)
			return t->kind_flag == m->is_union;
		return t->kind == (m->is_union ? BTF_KIND_UNION : BTF_KIND_STRUCT);
	case BTF_KIND_INT:
		return btf_int(in, t, &i) && t->size == m->size &&
		       (u32)(i.is_signed | i.is_char << 1 | i.is_bool << 2) == m->encoding;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return btf_is_enum_kind(t->kind) && t->size == m->size;
	case BTF_KIND_FLOAT:
		return t->kind == m->kind && t->size == m->size;
	default:
		return t->kind == m->kind;
	}
}

static void match_add(struct match *m, const struct btf_info *t)
{
	if (m->kind == BTF_KIND_FWD && t->kind == BTF_KIND_FWD) {
		m->forward = m->forward ? m->forward : t->id;
		return;
	}
	if (!m->n_any++)
		m->any = t->id;
	if (t->size == m->size && !m->n_same++)
		m->same = t->id;
}

static bool base_hit(void *ctx, const struct btf_found *h)
{
	struct relocation *r = ctx;
	u32 low = 0, high = r->n_small - 1, n;
	char scratch[BTF_TEXT_MAX];
	const char *name = btf_text(r->in, btf_load(r->in, h->p), scratch);
	const u8 *p;
	struct btf_info t;

	while (name && name[0] && low < high) {
		u32 middle = low + (high - low) / 2;

		if (strcmp(r->by_name[middle]->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!name || !name[0] || low == r->n_small - 1 || strcmp(r->by_name[low]->name, name) != 0)
		return true;
	p = btf_record_at(r->in, h->off, &n);
	if (!p || !btf_info_read(r->in, h->id, p, n, &t))
		return true;
	for (; low < r->n_small - 1 && strcmp(r->by_name[low]->name, t.name) == 0; low++)
		if (fits(r->by_name[low], r->in, &t))
			match_add(r->by_name[low], &t);
	return true;
}

static void base_search(struct relocation *r)
{
	static const u8 kinds[] = { BTF_KIND_INT,  BTF_KIND_FLOAT,  BTF_KIND_STRUCT, BTF_KIND_UNION,
		                    BTF_KIND_ENUM, BTF_KIND_ENUM64, BTF_KIND_FWD };
	struct btf_filter f = { 0 };

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		f.kinds[kinds[i]] = 1;
	for (u32 level = 0; level <= btf_depth(r->base); level++) {
		r->in = btf_at_level(r->base, level);
		btf_pass(r->in, &f, base_hit, r);
	}
}

static bool map_one(struct relocation *r, const struct match *m)
{
	bool sized = btf_is_composite_kind(m->kind) && (m->embedded || m->n_any > 1);
	u32 n = sized ? m->n_same : m->n_any;

	if (n > 1)
		return btf_fail(r->e, "'%.64s' of .BTF.base stands for %u types of the base",
		                m->name, n);
	r->map[m->id] = !n ? m->forward : sized ? m->same : m->any;
	if (!r->map[m->id])
		return btf_fail(r->e,
		                m->n_any ? "'%.64s' has another size in the base"
		                         : "'%.64s' of .BTF.base is not in the base",
		                m->name);
	return true;
}

/* ---- the copy ------------------------------------------------------------------------------- */

static void put(const struct relocation *r, u8 *at, u32 v)
{
	if (r->split->swap)
		v = __builtin_bswap32(v);
	memcpy(at, &v, sizeof(v));
}

static bool move_id(const struct relocation *r, u8 *at)
{
	u32 id = btf_load(r->split, at);

	if (id >= btf_count(r->split))
		return btf_fail(r->e, "a type refers to type %u, which does not exist", id);
	put(r, at, id < r->n_small ? r->map[id] : id - r->n_small + btf_count(r->base));
	return true;
}

static bool move_name(const struct relocation *r, u8 *at)
{
	u32 off = btf_load(r->split, at);

	if (off >= r->strs_n && off)
		return btf_fail(r->e, "a name at %u lies outside the strings", off);
	if (off)
		put(r, at, off + r->base->strs_first + r->base->strs_n);
	return true;
}

/* Words of an entry after a record, and which of them are a name and an id (from 1). */
static const struct entry {
	u8 words, name, id;
} entries[] = {
	[BTF_KIND_STRUCT] = { 3, 1, 2 },  [BTF_KIND_UNION] = { 3, 1, 2 },
	[BTF_KIND_ENUM] = { 2, 1, 0 },    [BTF_KIND_FUNC_PROTO] = { 2, 1, 2 },
	[BTF_KIND_DATASEC] = { 3, 0, 1 }, [BTF_KIND_ENUM64] = { 3, 1, 0 },
};

static bool move_entries(const struct relocation *r, const struct btf_info *t, u8 *at)
{
	struct entry k = t->kind < ARRAY_SIZE(entries) ? entries[t->kind] : (struct entry){ 0 };

	for (u32 i = 0; k.words && i < t->vlen; i++, at += k.words * 4)
		if ((k.name && !move_name(r, at + (k.name - 1) * 4)) ||
		    (k.id && !move_id(r, at + (k.id - 1) * 4)))
			return false;
	return true;
}

static bool move_type(struct relocation *r, const struct btf_info *t)
{
	u8 *at = r->at, *behind = at + BTF_RECORD;

	if (t->kind > BTF_KIND_ENUM64)
		return btf_fail(r->e, "type %u is of kind %u, which is not known", t->id, t->kind);
	memcpy(at, t->raw, t->raw_len);
	r->at += t->raw_len;
	if (!move_name(r, at) || (t->type && !move_id(r, at + 8)))
		return false;
	if (t->kind == BTF_KIND_ARRAY)
		return move_id(r, behind) && move_id(r, behind + 4);
	return move_entries(r, t, behind);
}

static void header_write(const struct relocation *r)
{
	const u32 words[] = { HEADER, 0, r->split->types_n, r->split->types_n, r->strs_n };

	memcpy(r->out, r->split->src.p + r->split->start, 4);
	for (u32 i = 0; i < ARRAY_SIZE(words); i++)
		put(r, r->out + 4 + i * 4, words[i]);
}

static bool copy_write(struct relocation *r)
{
	const struct btf *parts[] = { r->small, r->split };
	struct btf_iter it;

	header_write(r);
	r->at = r->out + HEADER;
	for (btf_iter_init(&it, r->split, r->n_small); btf_next(&it);)
		if (!move_type(r, &it.t))
			return false;
	if (r->at != r->out + HEADER + r->split->types_n)
		return btf_fail(r->e, "the types of the split BTF are damaged");
	for (u32 i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!btf_need(parts[i], parts[i]->strs, parts[i]->strs_n))
			return btf_fail(r->e, "the strings can not be read");
		memcpy(r->at, parts[i]->strs, parts[i]->strs_n);
		r->at += parts[i]->strs_n;
	}
	return true;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool relocation_init(struct relocation *r)
{
	const struct btf *small = r->small;
	u32 id, off;

	btf_walk_end(r->split, &id, &off);
	if (off != r->split->types_n || (u64)small->strs_n + r->split->strs_n > BTF_FILE_MAX) {
		btf_fail(r->e, "the split BTF is damaged at type %u", id);
		return false;
	}
	r->n_small = btf_count(small);
	r->strs_n = small->strs_n + r->split->strs_n;
	r->all = calloc(r->n_small, sizeof(*r->all));
	r->by_name = calloc(r->n_small, sizeof(struct match *));
	r->map = calloc(r->n_small, sizeof(*r->map));
	if (r->all && r->by_name && r->map)
		return true;
	btf_fail_sys(r->e, ENOMEM, "relocating BTF");
	return false;
}

static bool has_small_base(const struct btf *split, const struct btf *base, struct btf_error *e)
{
	if (!split->base || split->base->base || split->base == base)
		return btf_fail(e, "this is no split BTF with a small base of its own");
	return split->swap == base->swap ||
	       btf_fail(e, "split BTF and its base differ in byte order");
}

static bool relocate(struct relocation *r)
{
	if (!relocation_init(r) || !small_read(r))
		return false;
	base_search(r);
	for (u32 id = 1; id < r->n_small; id++)
		if (!map_one(r, &r->all[id]))
			return false;
	return true;
}

struct btf *btf_relocate(const struct btf *split, struct btf *base, struct btf_error *e)
{
	struct relocation r = { .split = split, .small = split->base, .base = base, .e = e };
	struct btf *b = NULL;
	size_t n = 0;

	if (has_small_base(split, base, e) && relocate(&r)) {
		n = HEADER + (size_t)split->types_n + r.strs_n;
		r.out = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (r.out == MAP_FAILED)
			btf_fail_sys(e, ENOMEM, "relocating BTF");
		else if (copy_write(&r))
			b = btf_open_mapping(r.out, n, base, e);
		else
			munmap(r.out, n);
	}
	free(r.map);
	free(r.by_name);
	free(r.all);
	return b;
}
