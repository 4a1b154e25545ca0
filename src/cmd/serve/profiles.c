/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A collector makes the file, for it knows what stacks are called (view/metrics_feed.h); here it is
 * only handed on. For `?seconds=N` it marks what it has now, the request waits without holding up
 * others, and after N seconds the collector is asked for what there is more.
 */
#include "cmd/serve/profiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/serve/serve.h"

#define ROOT      "/debug/pprof"
#define ANSWER_MS 5000u /* what a collector has: symbols may have to be read */
#define LOOK_MS   1000u /* how often it is looked whether clients are still there */

static void say(struct http_reply *r, u32 status, const char *text)
{
	r->status = status;
	r->type = "text/plain; charset=utf-8";
	buf_reset(&r->body);
	buf_puts(&r->body, text);
}

/* A line for each: its name, a tab, what it counts. */
static void add_names(struct serve *s, struct buf *b)
{
	collectors_ask(s->all, s->n, FEED_LOOK, ANSWER_MS);
	for (u32 i = 0; i < s->n; i++) {
		struct str page = collector_page(s->all[i]), line;

		while (page.n) {
			line = str_cut(page, '\n', &page);
			if (line.n && *line.p == '*')
				buf_printf(b, "%s/%.*s\n", s->all[i]->name, (int)line.n - 1,
				           line.p + 1);
		}
	}
}

/* True when it answered with something. */
static bool ask_about(struct collector *c, u32 what, u32 mark, const char *map)
{
	struct feed_about about = { .mark = (u8)mark };

	if (strlen(map) >= sizeof(about.map))
		return false;
	snprintf(about.map, sizeof(about.map), "%s", map);
	collector_ask_about(c, what, &about, ANSWER_MS);
	return collector_page(c).n;
}

/* Go's programs, and so what pulls from them, call these numbers so. */
static const char *heap_map(const struct collector *c, const char *name)
{
	bool is = strcmp(c->words[0], "heap") == 0 &&
	          (strcmp(name, "heap") == 0 || strcmp(name, "allocs") == 0);

	return is ? "profile" : name;
}

/* The collector of "COLLECTOR/MAP", or the first one that has a MAP, which then has been asked. */
static struct collector *ask_named(struct serve *s, const char *name, u32 what, u32 mark,
                                   const char **map)
{
	struct str table;
	struct collector *c = serve_collector(s, str_of(name), &table);

	*map = c ? table.p : name;
	if (c)
		return ask_about(c, what, mark, *map) ? c : NULL;
	for (u32 i = 0; i < s->n; i++) {
		*map = heap_map(s->all[i], name);
		if (s->all[i]->pid && ask_about(s->all[i], what, mark, *map))
			return s->all[i];
	}
	return NULL;
}

static void not_there(struct http_reply *r)
{
	say(r, 404,
	    "there is no such profile, or its collector does not run; " ROOT "/ lists them\n");
}

static void take_page(struct http_reply *r, const struct collector *c)
{
	struct str page = collector_page(c);

	r->status = 200;
	r->type = "application/octet-stream";
	buf_add(&r->body, page.p, page.n);
}

static void begin(struct serve *s, const struct http_ask *ask, const char *name, u64 seconds,
                  struct http_reply *r)
{
	struct profile_wait *w = s->profiles.v;
	const struct collector *c;
	const char *map;
	u32 mark = 0;

	while (mark < FEED_MARKS && w[mark].number)
		mark++;
	if (mark == FEED_MARKS) {
		say(r, 503, "enough profiles are being made\n");
		return;
	}
	c = ask_named(s, name, FEED_MARK, mark, &map);
	if (!c) {
		not_there(r);
		return;
	}
	w[mark] = (struct profile_wait){ .number = http_later(ask),
		                         .due = clock_ms() + seconds * 1000,
		                         .collector = strdup(c->name),
		                         .map = strdup(map),
		                         .start = c->starts };
	if (!w[mark].collector || !w[mark].map)
		base_no_memory();
}

bool profiles_answer(struct serve *s, const struct http_ask *ask, struct http_reply *r)
{
	const char *name = ask->path + sizeof(ROOT), *text = http_argument(ask, "seconds"), *map;
	const struct collector *c;
	u64 seconds;
	char *end;

	if (strncmp(ask->path, ROOT, sizeof(ROOT) - 1) != 0 || (name[-1] && name[-1] != '/'))
		return false;
	if (!name[-1] || !*name) {
		add_names(s, &r->body);
		return true;
	}
	seconds = strtoull(text, &end, 10);
	if (*text && (*end || *text == '-' || !seconds || seconds > PROFILES_SECONDS)) {
		say(r, 400, "seconds is a number from 1 to 300\n");
		return true;
	}
	if (*text) {
		begin(s, ask, name, seconds, r);
		return true;
	}
	c = ask_named(s, name, FEED_PROFILE, FEED_START, &map);
	if (c)
		take_page(r, c);
	else
		not_there(r);
	return true;
}

/* ---- those that wait ------------------------------------------------------------------------ */

static void forget(struct profile_wait *w)
{
	free(w->collector);
	free(w->map);
	*w = (struct profile_wait){ 0 };
}

static struct collector *collector_named(const struct serve *s, const struct profile_wait *w)
{
	for (u32 i = 0; i < s->n; i++)
		if (strcmp(s->all[i]->name, w->collector) == 0 && s->all[i]->pid &&
		    s->all[i]->starts == w->start)
			return s->all[i];
	return NULL;
}

static void finish(struct serve *s, struct profile_wait *w)
{
	struct collector *c = collector_named(s, w);
	struct http_reply r = { 0 };

	if (c && ask_about(c, FEED_PROFILE, (u32)(w - s->profiles.v), w->map))
		take_page(&r, c);
	else
		say(&r, 503, "the collector ended meanwhile, or does not answer\n");
	http_answer(s->http, w->number, &r);
	forget(w);
}

/* Its client is gone, and the mark is of no use any more. */
static void give_up(struct serve *s, struct profile_wait *w)
{
	struct collector *c = collector_named(s, w);

	if (c)
		ask_about(c, FEED_MARK, (u32)(w - s->profiles.v), "");
	http_answer(s->http, w->number, NULL);
	forget(w);
}

int profiles_work(struct serve *s)
{
	u64 now = clock_ms(), until = ~0ull;

	for (u32 i = 0; i < FEED_MARKS; i++) {
		struct profile_wait *w = &s->profiles.v[i];

		if (!w->number)
			continue;
		if (now >= w->due)
			finish(s, w);
		else if (!http_waits(s->http, w->number))
			give_up(s, w);
		else
			until = MIN(until, MIN(w->due, now + LOOK_MS));
	}
	return until == ~0ull ? -1 : (int)(until - now);
}

void profiles_free(struct profiles *p)
{
	for (u32 i = 0; i < FEED_MARKS; i++)
		forget(&p->v[i]);
}
