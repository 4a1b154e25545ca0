/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From names to ids.
 *
 * The one idea: strings first. A name that is not among the strings is no type, and that is known
 * without a look at the types; a name that is there becomes numbers that a pass over the types
 * compares. For a first answer both passes stop as soon as they have it. Only when that was too
 * early (the name is also spelled elsewhere, or no such type was found) does the search go on.
 * All answers of kinds with few types come the other way round: there the names of those types are
 * less to look at than all strings.
 *
 * Answers are remembered, 512 at most, under a hash of kind and name. A remembered id is looked
 * at again before it is given, so the memory can be wrong but the answer can not.
 */
#include "btf/btf_impl.h"

#include "base/glob.h"
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

	v = atomic_load_explicit(&x->recent[h % BTF_RECENT], memory_order_relaxed);
	if (v >> 32 != h || !btf_info(b, (u32)v, &t))
		return 0;
	return (!q->kind || q->kind == t.kind) && strcmp(t.name, q->name) == 0 ? t.id : 0;
}

static void recent_put(const struct btf *b, const struct btf_query *q)
{
	u32 h = recent_hash(q->kind, q->name);
	struct btf_marks *x = btf_marks_get(b);

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
	bool by_start; /* names are compared as they come, not searched for first */
	bool stopped;
};

static void search_init(struct search *s, const struct btf *b, const struct btf_query *q, u32 n,
                        unsigned flags)
{
	btf_wanted_init(&s->w, q, n, flags);
	memset(&s->filter, 0, sizeof(s->filter));
	for (u32 i = 0; i < n; i++) {
		if (!q[i].kind)
			memset(s->filter.kinds, 1, sizeof(s->filter.kinds));
		else if (q[i].kind < BTF_KINDS)
			s->filter.kinds[q[i].kind] = 1;
	}
	s->by_start = false;
	s->top = b;
	s->own = flags & BTF_FIND_OWN;
}

/* One pass over the types of all files, or the top one's. */
static void search_types(struct search *s, btf_hit_fn *hit)
{
	u32 depth = btf_depth(s->top);

	for (u32 level = s->own ? depth : 0; level <= depth; level++) {
		s->in = btf_at_level(s->top, level);
		s->filter.names = s->by_start ? NULL : s->w.names;
		s->filter.texts = s->by_start && !s->in->base ? s->in->strs : NULL;
		if (!btf_pass(s->in, &s->filter, hit, s))
			return;
	}
}

static bool hit_first(void *ctx, const struct btf_found *h)
{
	struct search *s = ctx;
	u32 kind = btf_kind_of(btf_load(s->in, h->p + 4));
	char scratch[BTF_TEXT_MAX];
	const char *name = btf_text(s->in, btf_load(s->in, h->p), scratch);

	for (u32 i = 0; name && i < s->w.n; i++) {
		if (s->q[i].id || !btf_wanted_fits(&s->w, i, name, kind))
			continue;
		s->q[i].id = h->id;
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

static bool hit_all(void *ctx, const struct btf_found *h)
{
	struct search *s = ctx;
	u32 kind = btf_kind_of(btf_load(s->in, h->p + 4));
	char scratch[BTF_TEXT_MAX];
	const char *name = btf_text(s->in, btf_load(s->in, h->p), scratch);

	if (name && s->by_start && !btf_wanted_starts(&s->w, name))
		return true;
	for (u32 i = 0; name && i < s->w.n; i++)
		if (btf_wanted_fits(&s->w, i, name, kind)) {
			s->stopped = !s->cb(s->ctx, s->first_query + i, h->id);
			break;
		}
	return !s->stopped;
}

/*
 * Most types are functions, prototypes and pointers. When only kinds with few types are asked for,
 * and there will be no early end, looking at all their names is faster than the search; not so
 * where names are read from a file page by page.
 */
static bool are_few(const struct search *s)
{
	static const u8 few[BTF_KINDS] = {
		[BTF_KIND_INT] = 1,   [BTF_KIND_STRUCT] = 1, [BTF_KIND_UNION] = 1,
		[BTF_KIND_ENUM] = 1,  [BTF_KIND_FWD] = 1,    [BTF_KIND_TYPEDEF] = 1,
		[BTF_KIND_FLOAT] = 1, [BTF_KIND_ENUM64] = 1,
	};

	for (u32 kind = 0; kind < BTF_KINDS; kind++)
		if (s->filter.kinds[kind] && !few[kind])
			return false;
	for (const struct btf *b = s->top; b; b = b->base)
		if (b->src.fd >= 0)
			return false;
	return true;
}

void btf_find_all(const struct btf *b, const struct btf_query *q, u32 n, unsigned flags,
                  bool (*cb)(void *ctx, u32 query, u32 id), void *ctx)
{
	struct search s = { .cb = cb, .ctx = ctx };

	for (u32 at = 0; at < n && !s.stopped; at += BTF_WANTED_MAX) {
		search_init(&s, b, q + at, MIN(n - at, BTF_WANTED_MAX), flags);
		s.first_query = at;
		s.by_start = are_few(&s);
		if (s.by_start)
			btf_wanted_by_start(&s.w);
		else
			btf_wanted_search(&s.w, b, false);
		if (s.by_start || s.w.marked)
			search_types(&s, hit_all);
	}
}

#define PREFIX_MIN 2u /* letters before the first wildcard that are worth a search */

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
static bool each_hit(void *ctx, const struct btf_found *h)
{
	const struct each *e = ctx;
	char scratch[BTF_TEXT_MAX];
	u32 name_off = btf_load(e->in, h->p);
	const char *name = btf_text(e->in, name_off, scratch);

	if (!name || !name[0] || (e->plain && name[0] != e->glob[0]) ||
	    strncmp(name, e->glob, e->plain) != 0)
		return true;
	if (!e->rest && !glob_match(str_of(e->glob), str_of(name)))
		return true;
	/* The caller may keep the name. */
	if (name == scratch)
		name = btf_string(e->in, name_off);
	return !name || e->cb(e->ctx, h->id, name);
}

void btf_each(const struct btf *b, u32 kind, const char *glob,
              bool (*cb)(void *ctx, u32 id, const char *name), void *ctx)
{
	struct each e = { .glob = glob, .plain = strcspn(glob, "*?["), .cb = cb, .ctx = ctx };
	struct btf_filter f = { 0 };
	struct btf_wanted w;

	if (e.plain >= PREFIX_MIN) {
		btf_wanted_prefix(&w, b, glob, (u32)MIN(e.plain, BTF_PREFIX_MAX));
		f.names = w.names;
		if (!w.marked)
			return;
	}
	e.rest = strcmp(glob + e.plain, "*") == 0;
	if (!kind)
		memset(f.kinds, 1, sizeof(f.kinds));
	else if (kind < BTF_KINDS)
		f.kinds[kind] = 1;
	for (u32 level = 0; level <= btf_depth(b); level++) {
		e.in = btf_at_level(b, level);
		f.texts = f.names || e.in->base || e.in->src.fd >= 0 ? NULL : e.in->strs;
		if (!btf_pass(e.in, &f, each_hit, &e))
			return;
	}
}
