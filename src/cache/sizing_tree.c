/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The size of a cache in columns; see sizing.h. Bytes and entries are whole numbers. */
#include "cache/sizing.h"

#include "out/tree.h"

static const struct column entries = COL_GAUGE("entries", NULL), bytes = COL_BYTES("bytes", NULL),
			   least = COL_BYTES("min", NULL), most = COL_BYTES("max", NULL),
			   mean = COL_BYTES("mean", NULL);

static void put(struct tree *t, const struct column *c, double n)
{
	tree_whole(t, c, n < 1.8e19 ? (u64)(n + 0.5) : UINT64_MAX);
}

static void put_sizes(struct tree *t, const struct sizes *s)
{
	static const struct column average = { "mean", NULL, COLUMN_GAUGE, UNIT_BYTES, 1 },
				   count = COL_COUNT("count", NULL);
	static const struct {
		struct column column;
		double share;
	} shares[] = { { COL_BYTES("p50", NULL), 0.5 },
		       { COL_BYTES("p90", NULL), 0.9 },
		       { COL_BYTES("p95", NULL), 0.95 },
		       { COL_BYTES("p99", NULL), 0.99 } };
	struct sizes_row rows[SIZES_ROWS];
	u32 n = sizes_rows(s, rows);

	tree_object(t, "size");
	tree_real(t, &average, sizes_mean(s));
	tree_whole(t, &least, s->min);
	for (u32 i = 0; i < ARRAY_SIZE(shares); i++)
		tree_whole(t, &shares[i].column, sizes_at(s, shares[i].share));
	tree_whole(t, &most, s->max);
	tree_end(t);
	tree_list(t, "buckets");
	for (u32 i = 0; i < n; i++) {
		tree_object(t, NULL);
		tree_whole(t, &least, rows[i].low);
		tree_whole(t, &most, rows[i].high - 1);
		tree_whole(t, &count, rows[i].n);
		tree_end(t);
	}
	tree_end(t);
}

/* What n, in the first column, take or are. */
static void put_memory(struct tree *t, const char *name, const struct column *c, u64 n,
                       const struct sizing_memory *m)
{
	static const struct column p95 = COL_BYTES("p95", NULL), p99 = COL_BYTES("p99", NULL);

	tree_object(t, name);
	tree_whole(t, c, n);
	put(t, &mean, m->mean);
	put(t, &p95, m->p95);
	put(t, &p99, m->p99);
	tree_end(t);
}

static void put_memories(struct tree *t, const struct sizing *s)
{
	static const struct column how = COL_LABEL("estimated_by", NULL),
				   allocator = COL_LABEL("allocator", NULL),
				   overhead = COL_BYTES("overhead", "of an entry");
	struct sizing_memory rows[SIZING_ROWS], fits = sizing_fits(s);
	u32 n = sizing_memory(s, rows);

	if (s->o.how)
		tree_text(t, &how, s->o.how);
	else
		tree_text(t, &allocator, alloc_name(s->o.alloc));
	tree_whole(t, &overhead, s->o.overhead);
	tree_list(t, "memory");
	for (u32 i = 0; i < n; i++)
		put_memory(t, NULL, &entries, rows[i].entries, &rows[i]);
	tree_end(t);
	if (s->o.limit)
		put_memory(t, "limit", &bytes, s->o.limit, &fits);
}

static void put_point(struct tree *t, const char *name, const struct sizing_point *p)
{
	static const struct column hits = COL_RATIO("hit_ratio", NULL),
				   error = COL_RATIO("error", NULL);

	tree_object(t, name);
	put(t, &entries, p->entries);
	put(t, &bytes, p->bytes);
	tree_real(t, &hits, p->hits);
	tree_real(t, &error, p->error);
	tree_end(t);
}

static void put_curve(struct tree *t, const struct sizing *s)
{
	static const struct column uses = COL_COUNT("uses", NULL), keys = COL_GAUGE("keys", NULL),
				   hits = COL_RATIO("most", "hits, however large it is"),
				   watched = { "watched", "of the keys", COLUMN_GAUGE, UNIT_RATIO,
		                               COLUMN_SIGNIFICANT + 6 };
	struct sizing_point points[SIZING_POINTS], p;
	u32 n = sizing_curve(s, points);
	struct shards_stats st;

	shards_stats(s->shards, &st);
	tree_object(t, "curve");
	tree_whole(t, &uses, st.uses);
	put(t, &keys, st.keys_all);
	tree_real(t, &watched, st.rate);
	tree_real(t, &hits, shards_hits_most(s->shards));
	tree_list(t, "points");
	for (u32 i = 0; i < n; i++)
		put_point(t, NULL, &points[i]);
	tree_end(t);
	if (n) {
		p = sizing_knee(s);
		put_point(t, "knee", &p);
		p = sizing_share(s, 0.95);
		put_point(t, "need_95", &p);
	}
	tree_end(t);
}

void sizing_tree(struct tree *t, const struct sizing *s)
{
	static const struct column type = COL_LABEL("type", NULL);
	const struct {
		struct column column;
		bool there;
		u64 n;
	} counts[] = { { COL_COUNT("inserts", NULL), true, s->sizes.n },
		       { COL_COUNT("evictions", NULL), s->has_evictions, s->evictions },
		       { COL_COUNT("lookups", NULL), s->has_lookups, s->lookups },
		       { COL_COUNT("hits", NULL), s->has_hits, s->hits },
		       { COL_COUNT("lost", NULL), true, s->lost },
		       { COL_COUNT("unseen_replies", NULL), s->has_hits, s->unseen } };

	tree_object(t, NULL);
	tree_text(t, &type, "cachesize");
	tree_object(t, "data");
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++)
		if (counts[i].there)
			tree_whole(t, &counts[i].column, counts[i].n);
	put_sizes(t, &s->sizes);
	put_memories(t, s);
	if (s->shards)
		put_curve(t, s);
	tree_end(t);
	tree_end(t);
}
