/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Accesses: from the compiler's "0:1:2" to names and indexes, and from those to the same place in
 * another BTF.
 *
 *     struct s { int x; struct { int y; int a[7]; }; };      &s->a[3] is 0:1:1:3
 *
 * The first number indexes the pointer that is followed, each other one a member or an element.
 * Anonymous members have no meaning of their own: in the target, the name is searched through
 * whatever anonymous members are there. The rules are those of libbpf 1.1, which is how programs
 * are loaded elsewhere; numbers below zero and offsets beyond 32 bits are refused besides.
 */
#include "btf/btf_core_impl.h"

/* ---- types ---------------------------------------------------------------------------------- */

u32 btf_essential(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = n; i-- > 1;)
		if (i + 4 <= n && memcmp(name + i, "___", 3) == 0 && name[i - 1] != '_' &&
		    name[i + 3] != '_')
			return (u32)i;
	return (u32)n;
}

bool btf_plain(const struct btf *b, u32 id, struct btf_info *t)
{
	static const u32 nothing[BTF_RECORD / 4];

	id = btf_skip(b, id);
	if (id)
		return btf_info(b, id, t);
	*t = (struct btf_info){ .name = "", .raw = nothing, .raw_len = sizeof(nothing) };
	return true;
}

bool btf_slot(const struct btf *b, const struct btf_info *t, u32 i, struct btf_slot *m)
{
	const u8 *p;
	u32 place;

	if (!btf_is_composite_kind(t->kind) || i >= t->vlen)
		return false;
	p = (const u8 *)t->raw + BTF_RECORD + (size_t)i * 12;
	m->name = btf_string(b, btf_load(b, p));
	m->type = btf_load(b, p + 4);
	place = btf_load(b, p + 8);
	m->bit_off = t->kind_flag ? place & 0xffffff : place;
	m->bit_size = t->kind_flag ? place >> 24 : 0;
	return m->name != NULL;
}

bool btf_extent(const struct btf *b, u32 id, u32 *bytes)
{
	struct btf_info t;
	u32 elem, index, count;

	*bytes = btf_size(b, id);
	if (*bytes)
		return true;
	/* Empty, without a size, or damaged. */
	for (u32 hops = 0; hops < BTF_CHAIN_MAX; hops++) {
		if (!btf_plain(b, id, &t))
			return false;
		if (btf_array_of(b, &t, &elem, &index, &count))
			id = elem;
		else
			break;
	}
	return t.kind == BTF_KIND_INT || t.kind == BTF_KIND_PTR || t.kind == BTF_KIND_FLOAT ||
	       t.kind == BTF_KIND_DATASEC || btf_is_composite_kind(t.kind) ||
	       btf_is_enum_kind(t.kind);
}

/* ---- parsing -------------------------------------------------------------------------------- */

/* "0:1:2" into raw. */
static bool numbers_read(struct btf_spec *s, const char *text)
{
	while (*text) {
		u64 v = 0;
		const char *from;

		if (*text == ':')
			text++;
		for (from = text; *text >= '0' && *text <= '9'; text++) {
			v = v * 10 + (u64)(*text - '0');
			if (v > INT32_MAX)
				return false;
		}
		if (text == from || (*text && *text != ':') || s->n_raw == BTF_SPEC_MAX)
			return false;
		s->raw[s->n_raw++] = (u32)v;
	}
	return s->n_raw > 0;
}

static bool move(struct btf_spec *s, u64 index, u64 bits)
{
	/* Both are below 2^35. */
	if (bits && index > UINT32_MAX / bits)
		return false;
	s->bit_off += index * bits;
	return s->bit_off <= UINT32_MAX;
}

static void step_add(struct btf_spec *s, const char *name, u32 type, u32 index)
{
	s->step[s->n_steps++] = (struct btf_step){ name, type, index };
}

/* An array without a size as last member may be indexed beyond its end. */
static bool is_open(const struct btf *b, const struct btf_step *in, u32 count)
{
	struct btf_info t;

	return in->name && !count && btf_info(b, in->type, &t) && in->index == t.vlen - 1;
}

/* One number after the first, from the plain type t. */
static bool parse_step(struct btf_spec *s, u32 *id, const struct btf_info *t, u32 index)
{
	struct btf_slot m;
	u32 elem, of, count, bytes;

	if (btf_is_composite_kind(t->kind)) {
		if (!btf_slot(s->btf, t, index, &m) || !move(s, 1, m.bit_off))
			return false;
		if (m.name[0])
			step_add(s, m.name, t->id, index);
		*id = m.type;
		return true;
	}
	if (!btf_array_of(s->btf, t, &elem, &of, &count) ||
	    (index >= count && !is_open(s->btf, &s->step[s->n_steps - 1], count)))
		return false;
	*id = btf_skip(s->btf, elem);
	step_add(s, NULL, *id, index);
	return btf_extent(s->btf, *id, &bytes) && move(s, index, (u64)bytes * 8);
}

static bool parse_enum(struct btf_spec *s, const struct btf_info *t)
{
	struct btf_enumerator v;

	if (!btf_is_enum_kind(t->kind) || s->n_raw != 1 ||
	    !btf_enumerator(s->btf, t, s->raw[0], &v))
		return false;
	step_add(s, v.name, t->id, s->raw[0]);
	return true;
}

static bool parse_fields(struct btf_spec *s, const struct btf_info *root)
{
	struct btf_info t = *root;
	u32 id = t.id, bytes;

	step_add(s, NULL, id, s->raw[0]);
	if (!btf_extent(s->btf, id, &bytes) || !move(s, s->raw[0], (u64)bytes * 8))
		return false;
	for (u32 i = 1; i < s->n_raw; i++)
		if (!btf_plain(s->btf, id, &t) || !parse_step(s, &id, &t, s->raw[i]))
			return false;
	return true;
}

static bool parse_access(struct btf_spec *s, const char *access)
{
	struct btf_info t;

	if (s->kind >= BTF_CORE_KINDS || !access[0] || access[0] == ':')
		return false;
	if (!btf_core_is_field(s->kind) && !btf_core_is_enum(s->kind))
		return strcmp(access, "0") == 0;
	if (!numbers_read(s, access) || !btf_plain(s->btf, s->root, &t))
		return false;
	return btf_core_is_enum(s->kind) ? parse_enum(s, &t) : parse_fields(s, &t);
}

bool btf_spec_parse(struct btf_spec *s, const struct btf *b, const struct btf_relo *r,
                    struct btf_error *e)
{
	const char *access = btf_string(b, r->access_off);

	s->btf = b;
	s->root = r->type;
	s->kind = r->kind;
	s->n_steps = s->n_raw = 0;
	s->bit_off = 0;
	if (access && parse_access(s, access))
		return true;
	return btf_fail(e, "the relocation (kind %u) of type %u with access \"%.64s\" is damaged",
	                r->kind, r->type, access ? access : "");
}

/* ---- the same in a target ------------------------------------------------------------------- */

static enum btf_match too_much(struct btf_eval *v)
{
	btf_fail(v->e, "the types to compare are nested too deep");
	return BTF_MATCH_ERROR;
}

/*
 * A member by its name in the plain composite t and the anonymous ones in it. A member of that
 * name whose type does not fit ends the search.
 */
static enum btf_match match_member(const struct btf_slot *local, const struct btf *lb,
                                   struct btf_spec *s, u32 *id, struct btf_eval *v)
{
	struct btf_info t;
	struct btf_slot m;

	if (!btf_plain(s->btf, *id, &t) || !btf_is_composite_kind(t.kind))
		return BTF_MATCH_NO;
	for (u32 i = 0; i < t.vlen; i++) {
		u64 bit_off = s->bit_off;
		u32 n_raw = s->n_raw, n_steps = s->n_steps;
		enum btf_match found = BTF_MATCH_NO;

		if (s->n_raw == BTF_SPEC_MAX || !v->work)
			return too_much(v);
		v->work--;
		if (!btf_slot(s->btf, &t, i, &m))
			return BTF_MATCH_NO;
		s->raw[s->n_raw++] = i;
		s->bit_off += m.bit_off;
		if (!m.name[0]) {
			u32 inner = m.type;

			found = match_member(local, lb, s, &inner, v);
			if (found != BTF_MATCH_NO) {
				*id = inner;
				return found;
			}
		} else if (strcmp(m.name, local->name) == 0) {
			step_add(s, m.name, t.id, i);
			*id = m.type;
			return btf_fields_fit(lb, local->type, s->btf, m.type, v);
		}
		s->n_raw = n_raw;
		s->n_steps = n_steps;
		s->bit_off = bit_off;
	}
	return BTF_MATCH_NO;
}

static enum btf_match match_element(const struct btf_step *local, bool first, struct btf_spec *s,
                                    u32 *id, struct btf_eval *v)
{
	struct btf_info t;
	u32 elem, of, count, bytes;

	*id = btf_skip(s->btf, *id);
	if (!first) {
		if (!btf_plain(s->btf, *id, &t) || !btf_array_of(s->btf, &t, &elem, &of, &count) ||
		    (local->index >= count && !is_open(s->btf, &s->step[s->n_steps - 1], count)))
			return BTF_MATCH_NO;
		*id = btf_skip(s->btf, elem);
	}
	if (s->n_raw == BTF_SPEC_MAX)
		return too_much(v);
	step_add(s, NULL, *id, local->index);
	s->raw[s->n_raw++] = local->index;
	if (btf_extent(s->btf, *id, &bytes) && move(s, local->index, (u64)bytes * 8))
		return BTF_MATCH_YES;
	btf_fail(v->e, "type %u of the target has no size, or is too large to be indexed", *id);
	return BTF_MATCH_ERROR;
}

static enum btf_match match_fields(const struct btf_spec *local, struct btf_spec *s,
                                   struct btf_eval *v)
{
	enum btf_match found = BTF_MATCH_YES;
	u32 id = s->root;

	for (u32 i = 0; i < local->n_steps && found == BTF_MATCH_YES; i++) {
		const struct btf_step *step = &local->step[i];
		struct btf_info t;
		struct btf_slot m;

		if (!step->name)
			found = match_element(step, i == 0, s, &id, v);
		else if (btf_info(local->btf, step->type, &t) &&
		         btf_slot(local->btf, &t, step->index, &m))
			found = match_member(&m, local->btf, s, &id, v);
		else
			found = BTF_MATCH_NO;
	}
	if (found == BTF_MATCH_YES && s->bit_off > UINT32_MAX)
		return too_much(v);
	return found;
}

static enum btf_match match_enum(const struct btf_spec *local, struct btf_spec *s,
                                 struct btf_eval *v)
{
	const char *name = local->step[0].name;
	u32 n = btf_essential(name);
	struct btf_enumerator x;
	struct btf_info t;

	if (!btf_plain(s->btf, s->root, &t) || !btf_is_enum_kind(t.kind))
		return BTF_MATCH_NO;
	for (u32 i = 0; i < t.vlen; i++) {
		if (!v->work)
			return too_much(v);
		v->work--;
		if (!btf_enumerator(s->btf, &t, i, &x))
			return BTF_MATCH_NO;
		if (strncmp(x.name, name, n) == 0 && btf_essential(x.name) == n) {
			step_add(s, x.name, t.id, i);
			s->raw[s->n_raw++] = i;
			return BTF_MATCH_YES;
		}
	}
	return BTF_MATCH_NO;
}

enum btf_match btf_spec_match(const struct btf_spec *local, const struct btf *b, u32 id,
                              struct btf_spec *s, struct btf_eval *v)
{
	s->btf = b;
	s->root = id;
	s->kind = local->kind;
	s->n_steps = s->n_raw = 0;
	s->bit_off = 0;
	if (btf_core_is_field(s->kind))
		return match_fields(local, s, v);
	if (btf_core_is_enum(s->kind))
		return match_enum(local, s, v);
	if (s->kind == BTF_CORE_TYPE_MATCHES)
		return btf_types_match(local->btf, local->root, b, id, v);
	return btf_types_fit(local->btf, local->root, b, id, v);
}
