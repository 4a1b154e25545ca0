/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The view "hot": the keys a cache server is asked for most, an interval after the other.
 *
 * The script hands on its options as a record of BEGIN; everything else it sends is what system
 * calls moved, see view/cache_feed.h. The numbers are cache/hot.c's, the text cache/report.c's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/file.h"
#include "cache/report.h"
#include "view/cache_check.h"
#include "view/cache_view.h"
#include "view/hot_top.h"
#include "view/cache_feed.h"

struct options {
	u64 pid, rows, interval, count, memory, half_life, sample;
	const char *via, *sort, *alert, *dump, *delimiters;
	bool csv, fold, hide, check, stream, commands;
};

struct hot_view {
	struct view view;
	struct options o;
	struct arena arena;
	struct cache_feed feed;
	struct cache_check check;
	struct hot *hot;
	struct hot_row *rows;
	const struct tree_ops *tree; /* of the format; NULL: text */
	enum hot_sort sort;
	struct alert *alert; /* NULL: none is wanted */
	u64 offset;          /* from CLOCK_MONOTONIC to the time of day */
	u64 next;            /* end of the interval */
	u64 printed;
	int dump; /* -1 none */
	bool alerted;
	bool on_screen;
	struct hot_top top;
};

/* ---- start ---------------------------------------------------------------------------------- */

static void read_options(struct hot_view *v, const struct urecord *r, const u8 *bytes)
{
	struct arena *a = &v->arena;

	v->o = (struct options){
		.pid = cache_view_number(r, bytes, "server"),
		.rows = cache_view_number(r, bytes, "rows"),
		.interval = cache_view_number(r, bytes, "interval"),
		.count = cache_view_number(r, bytes, "count"),
		.memory = cache_view_number(r, bytes, "memory"),
		.via = cache_view_text(a, r, bytes, "via"),
		.sort = cache_view_text(a, r, bytes, "sort"),
		.half_life = cache_view_number(r, bytes, "half_life"),
		.sample = cache_view_number(r, bytes, "sample"),
		.alert = cache_view_text(a, r, bytes, "alert"),
		.dump = cache_view_text(a, r, bytes, "dump"),
		.delimiters = cache_view_text(a, r, bytes, "prefix"),
		.csv = cache_view_number(r, bytes, "csv"),
		.fold = cache_view_text(a, r, bytes, "prefix")[0],
		.hide = cache_view_number(r, bytes, "hash_keys"),
		.check = cache_view_number(r, bytes, "check"),
		.stream = cache_view_number(r, bytes, "stream"),
		.commands = cache_view_number(r, bytes, "by_command"),
	};
}

static void on_alert(void *ctx, const struct alert_key *k)
{
	struct hot_view *v = ctx;
	struct buf *b = v->feed.of.out, line = { 0 };
	u64 time = v->offset + k->time;

	v->alerted = true;
	if (v->top.top) {
		alert_text(&line, k, time);
		line.p[line.n - 1] = 0;
		top_say(v->top.top, line.p);
		buf_free(&line);
	} else if (v->o.csv) {
		alert_csv(b, k, time);
	} else if (v->tree) {
		alert_tree(&(struct tree){ .b = b, .ops = v->tree, .tight = true }, k, time);
	} else {
		alert_text(b, k, time);
	}
}

static bool make_alert(struct hot_view *v, const struct hot_options *hot, struct err *e)
{
	struct alert_options o = {
		.start = hot->start, .secret = hot->secret, .told = on_alert, .ctx = v
	};

	if (!v->o.alert[0])
		return true;
	if (!alert_parse(v->o.alert, &o, e))
		return false;
	v->offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	v->alert = alert_new(&o, e);
	return v->alert != NULL;
}

static bool read_sort(struct hot_view *v, struct err *e)
{
	v->sort = hot_sort_find(str_of(v->o.sort));
	if (v->sort < HOT_SORTS)
		return true;
	err_set(e, "keys can not be sorted by '%s'", v->o.sort);
	return err_hint(e, "calls, size, rate, bytes, latency, last, misses or cpu");
}

/* Never over a file that is there, never through a link. */
static bool open_dump(struct hot_view *v, struct err *e)
{
	if (!v->o.dump[0])
		return true;
	v->dump = open(v->o.dump, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (v->dump < 0) {
		err_sys(e, errno, "can not make %s", v->o.dump);
		if (errno == EEXIST)
			err_hint(e, "a file that is there is not written over");
		return false;
	}
	return true;
}

static bool make_hot(struct hot_view *v, struct err *e)
{
	struct hot_options o = { .limit = v->o.memory << 20,
		                 .half = v->o.half_life,
		                 .sample = (u32)v->o.sample,
		                 .fold = v->o.fold,
		                 .delimiters = v->o.delimiters,
		                 .hide = v->o.hide,
		                 .start = clock_ns(CLOCK_MONOTONIC) };

	if (getrandom(&o.secret, sizeof(o.secret), 0) != sizeof(o.secret))
		return err_sys(e, errno, "no random numbers");
	if (!make_alert(v, &o, e))
		return false;
	o.alert = v->alert;
	v->hot = hot_new(&o, e);
	return v->hot != NULL;
}

static u64 on_key(void *ctx, struct str key)
{
	const struct hot_view *v = ctx;

	return hot_expect(v->hot, key);
}

static void on_command(void *ctx, const struct command *c, const struct client *from)
{
	struct hot_view *v = ctx;

	hot_command(v->hot, c, from);
}

/* The server may take its time to answer. */
static bool begin_check(struct hot_view *v, const struct view_of *of, struct err *e)
{
	bool ok;

	view_wait(of);
	ok = cache_check_begin(&v->check, &v->feed.server, e);
	for (u32 i = 0; v->feed.group && i < v->feed.server.n_ports; i++)
		if (v->check.datagrams == v->feed.server.ports[i])
			v->check.datagrams = 0; /* packets tell of both */
	view_waited(of);
	return ok;
}

static bool start(void *ctx, const struct view_of *of, struct err *e)
{
	struct hot_view *v = ctx;

	v->o.interval = MAX(v->o.interval, 1);
	v->rows = calloc(MAX(v->o.rows, 1), sizeof(*v->rows));
	if (!v->rows || !cache_view_via(v->o.via, of, e) || !read_sort(v, e) || !make_hot(v, e) ||
	    !cache_feed_open(&v->feed, of, (u32)v->o.pid, on_command, v, e) || !open_dump(v, e))
		return false;
	cache_feed_expect(&v->feed, on_key);
	v->view.fd = v->feed.fd;
	v->view.rights = cache_feed_rights(&v->feed);
	v->on_screen = !v->o.csv && !v->tree && !v->o.stream && !v->o.count &&
	               isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (v->o.check && !begin_check(v, of, e))
		return false;
	if (v->o.check) /* it is asked again at the end, in its own network or by its socket */
		v->view.rights |= CAPS_ADMIN | CAPS(CAP_DAC_OVERRIDE);
	if (v->o.csv)
		(v->alert ? alert_csv_head : report_csv_head)(of->out);
	v->next = clock_ns(CLOCK_MONOTONIC) + (v->on_screen ? 0 : v->o.interval * 1000000000);
	return true;
}

/* ---- an interval ---------------------------------------------------------------------------- */

static struct report_of make_report(struct hot_view *v, struct hot_row *rows, u32 n)
{
	struct hot_query q = { .by = v->sort, .n = n };
	struct missed missed = cache_feed_missed(&v->feed, &v->feed.of);

	return (struct report_of){ .hot = v->hot,
		                   .rows = rows,
		                   .n = hot_top(v->hot, &q, rows),
		                   .time = clock_ns(CLOCK_REALTIME),
		                   .clock = clock_ns(CLOCK_MONOTONIC),
		                   .server = v->feed.server.name,
		                   .pid = v->feed.server.pid,
		                   .gone = v->feed.fd < 0,
		                   .commands = v->o.commands,
		                   .missed = missed };
}

static bool write_dump(struct hot_view *v, struct err *e);

static bool on_dump(void *ctx, struct buf *b)
{
	struct hot_view *v = ctx;
	struct err e = { 0 };

	if (v->dump < 0) {
		buf_puts(b, "nothing was dumped or forgotten: start it with -o FILE");
		return false;
	}
	if (!write_dump(v, &e)) {
		buf_puts(b, e.text);
		return false;
	}
	buf_printf(b, "dumped to %s", v->o.dump);
	return true;
}

/* Once probes are in place, so that what is said about them is not written over the screen. A
 * terminal that can not have one gets blocks of text. */
static void open_screen(struct hot_view *v)
{
	struct err e = { 0 };

	v->top.screen.hot = v->hot;
	v->top.screen.dump = on_dump;
	v->top.screen.dump_ctx = v;
	v->on_screen = hot_top_open(&v->top, v->sort, v->feed.fd, &e);
	if (!v->on_screen)
		view_say(&v->feed.of, e.text);
}

static void show_interval(struct hot_view *v)
{
	struct hot_row row;
	struct report_of r = make_report(v, &row, 1);

	if (!hot_top_tick(&v->top, &r))
		view_exit(&v->feed.of, 0);
}

static void print_report(struct hot_view *v, const struct report_of *r)
{
	struct buf *b = v->feed.of.out;

	if (v->o.csv)
		report_csv(b, r);
	else if (v->tree)
		report_tree(&(struct tree){ .b = b, .ops = v->tree, .tight = true }, r);
	else
		report_text(b, r);
}

static void print_interval(struct hot_view *v)
{
	struct report_of r;

	hot_tick(v->hot, clock_ns(CLOCK_MONOTONIC));
	r = make_report(v, v->rows, (u32)v->o.rows);
	if (!v->alert) /* it is what is printed, as it comes */
		print_report(v, &r);
	v->printed++;
	if (v->o.count && v->printed == v->o.count)
		view_exit(&v->feed.of, 0);
}

static bool record(void *ctx, const struct view_of *of, const struct urecord *r, const u8 *bytes)
{
	struct hot_view *v = ctx;

	if (cache_feed_record(&v->feed, of, r, bytes))
		return true;
	if (!view_field(r, "rows"))
		return false;
	read_options(v, r, bytes);
	return true;
}

static u64 when(void *ctx)
{
	struct hot_view *v = ctx;

	return MIN(v->next, cache_feed_when(&v->feed));
}

/* The server may have ended, or been found again. */
static void follow(struct hot_view *v, const struct view_of *of, u64 now)
{
	int before = v->feed.fd;

	cache_feed_tick(&v->feed, of, now);
	if (!v->top.top)
		v->view.fd = v->feed.fd;
	else if (v->feed.fd != before)
		hot_top_watch(&v->top, v->feed.fd, true);
}

static void tick(void *ctx, const struct view_of *of)
{
	struct hot_view *v = ctx;
	u64 now = clock_ns(CLOCK_MONOTONIC);

	follow(v, of, now);
	if (now < v->next)
		return;
	if (v->on_screen && !v->top.top) {
		open_screen(v);
		v->view.fd = v->on_screen ? v->top.fd : v->feed.fd;
	} else if (v->on_screen) {
		hot_tick(v->hot, now);
	}
	if (v->on_screen)
		show_interval(v);
	else
		print_interval(v);
	v->next += v->o.interval * 1000000000;
	if (v->next <= now) /* held up for long: no catching up */
		v->next = now + v->o.interval * 1000000000;
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) > 0;
}

static void input(void *ctx, const struct view_of *of)
{
	struct hot_view *v = ctx;

	v->feed.of = *of;
	if (v->top.top && !hot_top_input(&v->top))
		view_exit(&v->feed.of, 0);
	if (!is_readable(v->feed.fd))
		return;
	hot_top_watch(&v->top, v->feed.fd, false);
	cache_feed_ended(&v->feed, of);
	if (!v->top.top)
		v->view.fd = -1;
}

/* ---- end ------------------------------------------------------------------------------------ */

/* All keys that have a slot, as one JSON object. */
static bool write_dump(struct hot_view *v, struct err *e)
{
	struct keys_stats s;
	struct hot_row *rows;
	struct report_of r;
	struct buf b = { 0 };
	bool ok;

	hot_stats(v->hot, &s);
	rows = calloc(s.used + 1, sizeof(*rows));
	if (!rows)
		base_no_memory();
	r = make_report(v, rows, MIN(s.used, KEYS_LISTED));
	report_tree(&(struct tree){ .b = &b, .ops = &tree_json, .tight = true }, &r);
	ok = file_write_all(v->dump, b.p, b.n);
	buf_free(&b);
	free(rows);
	return ok || err_sys(e, errno, "can not write %s", v->o.dump);
}

/* What has come since the last interval is printed too, unless enough was. */
static bool end(void *ctx, const struct view_of *of, struct err *e)
{
	struct hot_view *v = ctx;

	hot_top_close(&v->top);
	if (!v->hot)
		return true;
	cache_feed_end(&v->feed, of);
	if (!v->on_screen && (!v->o.count || v->printed < v->o.count))
		print_interval(v);
	if (v->alerted)
		view_exit(of, 2);
	if (v->o.check) {
		struct report_of r = make_report(v, NULL, 0);

		view_wait(of);
		cache_check_end(&v->check, &v->feed.server, &r, v->o.csv ? NULL : v->tree, of->out);
		view_waited(of);
	}
	return v->dump < 0 || write_dump(v, e);
}

static void report(void *ctx, const struct view_of *of, struct buf *lines)
{
	struct hot_view *v = ctx;
	struct report_of r;

	(void)of;
	if (!v->hot)
		return;
	r = make_report(v, v->rows, (u32)v->o.rows);
	report_tree(&(struct tree){ .b = lines, .ops = &tree_json, .tight = true }, &r);
}

static struct view *open_view(const struct out_ops *format)
{
	struct hot_view *v = calloc(1, sizeof(*v));

	if (!v)
		base_no_memory();
	v->dump = -1;
	v->feed.fd = v->top.fd = -1;
	v->feed.look = UINT64_MAX;
	v->tree = format->tree;
	v->view = (struct view){ .start = start,
		                 .record = record,
		                 .when = when,
		                 .tick = tick,
		                 .fd = -1,
		                 .input = input,
		                 .end = end,
		                 .report = report,
		                 .ctx = v };
	v->next = UINT64_MAX;
	return &v->view;
}

static void close_view(struct view *view)
{
	struct hot_view *v = view->ctx;

	hot_top_close(&v->top);
	cache_feed_close(&v->feed);
	hot_free(v->hot);
	alert_free(v->alert);
	if (v->dump >= 0)
		close(v->dump);
	free(v->rows);
	arena_free(&v->arena);
	free(v);
}

const struct view_kind view_hot = {
	.name = "hot",
	.find_pid = cache_view_find,
	.find_way = cache_view_way,
	.way_note = "CPU% needs --via syscalls",
	.open = open_view,
	.close = close_view,
};
