/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "view/hot_feed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/file.h"
#include "cache/hot_metrics.h"
#include "cache/report.h"
#include "cache/uses.h"
#include "view/cache_feed.h"
#include "view/cache_view.h"

#define CGROUP_BYTES 65536
#define HALF_LIFE    300u /* seconds: keys that were hot between two scrapes are shown */
#define INTERVAL_NS  1000000000u
#define SAMPLES      4096u /* keys of the curve: half a MiB, sizes off by 1.6 % */

struct options {
	u64 pid, rows, memory, half_life, sample;
	const char *via, *delimiters;
	bool hide;
};

struct hot_feed {
	struct cache_feed feed; /* first: cache_feed_callbacks() */
	struct view view;
	struct metrics_source source;
	struct arena arena;
	struct options o;
	struct hot *hot;
	struct hot_row *rows;
	u64 ticked; /* when an interval ended */
	struct hot_served served;
	struct sizing sizing;
	struct cache_uses uses; /* .kind NULL: it is not known what the server's entries take */
};

static void read_options(struct hot_feed *f, const struct urecord *r, const u8 *bytes)
{
	f->o = (struct options){
		.pid = cache_view_number(r, bytes, "server"),
		.rows = MAX(cache_view_number(r, bytes, "rows"), 1),
		.memory = cache_view_number(r, bytes, "memory"),
		.half_life = cache_view_number(r, bytes, "half_life"),
		.sample = cache_view_number(r, bytes, "sample"),
		.via = cache_view_text(&f->arena, r, bytes, "via"),
		.delimiters = cache_view_text(&f->arena, r, bytes, "prefix"),
		.hide = cache_view_number(r, bytes, "hash_keys"),
	};
}

static u64 on_key(void *ctx, struct str key)
{
	const struct hot_feed *f = ctx;

	return hot_expect(f->hot, key);
}

static void on_command(void *ctx, const struct command *c, const struct client *from)
{
	struct hot_feed *f = ctx;

	hot_command(f->hot, c, from);
	if (c->answered && c->key.n)
		hot_served_add(&f->served, c->ended - c->started);
	if (f->uses.kind)
		uses_command(&f->uses, c);
}

static bool make_counts(struct hot_feed *f, struct err *e)
{
	struct hot_options o = { .limit = f->o.memory << 20,
		                 .fold = f->o.delimiters[0],
		                 .delimiters = f->o.delimiters,
		                 .hide = f->o.hide,
		                 .half = f->o.half_life ? f->o.half_life : HALF_LIFE,
		                 .sample = (u32)f->o.sample,
		                 .start = clock_ns(CLOCK_MONOTONIC) };
	struct shards_options so = { .samples = SAMPLES };

	if (getrandom(&o.secret, sizeof(o.secret), 0) != sizeof(o.secret))
		return err_sys(e, errno, "no random numbers");
	f->uses = (struct cache_uses){ .secret = o.secret, .sizing = &f->sizing };
	f->hot = hot_new(&o, e);
	f->sizing.shards = f->hot ? shards_new(&so, e) : NULL;
	f->rows = calloc(f->o.rows, sizeof(*f->rows));
	return f->rows && f->sizing.shards;
}

static bool start(void *ctx, const struct view_of *of, struct err *e)
{
	struct hot_feed *f = ctx;

	if (!cache_view_via(f->o.via, of, e) || !make_counts(f, e) ||
	    !cache_feed_open(&f->feed, of, (u32)f->o.pid, on_command, f, e))
		return false;
	cache_feed_expect(&f->feed, on_key);
	f->uses.kind = item_of(f->feed.server.name);
	f->sizing.has_lookups = f->sizing.has_hits = true;
	f->sizing.o.how = f->uses.kind ? f->uses.kind->how : NULL;
	return true;
}

static bool record(void *ctx, const struct view_of *of, const struct urecord *r, const u8 *bytes)
{
	struct hot_feed *f = ctx;

	if (cache_feed_record(&f->feed, of, r, bytes))
		return true;
	if (view_field(r, "rows"))
		read_options(f, r, bytes);
	return view_field(r, "rows");
}

/* `text` is what the names are of. */
static void look_where(u32 pid, struct buf *text, struct cgroup_names *where)
{
	char path[64];
	struct err ignored = { 0 };

	*where = (struct cgroup_names){ 0 };
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if (file_read(path, text, CGROUP_BYTES, &ignored))
		cgroup_names_of_lines(where, (struct str){ buf_text(text), (u32)text->n });
}

static void add(void *ctx, const struct view_of *of, const struct metrics *m, struct buf *b)
{
	struct hot_feed *f = ctx;
	struct cgroup_names where;
	struct buf cgroup = { 0 };
	struct hot_query q = { .by = HOT_RECENT, .n = (u32)f->o.rows };
	struct hot_metrics what = { .labels = m->labels,
		                    .form = m->form,
		                    .hot = f->hot,
		                    .rows = f->rows,
		                    .n = hot_top(f->hot, &q, f->rows),
		                    .served = &f->served,
		                    .sizing = f->uses.kind ? &f->sizing : NULL,
		                    .missed = cache_feed_missed(&f->feed, of),
		                    .up = f->feed.fd >= 0,
		                    .server = f->feed.server.name,
		                    .where = &where };

	look_where(f->feed.server.pid, &cgroup, &where);
	hot_metrics(b, &what);
	buf_free(&cgroup);
}

/* What mctop and cachesize print as JSON. An interval is what passed since the last page. */
static void tables(void *ctx, const struct view_of *of, struct buf *b)
{
	struct hot_feed *f = ctx;
	struct hot_query q = { .by = HOT_RECENT, .n = (u32)f->o.rows };
	struct tree t = { .b = b, .ops = &tree_json, .tight = true };
	u64 now = clock_ns(CLOCK_MONOTONIC);
	struct report_of r = { .hot = f->hot,
		               .rows = f->rows,
		               .time = clock_ns(CLOCK_REALTIME),
		               .clock = now,
		               .server = f->feed.server.name,
		               .pid = f->feed.server.pid,
		               .gone = f->feed.fd < 0,
		               .missed = cache_feed_missed(&f->feed, of) };

	if (now - f->ticked > INTERVAL_NS) {
		hot_tick(f->hot, now);
		f->ticked = now;
	}
	r.n = hot_top(f->hot, &q, f->rows);
	buf_puts(b, "keys\t");
	report_tree(&t, &r);
	if (!f->uses.kind)
		return;
	t = (struct tree){ .b = b, .ops = &tree_json };
	f->sizing.lost = r.missed.events + r.missed.commands;
	f->sizing.unseen = r.missed.replies;
	buf_puts(b, "cachesize\t");
	sizing_tree(&t, &f->sizing);
}

struct hot_feed *hot_feed_new(void)
{
	struct hot_feed *f = calloc(1, sizeof(*f));

	if (!f)
		base_no_memory();
	f->feed.fd = -1;
	f->feed.look = UINT64_MAX;
	f->view = (struct view){ .start = start, .record = record, .ctx = f };
	cache_feed_callbacks(&f->feed, &f->view);
	f->source = (struct metrics_source){ .view = &f->view, .add = add, .tables = tables };
	return f;
}

void hot_feed_free(struct hot_feed *f)
{
	if (!f)
		return;
	cache_feed_close(&f->feed);
	hot_free(f->hot);
	shards_free(f->sizing.shards);
	free(f->rows);
	arena_free(&f->arena);
	free(f);
}

const struct metrics_source *hot_feed_source(struct hot_feed *f)
{
	return &f->source;
}
