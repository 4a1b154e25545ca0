/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From names to ids.
 *
 * The one idea: strings first. A name that is not among the strings is no type, and that is known
 * without a look at the types; a name that is there becomes numbers that a pass over the types
 * compares. For a first answer both passes stop as soon as they have it. Only when that was too
 * early (the name is also spelled elsewhere, or no such type was found) does the search go on.
 *
 * Answers are remembered, 512 at most, under a hash of kind and name. A remembered id is looked
 * at again before it is given, so the memory can be wrong but the answer can not.
 */
#include "read/btf_impl.h"

#include "base/str.h"

/* ---- remembered answers --------------------------------------------------------------------- */

static u32 recent_hash(u32 kind, const char *name)
{
	u32 h = 0x811c9dc5u ^ kind;

	for (; *name; name++)
		h = (h ^ (u8)*name) * 0x01000193u;
	return h;
}

static u32 recent_get(const struct btf *b, const struct btf_query *q)
{
	u32 h = recent_hash(q->kind, q->name);
	struct btf_marks *x = btf_marks_get(b);
	struct btf_info t;
	u64 v;

	if (!x)
		return 0;
	v = atomic_load_explicit(&x->recent[h % BTF_RECENT], memory_order_relaxed);
	if (v >> 32 != h || !btf_info(b, (u32)v, &t))
		return 0;
	return (!q->kind || q->kind == t.kind) && strcmp(t.name, q->name) == 0 ? t.id : 0;
}

static void recent_put(const struct btf *b, const struct btf_query *q)
{
	u32 h = recent_hash(q->kind, q->name);
	struct btf_marks *x = btf_marks_get(b);

	if (x)
		atomic_store_explicit(&x->recent[h % BTF_RECENT], (u64)h << 32 | q->id,
		                      memory_order_relaxed);
}

/* ---- searching ------------------------------------------------------------------------------ */

struct search {
	const struct btf *top; /* what was asked */
	const struct btf *in;  /* the file the pass is in */
	struct btf_wanted w;
	struct btf_filter filter;
	bool own;
	/* For first answers: */
	struct btf_query *q;
	u32 missing;
	/* For all answers: */
	bool (*cb)(void *ctx, u32 query, u32 id);
	void *ctx;
	u32 first_query;
	bool stopped;
};

static void search_init(struct search *s, const struct btf *b, const struct btf_query *q, u32 n,
                        unsigned flags)
{
	btf_wanted_init(&s->w, q, n, flags);
	memset(&s->filter, 0, sizeof(s->filter));
	s->filter.names = s->w.names;
	for (u32 i = 0; i < n; i++) {
		if (!q[i].kind)
			memset(s->filter.kinds, 1, sizeof(s->filter.kinds));
		else if (q[i].kind < BTF_KINDS)
			s->filter.kinds[q[i].kind] = 1;
	}
	s->top = b;
	s->own = flags & BTF_FIND_OWN;
}

/* One pass over the types of all files, or the top one's. */
static void search_types(struct search *s, bool (*hit)(void *ctx, u32 id, u32 off))
{
	u32 depth = btf_depth(s->top);

	for (u32 level = s->own ? depth : 0; level <= depth; level++) {
		s->in = btf_at_level(s->top, level);
		if (!btf_pass(s->in, &s->filter, hit, s))
			return;
	}
}

/* Name and kind of a hit. */
static const char *hit_name(const struct search *s, u32 off, u32 *kind)
{
	u32 n;
	const u8 *p = btf_record_at(s->in, off, &n);

	if (!p)
		return NULL;
	*kind = btf_kind_of(btf_load(s->in, p + 4));
	return btf_string(s->in, btf_load(s->in, p));
}

static bool hit_first(void *ctx, u32 id, u32 off)
{
	struct search *s = ctx;
	u32 kind;
	const char *name = hit_name(s, off, &kind);

	for (u32 i = 0; name && i < s->w.n; i++) {
		if (s->q[i].id || !btf_wanted_fits(&s->w, i, name, kind))
			continue;
		s->q[i].id = id;
		s->missing--;
	}
	return s->missing > 0;
}

/* At most BTF_WANTED_MAX queries, none of them answered. */
static void find_some(const struct btf *b, struct btf_query *q, u32 n, unsigned flags)
{
	struct search s;

	search_init(&s, b, q, n, flags);
	s.q = q;
	s.missing = n;
	/* A flavour may come before the name itself. */
	btf_wanted_search(&s.w, b, !s.w.flavors);
	if (s.w.marked)
		search_types(&s, hit_first);
	if (s.missing && !btf_wanted_over(&s.w, b)) {
		u32 marked = s.w.marked;

		btf_wanted_search(&s.w, b, false);
		if (s.w.marked > marked)
			search_types(&s, hit_first);
	}
}

u32 btf_find_many(const struct btf *b, struct btf_query *q, u32 n, unsigned flags)
{
	struct btf_query some[BTF_WANTED_MAX];
	u32 found = 0, from[BTF_WANTED_MAX] = { 0 };

	for (u32 at = 0; at < n;) {
		u32 n_some = 0;

		for (; at < n && n_some < BTF_WANTED_MAX; at++) {
			q[at].id = flags ? 0 : recent_get(b, &q[at]);
			found += q[at].id != 0;
			if (q[at].id)
				continue;
			from[n_some] = at;
			some[n_some++] = q[at];
		}
		if (n_some)
			find_some(b, some, n_some, flags);
		for (u32 i = 0; i < n_some; i++) {
			q[from[i]].id = some[i].id;
			found += some[i].id != 0;
			if (some[i].id && !flags)
				recent_put(b, &some[i]);
		}
	}
	return found;
}

u32 btf_find(const struct btf *b, u32 kind, const char *name)
{
	struct btf_query q = { name, kind, 0 };

	btf_find_many(b, &q, 1, 0);
	return q.id;
}

static bool hit_all(void *ctx, u32 id, u32 off)
{
	struct search *s = ctx;
	u32 kind;
	const char *name = hit_name(s, off, &kind);

	for (u32 i = 0; name && i < s->w.n; i++)
		if (btf_wanted_fits(&s->w, i, name, kind)) {
			s->stopped = !s->cb(s->ctx, s->first_query + i, id);
			break;
		}
	return !s->stopped;
}

void btf_find_all(const struct btf *b, const struct btf_query *q, u32 n, unsigned flags,
                  bool (*cb)(void *ctx, u32 query, u32 id), void *ctx)
{
	struct search s = { .cb = cb, .ctx = ctx };

	for (u32 at = 0; at < n && !s.stopped; at += BTF_WANTED_MAX) {
		search_init(&s, b, q + at, MIN(n - at, BTF_WANTED_MAX), flags);
		s.first_query = at;
		btf_wanted_search(&s.w, b, false);
		if (s.w.marked)
			search_types(&s, hit_all);
	}
}

/* ---- globs ---------------------------------------------------------------------------------- */

struct each {
	const struct btf *in;
	const char *glob;
	size_t plain; /* bytes before the first wildcard */
	bool rest;    /* what follows them is "*" */
	bool (*cb)(void *ctx, u32 id, const char *name);
	void *ctx;
};

/* One byte of a name is compared before functions are called. */
static bool each_hit(void *ctx, u32 id, u32 off)
{
	const struct each *e = ctx;
	const u8 *p = e->in->types + off;
	const char *name;

	if (!btf_need(e->in, p, BTF_RECORD))
		return true;
	name = btf_string(e->in, btf_load(e->in, p));
	if (!name || !name[0] || (e->plain && name[0] != e->glob[0]) ||
	    strncmp(name, e->glob, e->plain) != 0)
		return true;
	if (!e->rest && !glob_match(str_of(e->glob), str_of(name)))
		return true;
	return e->cb(e->ctx, id, name);
}

void btf_each(const struct btf *b, u32 kind, const char *glob,
              bool (*cb)(void *ctx, u32 id, const char *name), void *ctx)
{
	struct each e = { .glob = glob, .plain = strcspn(glob, "*?["), .cb = cb, .ctx = ctx };
	struct btf_filter f = { 0 };

	e.rest = strcmp(glob + e.plain, "*") == 0;
	if (!kind)
		memset(f.kinds, 1, sizeof(f.kinds));
	else if (kind < BTF_KINDS)
		f.kinds[kind] = 1;
	for (u32 level = 0; level <= btf_depth(b); level++) {
		e.in = btf_at_level(b, level);
		f.texts = e.in->base || e.in->src.fd >= 0 ? NULL : e.in->strs;
		if (!btf_pass(e.in, &f, each_hit, &e))
			return;
	}
}
