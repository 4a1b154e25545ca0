/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A look asks each collector for its tables (view/metrics_feed.h) and puts them into one object,
 * which is told to all pages that are open. Nothing is asked for when nobody looks, but for the
 * machine's totals every five seconds and stacks every minute.
 */
#include "cmd/serve/look.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/cmd.h"
#include "cmd/serve/serve.h"
#include "out/flame.h"
#include "out/json.h"
#include "out/page.h"
#include "view/metrics_feed.h"
#include "web/stream.h"

#define LOOK_MS   2000u
#define AGAIN_MS  500u  /* sooner, the machine is as it was */
#define ANSWER_MS 2000u /* what a collector has */
#define SOON_MS   1000u /* ... while others look on */
#define PROCESSES 12u
#define TYPE_JSON "application/json"
#define API       "/api/v1/"

/* ---- the machine ---------------------------------------------------------------------------- */

static void read_machine(struct look *l)
{
	u64 now = clock_ms();

	if (l->read_at && now - l->read_at < AGAIN_MS)
		return;
	l->now ^= 1;
	memstat_free(&l->looks[l->now]);
	memstat_read(&l->looks[l->now], "");
	l->read_at = now;
}

/* Without the line's end. */
static void add_machine(struct look *l, struct buf *b)
{
	struct memstat *now = &l->looks[l->now];
	struct memstat_view v = memstat_between(now, &l->looks[l->now ^ 1]);

	memstat_top(&v, now, PROCESSES);
	memstat_tree(&(struct tree){ .b = b, .ops = &tree_json }, &v);
	b->n--;
}

static void add_history(struct look *l, struct buf *b)
{
	memstat_history_tree(&(struct tree){ .b = b, .ops = &tree_json }, &l->history);
	b->n--;
}

static void note_moment(struct look *l)
{
	struct memstat m;

	memstat_read_totals(&m, "");
	memstat_history_add(&l->history, &m);
	memstat_free(&m);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* A line of a page of FEED_TABLES: "NAME\tJSON" or "*NAME\tUNIT"; false at its end. */
static bool next_line(struct str *page, struct str *name, struct str *text)
{
	if (!page->n)
		return false;
	*name = str_cut(str_cut(*page, '\n', page), '\t', text);
	return true;
}

static void add_name(struct buf *b, const struct collector *c, struct str table)
{
	struct buf name = { 0 };

	buf_printf(&name, "%s/%.*s", c->name, STR_ARG(table));
	json_string(b, (struct str){ name.p, (u32)name.n });
	buf_free(&name);
}

/* What is in a page, either the tables or those with stacks. */
static void add_each(const struct serve *s, struct buf *b, bool stacks, const char *gap, bool names)
{
	for (u32 i = 0; i < s->n; i++) {
		struct str page = collector_page(s->all[i]), name, text;

		while (next_line(&page, &name, &text)) {
			if ((name.n && *name.p == '*') != stacks)
				continue;
			if (stacks)
				name = (struct str){ name.p + 1, name.n - 1 };
			buf_puts(b, gap);
			add_name(b, s->all[i], name);
			gap = ",\n";
			if (names)
				continue;
			buf_putc(b, ':');
			if (stacks)
				json_string(b, text);
			else
				buf_add(b, text.p, text.n);
		}
	}
}

static void add_collectors(const struct serve *s, struct buf *b)
{
	for (u32 i = 0; i < s->n; i++) {
		const struct collector *c = s->all[i];

		buf_puts(b, i ? ",{\"name\":" : "{\"name\":");
		json_string(b, str_of(c->name));
		buf_printf(b, ",\"up\":%s,\"waits\":%s,\"starts\":%" PRIu64 "}",
		           c->answered ? "true" : "false", c->paused ? "true" : "false", c->starts);
	}
}

/* One line, since a line's end would be the end of an event's data. */
static void add_look(struct serve *s, struct buf *b)
{
	char host[128] = "";
	size_t from = b->n;

	gethostname(host, sizeof(host) - 1);
	read_machine(&s->look);
	collectors_ask(s->all, s->n, FEED_LOOK, SOON_MS);
	buf_printf(b, "{\"time\":%" PRIu64 ",\"version\":\"" MEMTAP_VERSION "\",\"host\":",
	           clock_ns(CLOCK_REALTIME) / 1000000);
	json_string(b, str_of(host));
	buf_puts(b, ",\"collectors\":[");
	add_collectors(s, b);
	buf_puts(b, "],\"stacks\":{");
	add_each(s, b, true, "", false);
	buf_puts(b, "},\"tables\":{\"memstat\":");
	add_machine(&s->look, b);
	add_each(s, b, false, ",", false);
	buf_puts(b, "}}");
	for (; from < b->n; from++)
		if (b->p[from] == '\n')
			b->p[from] = ' ';
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* The next table of a page of FEED_STACKS: "*NAME\tUNIT\n" and lines until the next one. */
static bool next_stacks(struct str *page, struct str *name, struct str *unit, struct str *folded)
{
	if (!page->n || *page->p != '*')
		return false;
	*name = str_cut(str_cut(*page, '\n', page), '\t', unit);
	*name = (struct str){ name->p + 1, name->n - 1 };
	*folded = (struct str){ page->p, 0 };
	while (page->p && page->n && *page->p != '*') {
		str_cut(*page, '\n', page);
		folded->n = (u32)(page->p ? page->p - folded->p : 0);
	}
	return true;
}

static char *full_name(const struct collector *c, struct str table)
{
	struct buf b = { 0 };

	buf_printf(&b, "%s/%.*s", c->name, STR_ARG(table));
	return b.p;
}

static void take_shot(struct shots *s, struct collector *c, u64 now)
{
	struct str page = collector_page(c), name, unit, folded;

	if (c->answered && !page.n)
		c->stackless = c->starts;
	while (next_stacks(&page, &name, &unit, &folded)) {
		char *full = full_name(c, name);

		shots_add(s, full, c->starts, now, folded);
		free(full);
	}
}

static void take_shots(struct serve *s)
{
	struct collector **asked = calloc(s->n + 1, sizeof(*asked));
	u64 now = clock_ms();
	u32 n = 0;

	if (!asked)
		base_no_memory();
	for (u32 i = 0; i < s->n; i++)
		if (s->all[i]->pid && s->all[i]->stackless != s->all[i]->starts)
			asked[n++] = s->all[i];
	collectors_ask(asked, n, FEED_STACKS, ANSWER_MS);
	for (u32 i = 0; i < n; i++)
		take_shot(&s->look.shots, asked[i], now);
	free(asked);
}

struct drawn {
	struct flame now, before;
	const char *title;
	struct arena arena;
	bool diff;
};

static void unfold(struct flame *f, const struct buf *folded)
{
	struct err ignored = { 0 };

	flame_unfold(f, buf_text(folded), folded->n, &ignored);
}

/* What came in the minutes before `to`, until then or, if it is NULL, until now. */
static bool add_minutes(struct serve *s, const struct collector *c, const char *name,
                        struct str now, u64 ms, const struct shot *to, struct flame *f,
                        const struct shot **from)
{
	u64 end = to ? to->at : clock_ms();
	struct buf old = { 0 }, last = { 0 }, more = { 0 };

	*from = shots_find(&s->look.shots, name, c->starts, end > ms ? end - ms : 0);
	if (!*from || *from == to || (*from)->at >= end)
		return false;
	shots_unpack(*from, &old);
	if (to)
		shots_unpack(to, &last);
	else
		buf_add(&last, now.p, now.n);
	shots_less(&more, (struct str){ buf_text(&last), (u32)last.n },
	           (struct str){ buf_text(&old), (u32)old.n });
	unfold(f, &more);
	buf_free(&old);
	buf_free(&last);
	buf_free(&more);
	return true;
}

static void draw(struct serve *s, const struct collector *c, const char *name, struct str folded,
                 const struct http_ask *ask, struct drawn *d)
{
	u64 ms = MIN(strtoull(http_argument(ask, "last"), NULL, 10), 10) * 60000;
	const struct shot *first = NULL, *before = NULL;
	struct buf all = { 0 };

	if (ms && add_minutes(s, c, name, folded, ms, NULL, &d->now, &first) && first) {
		d->title = arena_printf(&d->arena, "%s: the last %.0f seconds", name,
		                        (double)(clock_ms() - first->at) / 1000);
		if (*http_argument(ask, "compare"))
			d->diff = add_minutes(s, c, name, folded, ms, first, &d->before, &before);
		if (d->diff && before)
			d->title = arena_printf(&d->arena, "%s, beside the %.0f before", d->title,
			                        (double)(first->at - before->at) / 1000);
		return;
	}
	buf_add(&all, folded.p, folded.n);
	unfold(&d->now, &all);
	buf_free(&all);
	d->title = arena_printf(&d->arena, "%s: since it was started", name);
}

static const char *make_nonce(struct arena *a)
{
	u8 bytes[16];
	struct buf b = { 0 };
	const char *text;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		abort();
	for (u32 i = 0; i < sizeof(bytes); i++)
		buf_printf(&b, "%02x", bytes[i]);
	text = arena_strndup(a, b.p, b.n);
	buf_free(&b);
	return text;
}

static bool answer_flame(struct serve *s, struct str full, const struct http_ask *ask,
                         struct http_reply *r, struct arena *policy)
{
	struct str want = { 0 }, page, name, unit, folded;
	struct collector *c = serve_collector(s, full, &want);
	struct drawn d = { 0 };
	struct flame_svg svg = { .nonce = make_nonce(policy) };
	bool found = false;

	if (!c)
		return false;
	collectors_ask(&c, 1, FEED_STACKS, ANSWER_MS);
	if (!c->answered) {
		r->status = 503;
		buf_puts(&r->body, "the collector did not answer in time\n");
		return true;
	}
	page = collector_page(c);
	while (!found && next_stacks(&page, &name, &unit, &folded))
		found = str_eq(name, want);
	if (!found)
		return false;
	draw(s, c, arena_strndup(&d.arena, full.p, full.n), folded, ask, &d);
	svg.title = d.title;
	svg.unit = arena_strndup(&d.arena, unit.p, unit.n);
	svg.diff = d.diff;
	if (d.diff)
		flame_compare(&d.now, &d.before);
	else
		flame_sort(&d.now);
	flame_svg(&r->body, &d.now, &svg);
	r->type = "image/svg+xml";
	r->policy = arena_printf(policy,
	                         "default-src 'none'; style-src 'unsafe-inline'; script-src "
	                         "'nonce-%s'; frame-ancestors 'self'",
	                         svg.nonce);
	flame_free(&d.now);
	flame_free(&d.before);
	arena_free(&d.arena);
	return true;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void answer_names(struct serve *s, struct http_reply *r)
{
	collectors_ask(s->all, s->n, FEED_LOOK, ANSWER_MS);
	buf_puts(&r->body, "{\"tables\":[\"memstat\",\"memstat_history\"");
	add_each(s, &r->body, false, ",\n", true);
	buf_puts(&r->body, "],\n\"stacks\":[");
	add_each(s, &r->body, true, "", true);
	buf_puts(&r->body, "]}\n");
}

static bool answer_table(struct serve *s, struct str full, struct http_reply *r)
{
	struct str want = { 0 }, page, name, text;
	struct collector *c = serve_collector(s, full, &want);

	if (str_is(full, "memstat")) {
		read_machine(&s->look);
		add_machine(&s->look, &r->body);
	} else if (str_is(full, "memstat_history")) {
		add_history(&s->look, &r->body);
	} else if (c) {
		collectors_ask(&c, 1, FEED_TABLES, ANSWER_MS);
		page = collector_page(c);
		while (!r->body.n && next_line(&page, &name, &text))
			if (str_eq(name, want))
				buf_add(&r->body, text.p, text.n);
	}
	if (r->body.n)
		buf_putc(&r->body, '\n');
	return r->body.n;
}

/* A page that opens hears of the ten minutes first. */
static void answer_events(struct serve *s, struct http_reply *r)
{
	if (http_listeners(s->http) >= STREAMS) {
		r->status = 503;
		buf_puts(&r->body, "enough pages are open\n");
		return;
	}
	buf_puts(&r->body, "retry: 2000\nevent: history\ndata: ");
	add_history(&s->look, &r->body);
	buf_puts(&r->body, "\n\nevent: look\ndata: ");
	add_look(s, &r->body);
	buf_puts(&r->body, "\n\n");
	if (!http_listeners(s->http))
		s->look.next = clock_ms() + LOOK_MS;
	r->type = "text/event-stream";
	r->goes_on = true;
}

static bool answer_api(struct serve *s, const struct http_ask *ask, struct http_reply *r)
{
	struct str what = str_of(ask->path + sizeof(API) - 1);

	if (str_is(what, "events")) {
		answer_events(s, r);
		return true;
	}
	r->type = TYPE_JSON;
	if (str_is(what, "tables")) {
		answer_names(s, r);
		return true;
	}
	if (str_starts(what, "tables/"))
		return answer_table(s, (struct str){ what.p + 7, what.n - 7 }, r);
	return str_starts(what, "flame/") &&
	       answer_flame(s, (struct str){ what.p + 6, what.n - 6 }, ask, r, &s->look.policy);
}

static bool answer_file(const struct http_ask *ask, struct http_reply *r)
{
	static const char policy[] =
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
		"frame-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
		"frame-ancestors 'none'";
	const char *name = ask->path[1] ? ask->path + 1 : "index.html";
	const struct page_file *f = page_find(name);

	if (!f)
		return false;
	r->type = strstr(name, ".js")    ? "text/javascript; charset=utf-8"
	          : strstr(name, ".css") ? "text/css; charset=utf-8"
	                                 : "text/html; charset=utf-8";
	r->policy = policy;
	r->gzip = http_takes_gzip(ask);
	if (r->gzip)
		buf_add(&r->body, f->gzip, f->packed);
	else
		page_unpack(&r->body, f);
	return true;
}

bool look_answer(struct serve *s, const struct http_ask *ask, struct http_reply *r)
{
	arena_free(&s->look.policy); /* the one of the last answer was copied */
	if (strncmp(ask->path, API, sizeof(API) - 1) == 0)
		return answer_api(s, ask, r);
	return answer_file(ask, r);
}

/* ---- by itself ------------------------------------------------------------------------------ */

static void tell(struct serve *s)
{
	struct buf b = { 0 };

	buf_puts(&b, "event: look\ndata: ");
	add_look(s, &b);
	buf_puts(&b, "\n\n");
	http_tell(s->http, (struct str){ b.p, (u32)b.n });
	buf_free(&b);
}

/* Times that were missed are left out. */
static bool is_due(u64 *next, u64 every)
{
	u64 now = clock_ms();

	if (now < *next)
		return false;
	*next = now - *next < every && *next ? *next + every : now + every;
	return true;
}

int look_work(struct serve *s)
{
	struct look *l = &s->look;
	u64 until, now;

	if (!l->read_at) {
		read_machine(l);
		l->shots.due = clock_ms() + SHOTS_MS; /* collectors have to begin first */
	}
	if (is_due(&l->next_moment, MEMSTAT_MOMENT_MS))
		note_moment(l);
	if (is_due(&l->shots.due, SHOTS_MS))
		take_shots(s);
	until = MIN(l->next_moment, l->shots.due);
	if (http_listeners(s->http)) {
		if (is_due(&l->next, LOOK_MS))
			tell(s);
		until = MIN(until, l->next);
	}
	now = clock_ms();
	return until > now ? (int)(until - now) : 0;
}

void look_free(struct look *l)
{
	memstat_free(&l->looks[0]);
	memstat_free(&l->looks[1]);
	shots_free(&l->shots);
	arena_free(&l->policy);
}
