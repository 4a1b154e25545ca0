/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Does a type of the target stand for a local one? Three questions, from lax to strict, with the
 * answers of libbpf 1.1. All compare without typedefs, qualifiers and flavours.
 *
 *     fields_fit    may a member of the one be read where the other is expected
 *     types_fit     is it the same kind of thing, through pointers and prototypes
 *     types_match   are all members, enumerators and parameters of the local one there
 *
 * Types come from files, so they may be endless: chains are cut at 32, nesting at 32, and every
 * comparison of two members is counted.
 */
#include "btf/btf_core_impl.h"

#define LEVELS_MAX 32u

static enum btf_match answer(bool yes)
{
	return yes ? BTF_MATCH_YES : BTF_MATCH_NO;
}

static enum btf_match endless(struct btf_eval *v)
{
	btf_fail(v->e, "the types to compare have no end");
	return BTF_MATCH_ERROR;
}

static bool kinds_fit(u32 a, u32 b)
{
	return a == b || (btf_is_enum_kind(a) && btf_is_enum_kind(b));
}

/* Two types of which something is asked. */
struct pair {
	const struct btf *lb, *tb;
	struct btf_info l, t; /* without modifiers */
	struct btf_eval *v;
};

static bool pair_set(struct pair *p, u32 local, u32 target)
{
	return btf_plain(p->lb, local, &p->l) && btf_plain(p->tb, target, &p->t);
}

static bool pair_names(const char *local, const char *target)
{
	u32 n = btf_essential(local);

	return btf_essential(target) == n && strncmp(local, target, n) == 0;
}

/* Integers at an odd place in their bytes, as bit-fields once were. */
static bool pair_whole_ints(const struct pair *p)
{
	struct btf_int a, b;

	return btf_int(p->lb, &p->l, &a) && btf_int(p->tb, &p->t, &b) && !a.bit_off && !b.bit_off;
}

/* From two arrays to their elements. */
static bool pair_elements(const struct pair *p, u32 *local, u32 *target, bool *same_count)
{
	u32 index, n, m;

	if (!btf_array_of(p->lb, &p->l, local, &index, &n) ||
	    !btf_array_of(p->tb, &p->t, target, &index, &m))
		return false;
	*same_count = n == m;
	return true;
}

enum btf_match btf_fields_fit(const struct btf *lb, u32 local, const struct btf *tb, u32 target,
                              struct btf_eval *v)
{
	struct pair p = { .lb = lb, .tb = tb, .v = v };
	bool same;

	for (u32 depth = 0; depth < LEVELS_MAX; depth++) {
		if (!pair_set(&p, local, target))
			return BTF_MATCH_NO;
		if (btf_is_composite_kind(p.l.kind) && btf_is_composite_kind(p.t.kind))
			return BTF_MATCH_YES;
		if (!kinds_fit(p.l.kind, p.t.kind))
			return BTF_MATCH_NO;
		switch (p.l.kind) {
		case BTF_KIND_PTR:
		case BTF_KIND_FLOAT:
			return BTF_MATCH_YES;
		case BTF_KIND_FWD:
		case BTF_KIND_ENUM:
		case BTF_KIND_ENUM64:
			return answer(!btf_essential(p.l.name) || !btf_essential(p.t.name) ||
			              pair_names(p.l.name, p.t.name));
		case BTF_KIND_INT:
			return answer(pair_whole_ints(&p));
		case BTF_KIND_ARRAY:
			if (!pair_elements(&p, &local, &target, &same))
				return BTF_MATCH_NO;
			continue;
		default:
			return BTF_MATCH_NO;
		}
	}
	return endless(v);
}

/* ---- the same kind of thing ----------------------------------------------------------------- */

static enum btf_match fit(struct pair *p, u32 local, u32 target, u32 levels);

/* Parameters one by one; the caller goes on with what is returned. */
static enum btf_match fit_args(const struct pair *p, u32 levels)
{
	enum btf_match found = answer(p->l.vlen == p->t.vlen);
	struct btf_arg a, b;

	for (u32 i = 0; i < p->l.vlen && found == BTF_MATCH_YES; i++) {
		struct pair inner = { .lb = p->lb, .tb = p->tb, .v = p->v };

		if (!levels || !p->v->work)
			return endless(p->v);
		p->v->work--;
		if (!btf_arg(p->lb, &p->l, i, &a) || !btf_arg(p->tb, &p->t, i, &b))
			return BTF_MATCH_NO;
		found = fit(&inner, a.type, b.type, levels - 1);
	}
	return found;
}

static enum btf_match fit(struct pair *p, u32 local, u32 target, u32 levels)
{
	enum btf_match found;
	bool same;

	for (u32 depth = 0; depth < LEVELS_MAX; depth++) {
		if (!pair_set(p, local, target) || !kinds_fit(p->l.kind, p->t.kind))
			return BTF_MATCH_NO;
		switch (p->l.kind) {
		case BTF_KIND_UNKN:
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
		case BTF_KIND_ENUM:
		case BTF_KIND_ENUM64:
		case BTF_KIND_FWD:
			return BTF_MATCH_YES;
		case BTF_KIND_INT:
			return answer(pair_whole_ints(p));
		case BTF_KIND_ARRAY:
			if (!pair_elements(p, &local, &target, &same))
				return BTF_MATCH_NO;
			continue;
		case BTF_KIND_FUNC_PROTO:
			found = fit_args(p, levels);
			if (found != BTF_MATCH_YES)
				return found;
			break;
		case BTF_KIND_PTR:
			break;
		default:
			return BTF_MATCH_NO;
		}
		local = p->l.type;
		target = p->t.type;
	}
	return endless(p->v);
}

enum btf_match btf_types_fit(const struct btf *lb, u32 local, const struct btf *tb, u32 target,
                             struct btf_eval *v)
{
	struct pair p = { .lb = lb, .tb = tb, .v = v };
	struct btf_info l, t;

	/* Kinds are compared before typedefs are skipped, too. */
	if (!btf_info(lb, local, &l) || !btf_info(tb, target, &t) || !kinds_fit(l.kind, t.kind))
		return BTF_MATCH_NO;
	return fit(&p, local, target, LEVELS_MAX);
}

/* ---- all that the local one has ------------------------------------------------------------- */

static enum btf_match match(const struct pair *from, u32 local, u32 target, bool behind,
                            u32 levels);

/* A name of the target, if there is work left to look at it. */
static bool worth(struct btf_eval *v, const char *local, const char *target)
{
	if (!v->work)
		return false;
	v->work--;
	return pair_names(local, target);
}

static enum btf_match match_enums(const struct pair *p)
{
	struct btf_enumerator a, b;

	if (p->l.size != p->t.size || p->l.vlen > p->t.vlen)
		return BTF_MATCH_NO;
	for (u32 i = 0; i < p->l.vlen; i++) {
		u32 k;

		if (!btf_enumerator(p->lb, &p->l, i, &a))
			return BTF_MATCH_NO;
		for (k = 0; k < p->t.vlen && btf_enumerator(p->tb, &p->t, k, &b); k++)
			if (worth(p->v, a.name, b.name))
				break;
		if (!p->v->work)
			return endless(p->v);
		if (k == p->t.vlen)
			return BTF_MATCH_NO;
	}
	return BTF_MATCH_YES;
}

static enum btf_match match_one_member(const struct pair *p, const struct btf_slot *a, u32 levels)
{
	enum btf_match found = BTF_MATCH_NO;
	struct btf_slot b;

	for (u32 k = 0; k < p->t.vlen && found == BTF_MATCH_NO; k++) {
		if (!btf_slot(p->tb, &p->t, k, &b))
			return BTF_MATCH_NO;
		if (worth(p->v, a->name, b.name))
			found = match(p, a->type, b.type, false, levels);
		if (!p->v->work)
			return endless(p->v);
	}
	return found;
}

static enum btf_match match_members(const struct pair *p, u32 levels)
{
	enum btf_match found = answer(p->l.kind == p->t.kind && p->l.vlen <= p->t.vlen);
	struct btf_slot a;

	for (u32 i = 0; i < p->l.vlen && found == BTF_MATCH_YES; i++) {
		if (!btf_slot(p->lb, &p->l, i, &a))
			return BTF_MATCH_NO;
		found = match_one_member(p, &a, levels);
	}
	return found;
}

static enum btf_match match_args(const struct pair *p, bool behind, u32 levels)
{
	enum btf_match found = answer(p->l.kind == p->t.kind && p->l.vlen == p->t.vlen);
	struct btf_arg a, b;

	for (u32 i = 0; i < p->l.vlen && found == BTF_MATCH_YES; i++) {
		if (!p->v->work)
			return endless(p->v);
		p->v->work--;
		if (!btf_arg(p->lb, &p->l, i, &a) || !btf_arg(p->tb, &p->t, i, &b))
			return BTF_MATCH_NO;
		found = match(p, a.type, b.type, behind, levels);
	}
	return found;
}

/* A composite behind a pointer, or a declaration, which is one of a union with kind_flag. */
static enum btf_match match_declared(const struct pair *p, bool behind)
{
	bool l_fwd = p->l.kind == BTF_KIND_FWD, t_fwd = p->t.kind == BTF_KIND_FWD;
	u32 l = l_fwd ? (u32)BTF_KIND_STRUCT + p->l.kind_flag : p->l.kind;
	u32 t = t_fwd ? (u32)BTF_KIND_STRUCT + p->t.kind_flag : p->t.kind;

	return answer(l == t && (behind || l_fwd == t_fwd));
}

static enum btf_match match_ints(const struct pair *p)
{
	struct btf_int a, b;

	return answer(btf_int(p->lb, &p->l, &a) && btf_int(p->tb, &p->t, &b) &&
	              p->l.size == p->t.size && a.is_signed == b.is_signed);
}

/* Kinds that end a comparison. False for those that lead on: *found is then unset. */
static bool match_leaf(const struct pair *p, bool behind, u32 levels, enum btf_match *found)
{
	switch (p->l.kind) {
	case BTF_KIND_UNKN:
		*found = answer(p->t.kind == BTF_KIND_UNKN);
		return true;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		*found = btf_is_enum_kind(p->t.kind) ? match_enums(p) : BTF_MATCH_NO;
		return true;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		*found = behind ? match_declared(p, true) : match_members(p, levels - 1);
		return true;
	case BTF_KIND_FWD:
		*found = match_declared(p, behind);
		return true;
	case BTF_KIND_INT:
		*found = match_ints(p);
		return true;
	case BTF_KIND_PTR:
	case BTF_KIND_ARRAY:
	case BTF_KIND_FUNC_PROTO:
		return false;
	default:
		*found = BTF_MATCH_NO;
		return true;
	}
}

static enum btf_match match(const struct pair *from, u32 local, u32 target, bool behind, u32 levels)
{
	struct pair p = { .lb = from->lb, .tb = from->tb, .v = from->v };
	enum btf_match found;
	bool same;

	if (!levels)
		return endless(p.v);
	for (u32 depth = 0; depth < LEVELS_MAX; depth++) {
		if (!pair_set(&p, local, target) || !pair_names(p.l.name, p.t.name))
			return BTF_MATCH_NO;
		if (match_leaf(&p, behind, levels, &found))
			return found;
		if (p.l.kind != p.t.kind)
			return BTF_MATCH_NO;
		if (p.l.kind == BTF_KIND_ARRAY) {
			if (!pair_elements(&p, &local, &target, &same) || !same)
				return BTF_MATCH_NO;
			continue;
		}
		if (p.l.kind == BTF_KIND_FUNC_PROTO) {
			found = match_args(&p, behind, levels - 1);
			if (found != BTF_MATCH_YES)
				return found;
		}
		behind |= p.l.kind == BTF_KIND_PTR;
		local = p.l.type;
		target = p.t.type;
	}
	return endless(p.v);
}

enum btf_match btf_types_match(const struct btf *lb, u32 local, const struct btf *tb, u32 target,
                               struct btf_eval *v)
{
	struct pair p = { .lb = lb, .tb = tb, .v = v };

	return match(&p, local, target, false, LEVELS_MAX);
}
