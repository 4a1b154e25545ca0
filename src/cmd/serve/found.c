/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A server is known by its process. A new process is the same server when it has the name and a
 * port of one that is gone; servers in containers may have all that from each other and run side by
 * side.
 */
#include "cmd/serve/found.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cache/item.h"
#include "view/servers.h"

#define FORGET_MS 600000
#define KEYS_MIB  "1" /* some 900 keys; of more the counts may be too high by a 900th of all */

struct found {
	struct arena arena;
	struct server server;
	struct collector collector;
	u64 seen;     /* ms */
	char pid[12]; /* one of the collector's words */
};

static struct server copy(struct arena *a, const struct server *s)
{
	struct server own = *s;

	own.name = arena_strdup(a, s->name);
	own.path = "";
	own.socket = s->socket ? arena_strdup(a, s->socket) : NULL;
	return own;
}

static bool has_name(const struct founds *f, const char *name)
{
	for (u32 i = 0; i < f->n; i++)
		if (strcmp(f->v[i]->collector.name, name) == 0)
			return true;
	return false;
}

/* "memcached:11211", and a number after it when there is another one */
static const char *name_of(const struct founds *f, struct arena *a, const struct server *s)
{
	const struct item_kind *kind = item_of(s->name);
	const char *name = kind ? kind->name : s->name, *whole;

	name = s->n_ports ? arena_printf(a, "%s:%u", name, s->ports[0])
	                  : arena_printf(a, "%s:%s", name, s->socket ? s->socket : "");
	whole = name;
	for (u32 k = 2; has_name(f, whole); k++)
		whole = arena_printf(a, "%s_%u", name, k);
	return whole;
}

static void end(struct found *one)
{
	struct collector *c = &one->collector;

	collectors_stop(&c, 1);
	arena_free(&one->arena);
	free(one);
}

static void drop(struct founds *f, u32 i)
{
	end(f->v[i]);
	memmove(&f->v[i], &f->v[i + 1], (--f->n - i) * sizeof(*f->v));
}

/* The one whose server has been gone longest makes room. */
static bool make_room(struct founds *f)
{
	u32 last = f->n;

	if (f->n < FOUND_MOST)
		return true;
	for (u32 i = 0; i < f->n; i++)
		if (f->v[i]->collector.paused && (last == f->n || f->v[i]->seen < f->v[last]->seen))
			last = i;
	if (last == f->n)
		return false;
	drop(f, last);
	return true;
}

/* NULL: there is no place. */
static struct found *add(struct founds *f, const struct server *s, const struct plan *p)
{
	static const char words[] = "mctop --memory " KEYS_MIB " -p PID";
	struct found *one;
	struct err ignored;

	if (!make_room(f)) {
		f->beyond++;
		return NULL;
	}
	one = calloc(1, sizeof(*one));
	if (!one)
		base_no_memory();
	one->server = copy(&one->arena, s);
	collector_init(&one->collector, &one->arena, "", words, &ignored);
	one->collector.name = name_of(f, &one->arena, s);
	one->collector.words[one->collector.n_words - 1] = one->pid;
	one->collector.max_series = p->max_series;
	one->collector.restart = p->restart;
	f->v[f->n++] = one;
	return one;
}

/* NULL: none of those known. Those that are there come first. */
static struct found *known(const struct founds *f, const struct server *s)
{
	for (u32 i = 0; i < f->n; i++)
		if (f->v[i]->server.pid == s->pid && server_same(&f->v[i]->server, s))
			return f->v[i];
	for (u32 i = 0; i < f->n; i++)
		if (f->v[i]->collector.paused && server_same(&f->v[i]->server, s))
			return f->v[i];
	return NULL;
}

static void forget(struct founds *f, u64 now)
{
	for (u32 i = f->n; i-- > 0;)
		if (now - f->v[i]->seen > FORGET_MS)
			drop(f, i);
}

static bool is_listed(const server_list *list, const struct server *s)
{
	for (u32 i = 0; i < list->n; i++)
		if (list->v[i].pid == s->pid && server_same(&list->v[i], s))
			return true;
	return false;
}

static void see(struct found *one, const struct server *s, u64 now)
{
	one->collector.paused = false;
	one->server.pid = s->pid;
	one->server.started = s->started;
	one->seen = now;
	snprintf(one->pid, sizeof(one->pid), "%u", s->pid);
}

/* What is there still is known before what is new, which may look like one that has gone. */
static void take(struct founds *f, const server_list *list, const struct plan *p, u64 now)
{
	for (u32 i = 0; i < f->n; i++)
		f->v[i]->collector.paused = !is_listed(list, &f->v[i]->server);
	for (u32 i = 0; i < list->n; i++) {
		struct found *one = known(f, &list->v[i]);

		if (!one)
			one = add(f, &list->v[i], p);
		if (one)
			see(one, &list->v[i], now);
	}
}

bool founds_look(struct founds *f, const struct plan *p)
{
	struct arena a = { 0 };
	server_list list = { 0 }, before = { 0 };
	u64 now = clock_ms();

	if (now < f->next)
		return false;
	f->next = now + p->look * 1000ull;
	f->beyond = 0;
	for (u32 i = 0; i < f->n; i++)
		vec_add(&a, &before, f->v[i]->server);
	servers_find(&a, &list, NULL, &before);
	take(f, &list, p, now);
	arena_free(&a);
	forget(f, now);
	return true;
}

int founds_wait(const struct founds *f)
{
	u64 now = clock_ms();

	return f->next > now ? (int)(f->next - now) : 0;
}

struct collector *found_collector(struct found *one)
{
	return &one->collector;
}

void founds_free(struct founds *f)
{
	for (u32 i = 0; i < f->n; i++)
		end(f->v[i]);
	*f = (struct founds){ 0 };
}
