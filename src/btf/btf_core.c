/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the relocations of a BPF object come to on a kernel.
 *
 * The one idea: all names first. The types at the root of an object's relocations are collected,
 * and one search of the target finds every type with one of their names, flavours ("x___old")
 * included; modules are searched only for names the kernel has not got. After that a relocation is
 * a walk over the members of a few types.
 *
 *     local type --> essential name --> candidates --> those its relocations fit
 *
 * Candidates belong to a local type, and one that does not fit is out for all its later
 * relocations, so that offsets of two layouts are never mixed. Those that fit must agree.
 *
 * The decisions are libbpf 1.1's. Instructions are not looked at or changed here.
 */
#include "btf/btf_core_impl.h"

#include <errno.h>
#include <stdlib.h>

struct cand {
	const struct btf *btf;
	u32 id;
};

struct cands {
	struct cand *v;
	u32 n, cap;
};

/* A name and kind that is searched for. */
struct wanted {
	char *name;
	u32 kind; /* an ENUM64 is wanted as ENUM */
	struct cands found;
};

/* A local type. */
struct root {
	u32 id, wanted;
	bool resolved; /* `left` is set */
	struct cands left;
};

/*
 * Steps for all relocations of an object: what hostile types take for one (BTF_WORK_MAX) it may not
 * take for each. A usual one takes some hundred.
 */
#define RELOS_WORK (100 * (u64)BTF_WORK_MAX)
#define BYTE_WORK  128u /* more for each byte of the section; a relocation has 16 */

struct btf_core {
	const struct btf *local, *target;
	const struct btf *const *modules;
	u32 n_modules;
	struct root *roots; /* by id */
	u32 n_roots, cap_roots;
	struct wanted *wanted; /* sorted by name and kind while they are all searched for at once */
	u32 n_wanted, cap_wanted;
	u32 n_searched;
	u64 work; /* steps left for all relocations together */
};

/* Makes room for one more of `size` bytes; grows by half. */
static bool room(void **v, u32 n, u32 *cap, size_t size)
{
	u32 more = *cap + *cap / 2 + 8;
	void *p;

	if (n < *cap)
		return true;
	p = realloc(*v, (size_t)more * size);
	if (!p)
		return false;
	*v = p;
	*cap = more;
	return true;
}

static bool cands_add(struct cands *c, const struct btf *b, u32 id)
{
	if (!room((void **)&c->v, c->n, &c->cap, sizeof(*c->v)))
		return false;
	c->v[c->n++] = (struct cand){ b, id };
	return true;
}

/* ---- roots and what they want ---------------------------------------------------------------- */

static u32 wanted_kind(u32 kind)
{
	return kind == BTF_KIND_ENUM64 ? (u32)BTF_KIND_ENUM : kind;
}

static int by_id(const void *x, const void *y)
{
	u32 a = ((const struct root *)x)->id, b = ((const struct root *)y)->id;

	return a < b ? -1 : a > b;
}

static struct root *root_find(const struct btf_core *c, u32 id)
{
	struct root key = { .id = id };

	return c->n_roots ? bsearch(&key, c->roots, c->n_roots, sizeof(key), by_id) : NULL;
}

/* A root with what it wants; wants of equal names come together in wanted_unite. */
static bool root_add(struct btf_core *c, u32 id)
{
	struct btf_info t;
	char *name;

	if (!room((void **)&c->roots, c->n_roots, &c->cap_roots, sizeof(*c->roots)) ||
	    !room((void **)&c->wanted, c->n_wanted, &c->cap_wanted, sizeof(*c->wanted)))
		return false;
	if (!btf_info(c->local, id, &t))
		t = (struct btf_info){ .name = "" };
	name = strndup(t.name, btf_essential(t.name));
	if (!name)
		return false;
	c->roots[c->n_roots++] = (struct root){ .id = id, .wanted = c->n_wanted };
	c->wanted[c->n_wanted++] = (struct wanted){ .name = name, .kind = wanted_kind(t.kind) };
	return true;
}

static bool same_wanted(const struct wanted *a, const struct wanted *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

static int by_wanted(const void *x, const void *y, void *ctx)
{
	const struct btf_core *c = ctx;
	const struct wanted *a = &c->wanted[((const struct root *)x)->wanted];
	const struct wanted *b = &c->wanted[((const struct root *)y)->wanted];

	return a->kind == b->kind ? strcmp(a->name, b->name) : a->kind < b->kind ? -1 : 1;
}

/* Lets roots that want the same share it: a query is answered only once. */
static void wanted_unite(struct btf_core *c)
{
	qsort_r(c->roots, c->n_roots, sizeof(*c->roots), by_wanted, c);
	for (u32 i = 1; i < c->n_roots; i++) {
		u32 before = c->roots[i - 1].wanted, own = c->roots[i].wanted;

		if (!same_wanted(&c->wanted[before], &c->wanted[own]))
			continue;
		c->roots[i].wanted = before;
		c->wanted[own].name[0] = 0;
	}
	qsort(c->roots, c->n_roots, sizeof(*c->roots), by_id);
}

/* ---- searching ------------------------------------------------------------------------------- */

struct search {
	struct btf_core *c;
	const struct btf *in;
	const u32 *from; /* query -> wanted */
	bool out_of_memory;
};

static bool on_found(void *ctx, u32 query, u32 id)
{
	struct search *s = ctx;
	struct wanted *w = &s->c->wanted[s->from[query]];
	struct btf_info t;

	/* "a___b" is a flavour of "a", and no candidate for what wants "a___b". */
	if (btf_info(s->in, id, &t) && btf_essential(t.name) == strlen(w->name))
		s->out_of_memory |= !cands_add(&w->found, s->in, id);
	return !s->out_of_memory;
}

/* One search for what is not found yet, of those wanted from `first` on. */
static bool search_in(struct btf_core *c, const struct btf *b, u32 first, unsigned flags)
{
	size_t most = 2 * (size_t)(c->n_wanted - first) + 1;
	struct btf_query *q = calloc(most, sizeof(*q));
	u32 *from = calloc(most, sizeof(*from)), n = 0;
	struct search s = { .c = c, .in = b, .from = from, .out_of_memory = !q || !from };

	for (u32 i = first; !s.out_of_memory && i < c->n_wanted; i++) {
		const struct wanted *w = &c->wanted[i];

		if (!w->name[0] || w->found.n)
			continue;
		from[n] = i;
		q[n++] = (struct btf_query){ w->name, w->kind, 0 };
		if (w->kind != BTF_KIND_ENUM)
			continue;
		from[n] = i;
		q[n++] = (struct btf_query){ w->name, BTF_KIND_ENUM64, 0 };
	}
	if (n)
		btf_find_all(b, q, n, flags | BTF_FIND_FLAVORS, on_found, &s);
	free(q);
	free(from);
	return !s.out_of_memory;
}

/* Searches for all that came since the last time. */
static bool search(struct btf_core *c, struct btf_error *e)
{
	bool ok = search_in(c, c->target, c->n_searched, 0);

	for (u32 i = 0; ok && i < c->n_modules; i++) {
		u32 first = c->n_searched, n = c->n_wanted;
		bool missing = false;

		for (u32 k = first; k < n; k++)
			missing |= !c->wanted[k].found.n && c->wanted[k].name[0];
		if (!missing)
			break;
		ok = search_in(c, c->modules[i], first, BTF_FIND_OWN);
	}
	c->n_searched = c->n_wanted;
	return ok || btf_fail_sys(e, ENOMEM, "searching for types");
}

/* ---- opening --------------------------------------------------------------------------------- */

static int by_number(const void *x, const void *y)
{
	u32 a = *(const u32 *)x, b = *(const u32 *)y;

	return a < b ? -1 : a > b;
}

/* The roots of all relocations, each once. */
static bool roots_collect(struct btf_core *c, const struct btf_ext *x)
{
	struct btf_relo_iter it;
	u32 *ids = NULL, n = 0, cap = 0;
	bool ok = true;

	btf_relo_iter_init(&it, x);
	while (ok && btf_relo_next(&it)) {
		if (it.r.kind == BTF_CORE_ID_LOCAL || (n && ids[n - 1] == it.r.type))
			continue;
		ok = room((void **)&ids, n, &cap, sizeof(*ids));
		if (ok)
			ids[n++] = it.r.type;
	}
	if (n)
		qsort(ids, n, sizeof(*ids), by_number);
	for (u32 i = 0; ok && i < n; i++)
		if (!i || ids[i] != ids[i - 1])
			ok = root_add(c, ids[i]);
	free(ids);
	return ok;
}

struct btf_core *btf_core_new(const struct btf *local, const struct btf_ext *x,
                              const struct btf *target, const struct btf *const *modules, u32 n,
                              struct btf_error *e)
{
	struct btf_core *c = calloc(1, sizeof(*c));

	if (!c) {
		btf_fail_sys(e, ENOMEM, "reading relocations");
		return NULL;
	}
	c->local = local;
	c->target = target;
	c->modules = modules;
	c->n_modules = n;
	c->work = x ? RELOS_WORK + (u64)x->n * BYTE_WORK : UINT64_MAX;
	if (x && !roots_collect(c, x)) {
		btf_fail_sys(e, ENOMEM, "reading relocations");
		btf_core_free(c);
		return NULL;
	}
	if (c->n_roots)
		wanted_unite(c);
	if (!search(c, e)) {
		btf_core_free(c);
		return NULL;
	}
	return c;
}

void btf_core_free(struct btf_core *c)
{
	if (!c)
		return;
	for (u32 i = 0; i < c->n_roots; i++)
		free(c->roots[i].left.v);
	for (u32 i = 0; i < c->n_wanted; i++) {
		free(c->wanted[i].name);
		free(c->wanted[i].found.v);
	}
	free(c->roots);
	free(c->wanted);
	free(c);
}

/* The candidates of a local type: its own copy, from which those that do not fit are dropped. */
static struct cands *cands_of(struct btf_core *c, u32 id, struct btf_error *e)
{
	struct root *r = root_find(c, id);

	if (!r) {
		if (!root_add(c, id)) {
			btf_fail_sys(e, ENOMEM, "searching for types");
			return NULL;
		}
		qsort(c->roots, c->n_roots, sizeof(*c->roots), by_id);
		if (!search(c, e))
			return NULL;
		r = root_find(c, id);
	}
	if (!r->resolved) {
		const struct cands *found = &c->wanted[r->wanted].found;

		for (u32 i = 0; i < found->n; i++)
			if (!cands_add(&r->left, found->v[i].btf, found->v[i].id)) {
				btf_fail_sys(e, ENOMEM, "searching for types");
				return NULL;
			}
		r->resolved = true;
	}
	return &r->left;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* What an access comes to in one BTF. */
struct value {
	u64 n;
	bool check;     /* the compiler and we can not disagree on it */
	u32 size, type; /* of what is loaded or stored at an offset */
};

static bool no_value(const struct btf_spec *s, struct btf_error *e)
{
	return btf_fail(e, "a relocation of kind %u can not be applied to type %u", s->kind,
	                s->root);
}

static bool element_value(const struct btf_spec *s, struct value *v, struct btf_error *e)
{
	const struct btf_step *last = &s->step[s->n_steps - 1];
	u32 bytes;

	if (!btf_extent(s->btf, last->type, &bytes) ||
	    (s->kind != BTF_CORE_FIELD_OFFSET && s->kind != BTF_CORE_FIELD_SIZE))
		return no_value(s, e);
	v->check = true;
	if (s->kind == BTF_CORE_FIELD_SIZE) {
		v->n = bytes;
		return true;
	}
	v->n = s->bit_off / 8;
	v->size = bytes;
	v->type = last->type;
	return true;
}

/* The aligned load that a bit-field lies in: of its type's size, or the next one that holds it. */
struct load {
	u32 off, size;
};
static bool load_for(const struct btf_spec *s, u32 bits, u32 size, struct load *l)
{
	if (!size)
		return false;
	for (;; size *= 2) {
		u64 off = s->bit_off / 8 / size * size;

		l->off = (u32)off;
		l->size = size;
		if (s->bit_off + bits <= (off + size) * 8)
			return true;
		if (size >= 8)
			return false;
	}
}

static bool is_signed(const struct btf *b, const struct btf_info *t)
{
	struct btf_int i;

	return btf_is_enum_kind(t->kind) ? t->kind_flag : btf_int(b, t, &i) && i.is_signed;
}

static bool is_big_endian(const struct btf *b)
{
	return b->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static u64 left_shift(const struct btf_spec *s, const struct load *l, u64 bits)
{
	u64 before = s->bit_off - (u64)l->off * 8;

	return is_big_endian(s->btf) ? (u64)(8 - (s64)l->size) * 8 + before : 64 - (before + bits);
}

/* Where a member is loaded from, and its bits: its own, or all that are loaded. */
static bool member_load(const struct btf_spec *s, const struct btf_slot *m, u32 type_size,
                        struct load *l, u64 *bits)
{
	*bits = m->bit_size;
	if (m->bit_size)
		return load_for(s, m->bit_size, type_size, l);
	l->off = (u32)(s->bit_off / 8);
	if (!btf_extent(s->btf, m->type, &l->size))
		return false;
	*bits = (u64)l->size * 8;
	return true;
}

static bool member_value(const struct btf_spec *s, struct value *v, struct btf_error *e)
{
	const struct btf_step *last = &s->step[s->n_steps - 1];
	struct btf_info in, t;
	struct btf_slot m;
	struct load l;
	u64 bits;

	if (!btf_info(s->btf, last->type, &in) || !btf_slot(s->btf, &in, last->index, &m) ||
	    !btf_plain(s->btf, m.type, &t) || !member_load(s, &m, t.size, &l, &bits))
		return no_value(s, e);
	v->check = !m.bit_size || s->kind == BTF_CORE_FIELD_SIGNED ||
	           s->kind == BTF_CORE_FIELD_RSHIFT;
	if (s->kind == BTF_CORE_FIELD_OFFSET && !m.bit_size) {
		v->size = l.size;
		v->type = t.id;
	}
	switch (s->kind) {
	case BTF_CORE_FIELD_OFFSET:
		v->n = l.off;
		return true;
	case BTF_CORE_FIELD_SIZE:
		v->n = l.size;
		return true;
	case BTF_CORE_FIELD_SIGNED:
		v->n = is_signed(s->btf, &t);
		return true;
	case BTF_CORE_FIELD_LSHIFT:
		v->n = left_shift(s, &l, bits);
		return true;
	case BTF_CORE_FIELD_RSHIFT:
		v->n = 64 - bits;
		return true;
	default:
		return no_value(s, e);
	}
}

static bool type_value(const struct btf_spec *s, struct value *v, struct btf_error *e)
{
	u32 bytes;

	v->check = s->kind != BTF_CORE_ID_TARGET;
	v->n = s->kind == BTF_CORE_ID_TARGET ? s->root : 1;
	if (s->kind != BTF_CORE_TYPE_SIZE)
		return true;
	if (!btf_extent(s->btf, s->root, &bytes))
		return no_value(s, e);
	v->n = bytes;
	return true;
}

/* Values of an ENUM are 32 bits with a sign to whoever loads programs, whatever its flag says. */
static bool enum_value(const struct btf_spec *s, struct value *v, struct btf_error *e)
{
	const struct btf_step *step = &s->step[0];
	struct btf_enumerator x;
	struct btf_info t;

	v->check = true;
	v->n = 1;
	if (s->kind == BTF_CORE_ENUM_EXISTS)
		return true;
	if (!btf_info(s->btf, step->type, &t) || !btf_enumerator(s->btf, &t, step->index, &x))
		return no_value(s, e);
	v->n = t.kind == BTF_KIND_ENUM ? (u64)(s64)(s32)x.value : (u64)x.value;
	return true;
}

static bool value_of(const struct btf_spec *s, struct value *v, struct btf_error *e)
{
	*v = (struct value){ 0 };
	if (s->kind == BTF_CORE_FIELD_EXISTS) {
		*v = (struct value){ .n = 1, .check = true };
		return true;
	}
	if (btf_core_is_enum(s->kind))
		return enum_value(s, v, e);
	if (!btf_core_is_field(s->kind))
		return type_value(s, v, e);
	return s->step[s->n_steps - 1].name ? member_value(s, v, e) : element_value(s, v, e);
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* A pointer is read as an unsigned number: both may be read with another width. */
static bool may_resize(const struct btf *lb, u32 local, const struct btf *tb, u32 target)
{
	struct btf_info l, t;
	struct btf_int a, b;

	if (!btf_info(lb, local, &l) || !btf_info(tb, target, &t) || l.kind != t.kind)
		return false;
	if (l.kind == BTF_KIND_PTR)
		return true;
	return btf_int(lb, &l, &a) && btf_int(tb, &t, &b) && !a.is_signed && !b.is_signed;
}

static void outcome(const struct btf_spec *local, const struct value *l,
                    const struct btf_spec *target, const struct value *t,
                    struct btf_core_result *out)
{
	*out = (struct btf_core_result){
		.value = t->n,
		.local = l->n,
		.check = l->check,
		.size = t->size,
		.local_size = l->size,
		.resize = l->size != t->size &&
		          may_resize(local->btf, l->type, target->btf, t->type),
		.in = target->btf,
		.type = target->root,
	};
}

/* Nothing fits: questions are answered with 0, all else must not be executed. */
static void outcome_none(const struct btf_spec *local, const struct value *l, bool any,
                         struct btf_core_result *out)
{
	u32 k = local->kind;

	*out = (struct btf_core_result){ .local = l->n, .check = l->check, .local_size = l->size };
	out->poison = (btf_core_is_field(k) && k != BTF_CORE_FIELD_EXISTS) ||
	              k == BTF_CORE_ENUM_VALUE;
	if (!out->poison)
		return;
	if (!any)
		out->why = "there is no type of that name and kind";
	else if (btf_core_is_enum(k))
		out->why = "the enum has no such value";
	else
		out->why = "the type has no such member, or one of another type";
}

static bool ambiguous(const struct btf_spec *a, const struct btf_spec *b, u64 x, u64 y,
                      struct btf_error *e)
{
	struct btf_info t;

	if (!btf_info(a->btf, a->root, &t))
		t.name = "";
	if (a->bit_off != b->bit_off) {
		x = a->bit_off;
		y = b->bit_off;
	}
	return btf_fail(e,
	                "a relocation of %.64s is ambiguous: it comes to %s%llu in type %u, but "
	                "to %llu in type %u",
	                t.name, a->bit_off != b->bit_off ? "bit " : "", (unsigned long long)x,
	                a->root, (unsigned long long)y, b->root);
}

/* Tries all candidates; those that fit stay, and must come to the same. */
static bool choose(const struct btf_spec *local, const struct value *l, struct cands *cands,
                   struct btf_core_result *out, struct btf_spec *spec, struct btf_eval *v)
{
	struct btf_error *e = v->e;
	struct btf_spec s;
	struct value t;
	u32 fit = 0;

	for (u32 i = 0; i < cands->n; i++) {
		enum btf_match found = btf_spec_match(local, cands->v[i].btf, cands->v[i].id, &s,
		                                      v);

		if (found == BTF_MATCH_NO)
			continue;
		if (found == BTF_MATCH_ERROR || !value_of(&s, &t, e))
			return false;
		if (!fit) {
			*spec = s;
			outcome(local, l, spec, &t, out);
		} else if (s.bit_off != spec->bit_off || t.n != out->value) {
			return ambiguous(spec, &s, out->value, t.n, e);
		}
		cands->v[fit++] = cands->v[i];
	}
	if (fit)
		cands->n = fit;
	else
		outcome_none(local, l, cands->n > 0, out);
	out->matches = fit;
	return true;
}

bool btf_core_find(struct btf_core *c, const struct btf_relo *r, struct btf_core_result *out,
                   struct btf_spec *spec, struct btf_error *e)
{
	struct btf_spec local;
	struct cands *cands;
	struct value l;
	struct btf_info t;
	struct btf_eval v;
	bool ok;

	spec->root = 0;
	if (!btf_info(c->local, r->type, &t))
		return btf_fail(e, "a relocation names type %u, which does not exist", r->type);
	if (!btf_spec_parse(&local, c->local, r, e))
		return false;
	if (r->kind == BTF_CORE_ID_LOCAL) {
		*out = (struct btf_core_result){ .value = r->type, .local = r->type };
		return true;
	}
	if (!t.name[0])
		return btf_fail(e, "a relocation is of type %u, which has no name", r->type);
	cands = cands_of(c, r->type, e);
	if (!cands || !value_of(&local, &l, e))
		return false;
	if (c->work < cands->n) /* a type that fits at once takes a step, too */
		return btf_fail(e, "the relocations take too many steps");
	c->work -= cands->n;
	v = (struct btf_eval){ (u32)MIN(BTF_WORK_MAX, c->work), e };
	c->work -= v.work;
	ok = choose(&local, &l, cands, out, spec, &v);
	c->work += v.work;
	return ok;
}

bool btf_core_eval(struct btf_core *c, const struct btf_relo *r, struct btf_core_result *out,
                   struct btf_error *e)
{
	struct btf_spec spec;

	return btf_core_find(c, r, out, &spec, e);
}
