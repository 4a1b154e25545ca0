/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One type: its record and the entries after it, and what follows from those of the types it
 * refers to. Numbers come out in the machine's byte order; ids are not checked before they are
 * followed, chains of them are bounded.
 */
#include "btf/btf_impl.h"

static bool has_size(u32 kind)
{
	return kind == BTF_KIND_INT || kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64 ||
	       kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_FLOAT ||
	       kind == BTF_KIND_DATASEC;
}

bool btf_info_read(const struct btf *b, u32 id, const u8 *p, u32 n, struct btf_info *t)
{
	u32 word = btf_load(b, p + 4), last = btf_load(b, p + 8);

	t->id = id;
	t->kind = btf_kind_of(word);
	t->vlen = btf_vlen_of(word);
	t->kind_flag = word >> 31;
	t->size = has_size(t->kind) ? last : 0;
	t->type = has_size(t->kind) || t->kind == BTF_KIND_ARRAY || t->kind == BTF_KIND_FWD ? 0
	                                                                                    : last;
	t->name_off = btf_load(b, p);
	t->name = btf_string(b, t->name_off);
	t->raw = p;
	t->raw_len = n;
	return t->name != NULL;
}

bool btf_info(const struct btf *b, u32 id, struct btf_info *t)
{
	const struct btf *in;
	u32 n;
	const u8 *p = btf_record(b, id, &in, &n);

	return p && btf_info_read(in, id, p, n, t);
}

/* Kind and last word of a record, without its name: for following ids. */
static bool step(const struct btf *b, u32 id, u32 *kind, u32 *last)
{
	const struct btf *in;
	u32 n;
	const u8 *p = btf_record(b, id, &in, &n);

	if (!p)
		return false;
	*kind = btf_kind_of(btf_load(b, p + 4));
	*last = btf_load(b, p + 8);
	return true;
}

u32 btf_skip(const struct btf *b, u32 id)
{
	u32 kind, last;

	for (u32 hops = 0; hops <= BTF_CHAIN_MAX && step(b, id, &kind, &last); hops++) {
		if (!btf_is_modifier(kind))
			return id;
		id = last;
	}
	return 0;
}

/* Goes through modifiers, variables and arrays; *times is the product of the arrays' counts. */
static bool skip_to_element(const struct btf *b, u32 id, struct btf_info *t, u64 *times)
{
	*times = 1;
	for (u32 hops = 0; hops < BTF_CHAIN_MAX; hops++) {
		u32 count, index;

		if (!btf_info(b, btf_skip(b, id), t))
			return false;
		if (btf_array_of(b, t, &id, &index, &count)) {
			*times *= count;
			if (*times > UINT32_MAX)
				return false;
		} else if (t->kind == BTF_KIND_VAR) {
			id = t->type;
		} else {
			return true;
		}
	}
	return false;
}

u32 btf_size(const struct btf *b, u32 id)
{
	struct btf_info t;
	u64 times, size;

	if (!skip_to_element(b, id, &t, &times))
		return 0;
	size = times * (t.kind == BTF_KIND_PTR ? btf_pointer_size(b) : t.size);
	return size <= UINT32_MAX ? (u32)size : 0;
}

static u32 align_of(const struct btf *b, u32 id, u32 depth, u32 *work)
{
	struct btf_info t;
	struct btf_field f;
	u32 align = 1;
	u64 times;

	if (depth > BTF_CHAIN_MAX || !skip_to_element(b, id, &t, &times))
		return 0;
	if (t.kind == BTF_KIND_PTR)
		return btf_pointer_size(b);
	if (!btf_is_composite_kind(t.kind))
		return MIN(t.size, btf_pointer_size(b));
	for (u32 i = 0; i < t.vlen && *work; i++) {
		u32 inner;

		--*work;
		if (!btf_field(b, &t, i, &f) || (f.bit_size && !f.name[0]))
			continue;
		inner = align_of(b, f.type, depth + 1, work);
		align = MAX(align, inner);
	}
	return align;
}

u32 btf_align(const struct btf *b, u32 id)
{
	u32 work = BTF_FIELDS_MAX;

	return align_of(b, id, 0, &work);
}

/* ---- what lies after a record -------------------------------------------------------------- */

/* The entry i of `size` bytes after a record with `vlen` of them, or NULL. */
static const u8 *entry(const struct btf_info *t, u32 i, u32 size)
{
	if (i >= t->vlen || t->raw_len < BTF_RECORD + (u64)t->vlen * size)
		return NULL;
	return (const u8 *)t->raw + BTF_RECORD + (size_t)i * size;
}

static u32 first_word(const struct btf *b, const struct btf_info *t)
{
	return btf_load(b, (const u8 *)t->raw + BTF_RECORD);
}

bool btf_int(const struct btf *b, const struct btf_info *t, struct btf_int *i)
{
	u32 word;

	if (t->kind != BTF_KIND_INT)
		return false;
	/* encoding << 24 | offset << 16 | width, the latter two in bits */
	word = first_word(b, t);
	i->is_signed = word >> 24 & 1;
	i->is_char = word >> 24 & 2;
	i->is_bool = word >> 24 & 4;
	i->bit_off = word >> 16 & 0xff;
	i->bits = word & 0xff;
	return true;
}

bool btf_array_of(const struct btf *b, const struct btf_info *t, u32 *elem, u32 *index, u32 *count)
{
	const u8 *p = (const u8 *)t->raw + BTF_RECORD;

	if (t->kind != BTF_KIND_ARRAY)
		return false;
	*elem = btf_load(b, p);
	*index = btf_load(b, p + 4);
	*count = btf_load(b, p + 8);
	return true;
}

bool btf_linkage(const struct btf *b, const struct btf_info *t, u32 *linkage)
{
	if (t->kind == BTF_KIND_FUNC)
		*linkage = t->vlen;
	else if (t->kind == BTF_KIND_VAR)
		*linkage = first_word(b, t);
	else
		return false;
	return true;
}

bool btf_component(const struct btf *b, const struct btf_info *t, int32_t *component)
{
	if (t->kind != BTF_KIND_DECL_TAG)
		return false;
	*component = (s32)first_word(b, t);
	return true;
}

/*
 * Without kind_flag a bit-field is an INT narrower than its bytes, or with an offset of its own.
 */
static void old_bit_field(const struct btf *b, struct btf_field *f, u64 *off)
{
	const struct btf *in = b;
	struct btf_info t;
	struct btf_int i;

	while (in && atomic_load_explicit(&in->full_ints, memory_order_relaxed))
		in = in->base;
	if (!in)
		return;
	if (!btf_info(b, btf_skip(b, f->type), &t) || !btf_int(b, &t, &i))
		return;
	if (i.bit_off || i.bits != t.size * 8) {
		f->bit_size = i.bits;
		*off += i.bit_off;
	}
}

bool btf_field(const struct btf *b, const struct btf_info *t, u32 i, struct btf_field *f)
{
	const u8 *p = btf_is_composite_kind(t->kind) ? entry(t, i, 12) : NULL;
	u64 off;
	u32 place;

	if (!p)
		return false;
	f->name_off = btf_load(b, p);
	f->name = btf_string(b, f->name_off);
	f->type = btf_load(b, p + 4);
	place = btf_load(b, p + 8);
	off = t->kind_flag ? place & 0xffffff : place;
	f->bit_size = t->kind_flag ? place >> 24 : 0;
	if (!t->kind_flag)
		old_bit_field(b, f, &off);
	f->bit_off = (u32)off;
	return f->name && off <= UINT32_MAX;
}

bool btf_arg(const struct btf *b, const struct btf_info *t, u32 i, struct btf_arg *a)
{
	const u8 *p = t->kind == BTF_KIND_FUNC_PROTO ? entry(t, i, 8) : NULL;

	if (!p)
		return false;
	a->name_off = btf_load(b, p);
	a->name = btf_string(b, a->name_off);
	a->type = btf_load(b, p + 4);
	return a->name != NULL;
}

bool btf_enumerator(const struct btf *b, const struct btf_info *t, u32 i, struct btf_enumerator *v)
{
	bool wide = t->kind == BTF_KIND_ENUM64;
	const u8 *p = btf_is_enum_kind(t->kind) ? entry(t, i, wide ? 12 : 8) : NULL;
	u32 low;

	if (!p)
		return false;
	v->name_off = btf_load(b, p);
	v->name = btf_string(b, v->name_off);
	low = btf_load(b, p + 4);
	if (wide)
		v->value = (s64)((u64)btf_load(b, p + 8) << 32 | low);
	else
		v->value = t->kind_flag ? (s64)(s32)low : (s64)low;
	return v->name != NULL;
}

bool btf_place(const struct btf *b, const struct btf_info *t, u32 i, struct btf_place *p)
{
	const u8 *at = t->kind == BTF_KIND_DATASEC ? entry(t, i, 12) : NULL;

	if (!at)
		return false;
	p->var = btf_load(b, at);
	p->off = btf_load(b, at + 4);
	p->size = btf_load(b, at + 8);
	return true;
}
