/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which server a tool is about when none is named: the only one there is. And how a script hands
 * its options on to a view: as a record with their names.
 */
#include "view/cache_view.h"

#include <string.h>
#include <unistd.h>

#include "base/caps.h"
#include "world/cgroup.h"

static bool list_them(struct arena *a, const server_list *list, struct err *e)
{
	struct buf b = { 0 };

	err_set(e, "there are %u cache servers here; say which one:", list->n);
	for (u32 i = 0; i < list->n; i++)
		buf_printf(&b, "%s-p %u is %s", i ? "\n      " : "", list->v[i].pid,
		           server_describe(a, &list->v[i]));
	err_hint(e, "%s", buf_text(&b));
	buf_free(&b);
	return false;
}

/* Nothing is known of what may not be looked into: not even that there is none. */
static bool none_seen(const struct servers_hidden *hidden, const char *what, struct err *e)
{
	const struct server *first = hidden->named.v;
	u64 missing = caps_missing(CAPS_PROCESSES | CAPS_FILES);
	char text[160];

	if (first) {
		err_set(e, "%s %u%s: this user may not see whether %s", first->name, first->pid,
		        hidden->named.n > 1 ? " and others run" : " runs",
		        hidden->named.n > 1 ? "they listen" : "it listens");
		return err_hint(e, "name it: -p %u%s%s", first->pid, missing ? "; " : "",
		                missing ? caps_text(text, sizeof(text), missing) : "");
	}
	if (hidden->others && missing) {
		err_set(e, "no %s server was found, but this user may not look into %u processes",
		        what, hidden->others);
		return err_hint(e, "%s; or name the process with -p PID",
		                caps_text(text, sizeof(text), missing));
	}
	err_set(e, "no %s server listens here", what);
	return err_hint(e, "start one, or name the process with -p PID");
}

/* Of `what`, which is reported when there is none. */
static bool the_only_one(struct arena *a, const server_list *list,
                         const struct servers_hidden *hidden, const char *what, u32 *pid,
                         struct err *e)
{
	if (list->n > 1)
		return list_them(a, list, e);
	if (!list->n)
		return none_seen(hidden, what, e);
	*pid = list->v[0].pid;
	return true;
}

bool cache_view_find(struct arena *a, u32 *pid, struct err *e)
{
	struct servers_hidden hidden = { 0 };
	server_list list = { 0 };

	servers_find(a, &list, &hidden, NULL);
	return the_only_one(a, &list, &hidden, "memcached, Redis or Valkey", pid, e);
}

static void add_kind(struct arena *a, server_list *to, const server_list *from,
                     const struct item_kind *kind)
{
	for (u32 i = 0; i < from->n; i++)
		if (item_of(from->v[i].name) == kind)
			vec_add(a, to, from->v[i]);
}

bool cache_view_find_kind(struct arena *a, const struct item_kind *kind, u32 *pid, struct err *e)
{
	struct servers_hidden hidden = { 0 }, of_kind = { 0 };
	server_list all = { 0 }, some = { 0 };

	servers_find(a, &all, &hidden, NULL);
	add_kind(a, &some, &all, kind);
	add_kind(a, &of_kind.named, &hidden.named, kind);
	of_kind.others = hidden.others;
	return the_only_one(a, &some, &of_kind, kind->name, pid, e);
}

/* Packets of the root group are those of all processes, which would all pay. It has no such
 * file. */
static bool has_own_group(struct arena *a, u32 pid)
{
	struct err none = { 0 };
	const char *dir = cgroup_dir(a, arena_printf(a, "/proc/%u/cgroup", pid), &none);

	return dir && access(arena_printf(a, "%s/cgroup.type", dir), F_OK) == 0;
}

const char *cache_view_way(struct arena *a, u32 pid)
{
	struct err none = { 0 };
	struct server s;

	if (!server_get(a, pid, &s, &none) || !item_of(s.name) || s.socket || s.hidden)
		return NULL;
	if (!s.n_ports || s.n_ports == SERVER_PORTS || caps_missing(CAPS_PACKETS))
		return NULL;
	return has_own_group(a, pid) ? "socket" : NULL;
}

u64 cache_view_number(const struct urecord *r, const u8 *bytes, const char *name)
{
	const struct field *f = view_field(r, name);
	u64 value = 0;

	if (f)
		memcpy(&value, bytes + f->off, 8);
	return value;
}

const char *cache_view_text(struct arena *a, const struct urecord *r, const u8 *bytes,
                            const char *name)
{
	const struct field *f = view_field(r, name);

	if (!f || f->type->kind != TYPE_STR)
		return "";
	return arena_strndup(a, (const char *)bytes + f->off,
	                     strnlen((const char *)bytes + f->off, f->type->size));
}

static const struct {
	const char *name, *note; /* NULL: nothing to be said */
} ways[] = {
	{ "syscalls", NULL },
	{ "ssl", NULL },
	{ "socket", NULL },
	{ "usdt",
	  "by USDT probes latencies are not known; increments, decrements and deletes are seen\n"
	  "      where the key was found, mg where it was not, touch hardly: mctop --help" },
	{ "uprobe",
	  "by lookupKey each look for a key counts, whatever the command; latencies, sizes and\n"
	  "      clients are not known" },
};

bool cache_view_has_probe(const struct unit *u, const char *name)
{
	for (u32 i = 0; i < u->progs.n; i++)
		for (u32 k = 0; k < u->progs.v[i].n_sites; k++) {
			const char *last = strrchr(u->progs.v[i].sites[k].name, ':');

			if (last && strcmp(last + 1, name) == 0)
				return true;
		}
	return false;
}

/* memcached 1.6.38, for one, has probes, but none of arithmetic. */
static void say_what_is_missing(const char *via, const struct view_of *of)
{
	if (strcmp(via, "usdt") == 0 && !cache_view_has_probe(of->unit, "command__incr"))
		view_say(of, "this memcached has no probes of increments and decrements");
}

bool cache_view_via(const char *via, const struct view_of *of, struct err *e)
{
	for (u32 i = 0; i < ARRAY_SIZE(ways); i++) {
		if (strcmp(via, ways[i].name) != 0)
			continue;
		if (ways[i].note)
			view_say(of, ways[i].note);
		say_what_is_missing(via, of);
		return true;
	}
	err_set(e, "commands can not be taken by '%s'", via);
	return err_hint(e, "socket, syscalls, usdt, ssl or uprobe");
}
