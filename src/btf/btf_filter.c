/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of BTF that some programs need: which types, which members.
 *
 * The one idea: a list of needs that is worked off. A need is a type and how much of it: a type
 * that is only passed through, one whose pointers are compared, one that is embedded whole. Each
 * need is met once, by noting the type and needing what it consists of, so that loops of types
 * end by themselves. What was noted is written by btf_filter_write.c.
 *
 *     member that is read        the member; its type, of which nothing is opened
 *     type that must exist       the type, through pointers, no member
 *     type that must match       all members; behind pointers only the type itself
 *     type that is asked for     all members, embedded types too; no pointer is followed
 */
#include "btf/btf_filter_impl.h"

#include <errno.h>
#include <stdlib.h>

/* ---- notes ----------------------------------------------------------------------------------- */

static bool no_memory(struct btf_subset *s)
{
	s->out_of_memory = true;
	return false;
}

static bool grow(struct btf_subset *s, void **v, u32 n, u32 *cap, size_t size)
{
	u32 more = *cap + *cap / 2 + 64;
	void *p;

	if (n < *cap)
		return true;
	p = realloc(*v, (size_t)more * size);
	if (!p)
		return no_memory(s);
	*v = p;
	*cap = more;
	return true;
}

/* Sets a bit that says a need is known; false when it was set. */
static bool first_time(struct btf_subset *s, u32 id, enum btf_need need)
{
	struct btf_bits *b = &s->known[need];
	u32 bytes = id / 8 + 1;

	if (bytes > b->n) {
		u32 more = MAX(bytes + bytes / 2, 256u);
		u8 *p = realloc(b->v, more);

		if (!p)
			return no_memory(s);
		memset(p + b->n, 0, more - b->n);
		b->v = p;
		b->n = more;
	}
	if (b->v[id / 8] >> id % 8 & 1)
		return false;
	b->v[id / 8] |= (u8)(1u << id % 8);
	return true;
}

static void need(struct btf_subset *s, u32 id, enum btf_need how)
{
	struct btf_info t;

	/* Ids that do not exist would only cost bits. */
	if (!id || !btf_info(s->target, id, &t) || !first_time(s, id, how) ||
	    !grow(s, (void **)&s->todo, s->n_todo, &s->cap_todo, sizeof(*s->todo)))
		return;
	s->todo[s->n_todo++] = (struct btf_todo){ id, how };
}

static void note_type(struct btf_subset *s, u32 id)
{
	if (first_time(s, id, BTF_NEED_NOTED) &&
	    grow(s, (void **)&s->types, s->n_types, &s->cap_types, sizeof(*s->types)))
		s->types[s->n_types++] = id;
}

static void note_member(struct btf_subset *s, u32 id, u32 i)
{
	if (grow(s, (void **)&s->members, s->n_members, &s->cap_members, sizeof(*s->members)))
		s->members[s->n_members++] = (u64)id << 32 | i;
}

/* ---- needs ----------------------------------------------------------------------------------- */

static void open_members(struct btf_subset *s, const struct btf_info *t, enum btf_need how)
{
	struct btf_slot m;

	for (u32 i = 0; i < t->vlen && btf_slot(s->target, t, i, &m); i++) {
		note_member(s, t->id, i);
		need(s, m.type, how);
	}
}

static void open_entries(struct btf_subset *s, const struct btf_info *t, enum btf_need how)
{
	u32 elem, index, count;
	struct btf_place p;
	struct btf_arg a;

	if (btf_array_of(s->target, t, &elem, &index, &count)) {
		need(s, elem, how);
		need(s, index, BTF_NEED_PLAIN);
	}
	for (u32 i = 0; btf_arg(s->target, t, i, &a); i++)
		need(s, a.type, how);
	for (u32 i = 0; btf_place(s->target, t, i, &p); i++)
		need(s, p.var, how);
}

/* Meets one need. */
static void meet(struct btf_subset *s, u32 id, enum btf_need how)
{
	struct btf_info t;

	if (!btf_info(s->target, id, &t) || t.kind > BTF_KIND_ENUM64)
		return;
	note_type(s, id);
	if (btf_is_composite_kind(t.kind)) {
		if (how == BTF_NEED_MATCH || how == BTF_NEED_WHOLE)
			open_members(s, &t, how);
	} else if (t.kind == BTF_KIND_PTR) {
		if (how == BTF_NEED_DEEP)
			need(s, t.type, how);
		else if (how == BTF_NEED_MATCH || how == BTF_NEED_BEHIND)
			need(s, t.type, BTF_NEED_BEHIND);
	} else {
		need(s, t.type, how);
		open_entries(s, &t, how);
	}
}

static bool meet_all(struct btf_subset *s, struct btf_error *e)
{
	while (s->n_todo && !s->out_of_memory) {
		struct btf_todo next = s->todo[--s->n_todo];

		meet(s, next.id, next.how);
	}
	return !s->out_of_memory || btf_fail_sys(e, ENOMEM, "reducing BTF");
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct btf_subset *btf_filter_new(const struct btf *target, struct btf_error *e)
{
	struct btf_subset *s = calloc(1, sizeof(*s));

	if (s)
		s->target = target;
	else
		btf_fail_sys(e, ENOMEM, "reducing BTF");
	return s;
}

void btf_filter_free(struct btf_subset *s)
{
	if (!s)
		return;
	for (u32 i = 0; i < BTF_NEEDS; i++)
		free(s->known[i].v);
	free(s->todo);
	free(s->types);
	free(s->members);
	free(s->out);
	free(s);
}

static bool find_named(const struct btf *b, const char *name, u32 *id, struct btf_error *e)
{
	*id = btf_find_c(b, name);
	if (!*id)
		*id = btf_find(b, BTF_KIND_FUNC, name);
	return *id || btf_fail(e, "there is no type or function named '%.128s'", name);
}

bool btf_filter_type(struct btf_subset *s, const char *name, struct btf_error *e)
{
	u32 id;

	if (!find_named(s->target, name, &id, e))
		return false;
	need(s, id, BTF_NEED_WHOLE);
	return meet_all(s, e);
}

/* Notes the members that lead to the one of that name. */
static bool note_named(struct btf_subset *s, u32 id, const char *name, u32 depth, u32 *work)
{
	struct btf_info t;
	struct btf_slot m;

	if (depth > BTF_NEST_MAX || !btf_plain(s->target, id, &t))
		return false;
	for (u32 i = 0; *work && btf_slot(s->target, &t, i, &m); i++, --*work) {
		bool here = m.name[0] && strcmp(m.name, name) == 0;

		if (!here && (m.name[0] || !note_named(s, m.type, name, depth + 1, work)))
			continue;
		need(s, t.id, BTF_NEED_PLAIN);
		need(s, m.type, BTF_NEED_PLAIN);
		note_member(s, t.id, i);
		return true;
	}
	return false;
}

/* From a type through modifiers, elements and one pointer: all that lies on the way. */
static void note_way(struct btf_subset *s, u32 id, bool deref)
{
	struct btf_info t;

	need(s, id, BTF_NEED_PLAIN);
	if (deref && btf_plain(s->target, id, &t) && t.kind == BTF_KIND_PTR)
		need(s, t.type, BTF_NEED_PLAIN);
}

bool btf_filter_path(struct btf_subset *s, const char *type, const char *path, struct btf_error *e)
{
	u32 id, work = BTF_WORK_MAX;
	struct btf_path p;

	if (!find_named(s->target, type, &id, e) || !btf_path(s->target, id, path, &p, e))
		return false;
	for (u32 i = 0; i < p.n; i++) {
		const struct btf_hop *h = &p.hop[i];

		note_way(s, id, h->deref);
		need(s, h->in, BTF_NEED_PLAIN);
		if (h->name[0] && !note_named(s, h->in, h->name, 0, &work))
			return btf_fail(e, "the path '%.128s' is nested too deep", path);
		id = h->type;
	}
	note_way(s, id, false);
	return meet_all(s, e);
}

/* ---- relocations ----------------------------------------------------------------------------- */

/* The members and elements of an access. */
static void note_access(struct btf_subset *s, const struct btf_spec *spec)
{
	u32 id = spec->root, elem, index, count;
	struct btf_info t;
	struct btf_slot m;

	need(s, id, BTF_NEED_PLAIN);
	for (u32 i = 1; i < spec->n_raw && btf_plain(s->target, id, &t); i++) {
		if (btf_slot(s->target, &t, spec->raw[i], &m)) {
			note_member(s, t.id, spec->raw[i]);
			id = m.type;
		} else if (btf_array_of(s->target, &t, &elem, &index, &count)) {
			id = elem;
		} else {
			return;
		}
		need(s, id, BTF_NEED_PLAIN);
	}
}

static void note_target(struct btf_subset *s, const struct btf_spec *spec)
{
	if (btf_core_is_field(spec->kind))
		note_access(s, spec);
	else if (btf_core_is_enum(spec->kind))
		need(s, spec->root, BTF_NEED_PLAIN);
	else if (spec->kind == BTF_CORE_TYPE_MATCHES)
		need(s, spec->root, BTF_NEED_MATCH);
	else
		need(s, spec->root, BTF_NEED_DEEP);
}

/* Says which one it was that went wrong. */
static bool fail_at(struct btf_error *e, const struct btf_relo *r)
{
	char text[sizeof(e->text)];

	if (!e || e->code)
		return false;
	memcpy(text, e->text, sizeof(text));
	return btf_fail(e, "%.48s, instruction %u: %.180s", r->section, r->insn_off / 8, text);
}

static bool note_relos(struct btf_subset *s, struct btf_core *c, const struct btf_ext *x,
                       struct btf_error *e)
{
	struct btf_core_result out;
	struct btf_relo_iter it;
	struct btf_spec spec;

	btf_relo_iter_init(&it, x);
	while (btf_relo_next(&it)) {
		if (!btf_core_find(c, &it.r, &out, &spec, e))
			return fail_at(e, &it.r);
		if (spec.root)
			note_target(s, &spec);
	}
	return meet_all(s, e);
}

bool btf_filter_object(struct btf_subset *s, const struct btf *object, struct btf_error *e)
{
	struct btf_core *c;
	struct btf_ext x;
	bool ok;

	if (!btf_ext_of(object, &x, e))
		return false;
	c = btf_core_new(object, &x, s->target, NULL, 0, e);
	ok = c && note_relos(s, c, &x, e);
	btf_core_free(c);
	return ok;
}
