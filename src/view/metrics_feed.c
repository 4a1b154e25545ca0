/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "view/metrics_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/trim.h"
#include "kern/live.h"
#include "out/flame.h"
#include "out/metrics.h"
#include "out/otlp_profile.h"
#include "out/pprof.h"
#include "run/event.h"

#define HELD_MS 30000u /* between two times that the kernel is asked for them */

struct feed {
	struct view view;
	char *labels;
	int fd; /* asks */
	const struct metrics_source *source;
	int watched; /* of the source's, which view.fd tells of as well; -1 none */
	u32 max_series;
	u64 idle, ended; /* ms; series so far */
	bool answered;
	u64 held_at, held; /* ms, when it was asked: bytes of the kernel's maps */
	u32 n_held;
	struct metrics_shown *shown; /* by map; NULL until the first page */
	u32 n_maps;
	const char *name, *version;
	struct profile_past began, marks[FEED_MARKS];
	u32 marked[FEED_MARKS];    /* the map that each is of, and 1; 0: none */
	struct profile_past *sent; /* by map, for FEED_OTLP; NULL until then */
};

/* ---- which maps ---- */

static bool adds_up(const struct type *t)
{
	switch (t->kind) {
	case TYPE_COUNT:
	case TYPE_SUM:
	case TYPE_AVG:
	case TYPE_STATS:
	case TYPE_HIST:
	case TYPE_LHIST:
	case TYPE_AGGS:
		return true;
	default:
		return false;
	}
}

static bool has_stack(const struct type *t)
{
	for (u32 i = 0; t->kind == TYPE_TUPLE && i < t->n_fields; i++)
		if (has_stack(t->fields[i].type))
			return true;
	return type_is_stack(t);
}

/* Stacks are for profiles: each is a series of its own, and the names in it cost more than all the
 * rest. */
static bool is_metric(const struct umap *m)
{
	if (m->role != UMAP_USER || (m->key && has_stack(m->key)))
		return false;
	return m->metric || type_is_agg(m->value) || !m->key || !m->is_read;
}

/* ---- a page ---- */

static int by_name(const void *a, const void *b, void *maps)
{
	const struct umap *m = maps;

	return strcmp(m[*(const u32 *)a].name, m[*(const u32 *)b].name);
}

/* Programs that read a map would miss it. */
static bool end_row(void *ctx, const struct umap *map, const u8 *key)
{
	return !map->is_read && view_map_delete(ctx, map->name, key);
}

static void add_map(struct feed *f, const struct view_of *v, struct metrics *m, struct buf *b,
                    u32 map)
{
	const struct umap *u = &v->unit->maps.v[map];
	struct arena a = { 0 };
	struct err ignored = { 0 };
	struct table t;

	view_map_read(v, u->name, &a, &t, &ignored);
	if (t.rows.n > m->max_series) /* else all have a place */
		table_sort(&t);
	metrics_map(b, m, &t, &f->shown[map]);
	arena_free(&a);
}

static void add_own(struct buf *b, const struct metrics *m, const char *name, const char *kind,
                    const char *help, u64 n)
{
	metrics_family(b, m->form, name, kind, help);
	buf_printf(b, "%s%s{%s} %" PRIu64 "\n", name, *kind == 'c' ? "_total" : "", m->labels, n);
}

/* Maps grow with their keys; to ask each takes a third of a millisecond. */
static void add_held(struct feed *f, const struct metrics *m, struct buf *b)
{
	if (!f->held_at || m->now - f->held_at >= HELD_MS) {
		f->n_held = live_maps_held(&f->held);
		f->held_at = m->now;
	}
	add_own(b, m, "memtap_collector_maps", "gauge", "Maps that the kernel has for it.",
	        f->n_held);
	add_own(b, m, "memtap_collector_map_memory_bytes", "gauge",
	        "Memory of these maps, not in its resident memory but for buffers it reads.",
	        f->held);
}

/* The numbers of the maps that are so, by name, and one that is none. */
static u32 *order_of(const struct unit *u, bool (*is)(const struct umap *m))
{
	u32 *order = calloc(u->maps.n + 1, sizeof(*order)), n = 0;

	if (!order)
		base_no_memory();
	for (u32 i = 0; i < u->maps.n; i++)
		if (is(&u->maps.v[i]))
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), by_name, u->maps.v);
	order[n] = (u32)u->maps.n;
	return order;
}

static void add_maps(struct feed *f, const struct view_of *v, struct metrics *m, struct buf *b)
{
	u32 *order = order_of(v->unit, is_metric);

	if (!f->shown && !(f->shown = calloc(v->unit->maps.n + 1, sizeof(*f->shown))))
		base_no_memory();
	f->n_maps = v->unit->maps.n;
	for (u32 i = 0; order[i] < f->n_maps; i++)
		add_map(f, v, m, b, order[i]);
	free(order);
}

static void add_page(struct feed *f, const struct view_of *v, enum metrics_form form, struct buf *b)
{
	struct metrics m = { .out = &v->events->out,
		             .form = form,
		             .labels = f->labels,
		             .max_series = f->max_series,
		             .now = clock_ms(),
		             .idle = f->idle,
		             .end = end_row,
		             .ctx = base_plain(v) };

	if (f->source)
		f->source->add(f->source->view->ctx, v, &m, b);
	else
		add_maps(f, v, &m, b);
	add_own(b, &m, "memtap_collector_lost_events", "counter",
	        "Events for which there was no room or no time.", view_lost(v));
	add_own(b, &m, "memtap_collector_series_left_out", "gauge",
	        "Series beyond max_series, added up in those labelled other.", m.left_out);
	add_held(f, &m, b);
	f->ended += m.ended;
	add_own(b, &m, "memtap_collector_series_ended", "counter",
	        "Series that ended because their key did not come any more.", f->ended);
}

/* ---- tables and stacks ---- */

static const char *bare_name(const struct umap *m)
{
	return m->name[1] ? m->name + 1 : "value";
}

static void add_table(const struct view_of *v, struct buf *b, const struct umap *m, u32 top)
{
	struct out json = v->events->out;
	struct arena a = { 0 };
	struct err ignored = { 0 };
	struct buf line = { 0 };
	struct table t;

	json.ops = &out_json;
	json.escape = ESCAPE_NONE;
	view_map_read(v, m->name, &a, &t, &ignored);
	table_sort(&t);
	OUT(&json, map, &line, &t, top, 1);
	if (line.n) {
		buf_printf(b, "%s\t", bare_name(m));
		buf_add(b, line.p, line.n);
	}
	buf_free(&line);
	arena_free(&a);
}

static void add_tables(struct feed *f, const struct view_of *v, struct buf *b, u32 top)
{
	u32 *order = order_of(v->unit, is_metric), n = 0;

	if (f->source)
		f->source->tables(f->source->view->ctx, v, b);
	for (; !f->source && order[n] < v->unit->maps.n; n++)
		add_table(v, b, &v->unit->maps.v[order[n]], top);
	free(order);
	order = order_of(v->unit, flame_fits);
	for (n = 0; order[n] < v->unit->maps.n; n++)
		buf_printf(b, "*%s\t%s\n", bare_name(&v->unit->maps.v[order[n]]),
		           flame_unit(&v->unit->maps.v[order[n]], NULL));
	free(order);
}

static void add_stacks(const struct feed *f, const struct view_of *v, struct buf *b)
{
	u32 *order = order_of(v->unit, flame_fits);

	for (u32 i = 0; order[i] < v->unit->maps.n; i++) {
		const struct umap *m = &v->unit->maps.v[order[i]];
		struct flame graph = { 0 };
		struct arena a = { 0 };
		struct err ignored = { 0 };
		struct table t;

		view_map_read(v, m->name, &a, &t, &ignored);
		flame_add_heaviest(&graph, &v->events->out, &t, f->max_series);
		buf_printf(b, "*%s\t%s\n", bare_name(m), flame_unit(m, NULL));
		flame_fold_whole(b, &graph);
		flame_free(&graph);
		arena_free(&a);
	}
	free(order);
}

/* ---- profiles ---- */

static void add_profile(const struct feed *f, const struct view_of *v, struct buf *b, u32 map,
                        const struct profile_past *past)
{
	const struct umap *m = &v->unit->maps.v[map];
	struct arena a = { 0 };
	struct err ignored = { 0 };
	struct profile p;
	struct table t;

	view_map_read(v, m->name, &a, &t, &ignored);
	profile_init(&p, v->unit, m, NULL, past != NULL);
	p.title = arena_printf(&a, "%s/%s", f->name, bare_name(m));
	p.lost = view_lost(v);
	profile_add_table(&p, &v->events->out, &t, f->max_series, past);
	profile_set_times(&p, past ? past : &f->began);
	pprof_write(b, &p);
	profile_free(&p);
	arena_free(&a);
}

/* False when there is nothing in it that could be subtracted: a map of max(). */
static bool take_mark(struct feed *f, const struct view_of *v, u32 map, u32 mark)
{
	const struct umap *m = &v->unit->maps.v[map];
	struct arena a = { 0 };
	struct err ignored = { 0 };
	struct profile p;
	struct table t;

	profile_init(&p, v->unit, m, NULL, true);
	if (p.n_values) {
		profile_past_begin(&f->marks[mark]);
		view_map_read(v, m->name, &a, &t, &ignored);
		profile_past_take(&f->marks[mark], &p, &t);
		f->marked[mark] = map + 1;
	}
	profile_free(&p);
	arena_free(&a);
	return f->marked[mark];
}

static void forget_mark(struct feed *f, u32 mark)
{
	profile_past_free(&f->marks[mark]);
	f->marked[mark] = 0;
}

/* Adds one of what came since `past`, which then is now. */
static void add_otlp(const struct feed *f, const struct view_of *v, struct buf *b, u32 map,
                     struct profile_past *past)
{
	const struct umap *m = &v->unit->maps.v[map];
	char host[256] = "";
	struct otlp_about about = { "memtap", f->version, host, 0, 0 };
	struct profile_past now;
	struct arena a = { 0 };
	struct err ignored = { 0 };
	struct profile p;
	struct table t;
	size_t from = b->n;
	u32 size = 0;

	gethostname(host, sizeof(host) - 1);
	profile_past_begin(&now);
	view_map_read(v, m->name, &a, &t, &ignored);
	profile_init(&p, v->unit, m, NULL, true);
	p.title = arena_printf(&a, "%s/%s", f->name, bare_name(m));
	p.lost = view_lost(v);
	p.start_ns = past->realtime_ns;
	p.length_ns = now.monotonic_ns - past->monotonic_ns;
	profile_add_table(&p, &v->events->out, &t, f->max_series, past);
	profile_past_take(&now, &p, &t);
	profile_past_free(past);
	*past = now;
	if (p.n_values && p.samples.n > 1) {
		buf_add(b, &size, sizeof(size));
		otlp_profile(b, &p, &about);
		size = (u32)(b->n - from - sizeof(size));
		memcpy(b->p + from, &size, sizeof(size));
	}
	profile_free(&p);
	arena_free(&a);
}

static void add_all_otlp(struct feed *f, const struct view_of *v, struct buf *b)
{
	u32 *order = order_of(v->unit, flame_fits);

	f->n_maps = v->unit->maps.n;
	if (!f->sent && !(f->sent = calloc(f->n_maps + 1, sizeof(*f->sent))))
		base_no_memory();
	for (u32 i = 0; order[i] < f->n_maps; i++) {
		struct profile_past *past = &f->sent[order[i]];

		if (!past->monotonic_ns) {
			past->monotonic_ns = f->began.monotonic_ns;
			past->realtime_ns = f->began.realtime_ns;
		}
		add_otlp(f, v, b, order[i], past);
	}
	free(order);
}

/* The map with stacks of that name; how many maps there are when there is none. */
static u32 find_stacks(const struct view_of *v, const char *name)
{
	u32 i = 0;

	while (i < v->unit->maps.n && (!flame_fits(&v->unit->maps.v[i]) ||
	                               strcmp(bare_name(&v->unit->maps.v[i]), name) != 0))
		i++;
	return i;
}

/* False: the other side is gone. */
static bool answer_about(struct feed *f, const struct view_of *v, u32 what, struct buf *page)
{
	struct feed_about about;
	u32 map, mark;

	if (recv(f->fd, &about, sizeof(about), MSG_WAITALL) != sizeof(about))
		return false;
	about.map[sizeof(about.map) - 1] = 0;
	mark = MIN(about.mark, FEED_START);
	map = find_stacks(v, about.map);
	if (what == FEED_MARK && mark < FEED_MARKS) {
		forget_mark(f, mark);
		if (map < v->unit->maps.n && take_mark(f, v, map, mark))
			buf_puts(page, "marked");
	} else if (what == FEED_PROFILE && map < v->unit->maps.n && mark == FEED_START) {
		add_profile(f, v, page, map, NULL);
	} else if (what == FEED_PROFILE && mark < FEED_MARKS && f->marked[mark] == map + 1) {
		add_profile(f, v, page, map, &f->marks[mark]);
		forget_mark(f, mark);
	}
	return true;
}

/* ---- answers ---- */

/* Given up when the user wants an end, which interrupts it (view_wait). */
static bool send_all(int fd, const void *p, size_t n)
{
	const u8 *at = p;

	while (n) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		at += sent;
		n -= (size_t)sent;
	}
	return true;
}

static void answer(struct feed *f, const struct view_of *v)
{
	struct metrics_answer head;
	struct buf page = { 0 };
	u8 ask;
	u32 what;

	if (recv(f->fd, &ask, 1, 0) != 1) {
		view_exit(v, 0);
		return;
	}
	what = (u8)(ask - METRICS_ASK) % FEED_ASKS;
	if (what >= FEED_PROFILE) {
		if (!answer_about(f, v, what, &page))
			view_exit(v, 0);
	} else if (what == FEED_STACKS) {
		add_stacks(f, v, &page);
	} else if (what == FEED_OTLP) {
		add_all_otlp(f, v, &page);
	} else if (what >= FEED_TABLES) {
		add_tables(f, v, &page, what == FEED_LOOK ? FEED_TOP : f->max_series);
	} else {
		add_page(f, v, (enum metrics_form)what, &page);
	}
	head.bytes = (u32)page.n;
	view_wait(v);
	if (!send_all(f->fd, &head, sizeof(head)) || !send_all(f->fd, page.p, page.n))
		view_exit(v, 0);
	view_waited(v);
	buf_free(&page);
	if (what >= FEED_STACKS && what != FEED_MARK)
		view_rest(v);
	if (!f->answered) /* what attaching took is not needed again */
		trim_memory();
	f->answered = true;
}

/* ---- the script's own output ---- */

/* Nothing is printed, and what is counted stays. */
static bool take(void *ctx, const struct view_of *v, const struct urecord *r, const u8 *bytes)
{
	(void)ctx;
	(void)bytes;
	switch (r->action) {
	case ACTION_CLEAR:
	case ACTION_ZERO:
		return adds_up(v->unit->maps.v[r->map].value);
	case ACTION_PRINT_MAP:
		return !r->takes || adds_up(v->unit->maps.v[r->map].value);
	case ACTION_PRINTF:
	case ACTION_PRINT_CELL:
	case ACTION_PRINT_VALUE:
	case ACTION_TIME:
	case ACTION_CAT:
	case ACTION_JOIN:
	case ACTION_HEADING:
		return true;
	default:
		return false;
	}
}

static bool end(void *ctx, const struct view_of *v, struct err *e)
{
	(void)ctx;
	(void)v;
	(void)e;
	return true;
}

/* ---- a view beside ---- */

/* Has view.fd tell of the source's descriptor, too, which may have become another one. */
static void watch(struct feed *f)
{
	int fd = f->source->view->fd;
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (f->watched == fd)
		return;
	if (f->watched >= 0) /* closed, it is gone from there already */
		epoll_ctl(f->view.fd, EPOLL_CTL_DEL, f->watched, NULL);
	if (fd >= 0)
		epoll_ctl(f->view.fd, EPOLL_CTL_ADD, fd, &event);
	f->watched = fd;
}

static bool start(void *ctx, const struct view_of *v, struct err *e)
{
	struct feed *f = ctx;
	bool ok = f->source->view->start(f->source->view->ctx, v, e);

	watch(f);
	return ok;
}

static bool record(void *ctx, const struct view_of *v, const struct urecord *r, const u8 *bytes)
{
	struct feed *f = ctx;

	return f->source->view->record(f->source->view->ctx, v, r, bytes) || take(ctx, v, r, bytes);
}

static u64 when(void *ctx)
{
	struct feed *f = ctx;

	return f->source->view->when(f->source->view->ctx);
}

static void tick(void *ctx, const struct view_of *v)
{
	struct feed *f = ctx;

	f->source->view->tick(f->source->view->ctx, v);
	watch(f);
}

static void input(void *ctx, const struct view_of *v)
{
	struct feed *f = ctx;
	struct epoll_event events[2];
	int n = f->source ? epoll_wait(f->view.fd, events, ARRAY_SIZE(events), 0) : 0;

	if (!f->source)
		answer(f, v);
	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == f->fd) {
			answer(f, v);
			continue;
		}
		f->source->view->input(f->source->view->ctx, v);
		watch(f);
	}
}

static bool open_source(struct feed *f, const struct metrics_source *source, struct err *e)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = f->fd };

	f->source = source;
	f->view.start = start;
	f->view.record = record;
	f->view.when = when;
	f->view.tick = tick;
	f->view.fd = epoll_create1(EPOLL_CLOEXEC);
	return (f->view.fd >= 0 && epoll_ctl(f->view.fd, EPOLL_CTL_ADD, f->fd, &event) == 0) ||
	       err_sys(e, errno, "can not wait for requests");
}

struct view *metrics_feed_open(const struct metrics_feed_options *o, struct err *e)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct buf b = { 0 };

	if (!f)
		base_no_memory();
	buf_puts(&b, "collector=");
	metrics_label(&b, str_of(o->name));
	f->labels = b.p;
	f->name = o->name;
	f->version = o->version;
	profile_past_begin(&f->began);
	f->max_series = o->max_series;
	f->idle = o->idle * 1000ull;
	f->fd = o->fd;
	f->watched = -1;
	f->view = (struct view){
		.record = take, .end = end, .input = input, .fd = o->fd, .ctx = f
	};
	if (!o->source || open_source(f, o->source, e))
		return &f->view;
	metrics_feed_close(&f->view);
	return NULL;
}

void metrics_feed_close(struct view *v)
{
	struct feed *f = v->ctx;

	for (u32 i = 0; f->shown && i < f->n_maps; i++)
		metrics_shown_free(&f->shown[i]);
	for (u32 i = 0; f->sent && i < f->n_maps; i++)
		profile_past_free(&f->sent[i]);
	free(f->sent);
	for (u32 i = 0; i < FEED_MARKS; i++)
		forget_mark(f, i);
	if (f->view.fd >= 0 && f->source)
		close(f->view.fd);
	free(f->shown);
	free(f->labels);
	free(f);
}
